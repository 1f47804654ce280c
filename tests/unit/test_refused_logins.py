"""Counting wrong tokens, in a time of its own."""

from __future__ import annotations

import pytest

from jqueuer_manager.api import refusals
from jqueuer_manager.api.refusals import RefusedLogins


class Clock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_who_shows_too_many_wrong_tokens_waits_for_the_rest_of_the_minute(clock: Clock) -> None:
    refused = RefusedLogins(3, clock=clock)
    assert [refused.add("10.0.0.1") for _ in range(3)] == [0, 0, 0]
    clock.now += 20
    assert refused.add("10.0.0.1") == 40
    clock.now += 39
    assert refused.add("10.0.0.1") == 1
    clock.now += 1
    assert [refused.add("10.0.0.1") for _ in range(4)] == [0, 0, 0, 60]


def test_one_address_does_not_make_another_wait(clock: Clock) -> None:
    refused = RefusedLogins(1, clock=clock)
    assert [refused.add(address) for address in ("10.0.0.1", "10.0.0.2", "10.0.0.1", "")] == [0, 0, 60, 0]


def test_the_addresses_of_an_ipv6_network_are_one(clock: Clock) -> None:
    """Who has one of them has all of them."""
    refused = RefusedLogins(1, clock=clock)
    assert refused.add("2001:db8::1") == 0
    assert refused.add("2001:db8::ffff:2%eth0") == 60
    assert refused.add("2001:db8:0:1::1") == 0


def test_however_many_addresses_knock_little_is_remembered(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refusals, "MOST_ADDRESSES", 3)
    refused = RefusedLogins(1, clock=clock)
    for number in range(4):
        refused.add(f"10.0.0.{number}")
    assert refused.add("10.0.0.3") == 60
    assert refused.add("10.0.0.0") == 0, "the first was forgotten for the fourth"
