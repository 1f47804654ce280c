"""What an agent knows about its engine: events and listings that cross each other; experiments in trouble."""

from __future__ import annotations

import pytest

from jqueuer_agent.adapters.docker_events import Event, Memory
from jqueuer_agent.adapters.docker_ownership import Troubles


def event(action: str, container_id: str, **attributes: str) -> Event:
    return Event(action, container_id, attributes, 0)


def test_a_container_that_began_while_a_listing_was_made_is_kept() -> None:
    memory = Memory()
    with memory.listing() as arrived:
        memory.happened(event("start", "new", label="mine"))
        arrived({"old": {}})
    assert memory.running() == {"old": {}, "new": {"label": "mine"}}


def test_a_container_that_died_while_a_listing_was_made_is_gone() -> None:
    memory = Memory()
    memory.happened(event("start", "old"))
    with memory.listing() as arrived:
        memory.happened(event("die", "old"))
        arrived({"old": {}, "other": {}})
    assert memory.running().keys() == {"other"}


def test_a_listing_tells_what_no_event_told() -> None:
    memory = Memory()
    memory.happened(event("start", "gone"))
    memory.happened(event("kill", "gone", signal="23"))
    with memory.listing() as arrived:
        arrived({"there": {}})
    assert memory.running().keys() == {"there"}
    assert memory.stopping() == set()


def test_a_listing_that_fails_changes_nothing() -> None:
    memory = Memory()
    memory.happened(event("start", "there"))
    with memory.listing():
        memory.happened(event("start", "another"))
    assert memory.running().keys() == {"there", "another"}


def test_only_the_stop_signal_gives_a_container_up() -> None:
    memory = Memory()
    for name, signal in (("a", "23"), ("b", "SIGURG"), ("c", "15"), ("d", "SIGHUP"), ("e", "")):
        memory.happened(event("start", name))
        memory.happened(event("kill", name, signal=signal))
    assert memory.stopping() == {"a", "b"}
    memory.happened(event("die", "a"))
    memory.happened(event("start", "a"))
    assert memory.stopping() == {"b"}


def test_of_older_events_only_that_a_container_was_given_up_counts() -> None:
    memory = Memory()
    with memory.listing() as arrived:
        memory.remembered(event("start", "long gone"))
        memory.remembered(event("kill", "there", signal="23"))
        memory.remembered(event("die", "restarted"))
        arrived({"there": {}, "restarted": {}})
    assert memory.running().keys() == {"there", "restarted"}
    assert memory.stopping() == {"there"}


def test_containers_that_never_work_are_tried_less_and_less_often() -> None:
    """Many that end within one pause count once, so a machine's bad second does not cost half a minute."""
    now = 0.0
    troubles = Troubles(lambda: now)
    pauses = []
    for _ in range(12):
        for _ in range(5):
            troubles.another("x")
        began = now
        while troubles.hold_back("x"):
            now += 0.1
        pauses.append(round(now - began, 1))
    assert pauses == sorted(pauses)
    assert pauses[0] < 0.5
    assert pauses[-3:] == pytest.approx([30.0, 30.0, 30.0], abs=0.2)
    assert not troubles.hold_back("y")
    troubles.another("x")
    troubles.over("x")
    assert not troubles.hold_back("x")
