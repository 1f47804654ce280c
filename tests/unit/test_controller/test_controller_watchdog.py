"""Jobs wait, containers idle, and nobody takes any: the queue is filled again, then the containers are replaced."""

from typing import Any

from controller_looks import entry, look, service, watch

from jqueuer.controller import Command, Journal, Observation, ReplaceContainers, RepublishQueued
from jqueuer.records import ContainerStatus, Counts, ServiceStatus, Statistics
from jqueuer.states import ContainerState

IDLE = service(4, idle=2, busy=2)
REFILL = "20 jobs waiting, 2 containers idle, and none was begun for 30 s: the job queue is emptied and filled again"
REPLACE = "2 containers idle while jobs wait, for 60 s and longer: they are replaced (idle-0, idle-1)"


def looks(until: int, begin: int = 0, **changes: Any) -> list[Observation]:
    """One a second."""
    return [look(after, **{"service": IDLE, **changes}) for after in range(begin, until + 1)]


def repairs(*seen: Observation) -> list[list[Command]]:
    """What each look did about it, where it did something."""
    _, told = watch(*seen)
    return [found for commands in told if (found := [command for command in commands if _of_the_watchdog(command)])]


def _of_the_watchdog(command: Command) -> bool:
    told = isinstance(command, Journal) and command.entry.action == "watchdog"
    return told or isinstance(command, RepublishQueued | ReplaceContainers)


def test_the_queue_is_emptied_and_filled_again_once() -> None:
    assert repairs(*looks(59)) == [[RepublishQueued(REFILL, emptied=True), entry(30, "watchdog", REFILL)]]


def test_containers_that_idle_on_are_replaced() -> None:
    assert repairs(*looks(65))[1:] == [
        [ReplaceContainers(("idle-0", "idle-1"), REPLACE), entry(60, "watchdog", REPLACE)]
    ]


def test_those_that_took_their_place_get_as_much_time() -> None:
    assert [commands[0] for commands in repairs(*looks(125))[1:]] == [
        ReplaceContainers(("idle-0", "idle-1"), REPLACE)
    ] * 2


def test_one_that_hangs_among_others_that_work_is_replaced_alone() -> None:
    """The other one idles at every second look only."""
    works = [
        look(after, service=service(4, idle=1 + after % 2, busy=2), statistics=Statistics(attempts=after))
        for after in range(70)
    ]
    why = "1 container idles while jobs wait, for 60 s and longer: it is replaced (idle-0)"
    assert repairs(*works) == [[ReplaceContainers(("idle-0",), why), entry(60, "watchdog", why)]]


def test_who_was_seen_idle_at_few_looks_only_is_not_replaced() -> None:
    """Jobs of milliseconds: a container is idle at most looks, and has run thousands of jobs in between."""
    sparse = [look(after, service=IDLE, statistics=Statistics(attempts=after)) for after in range(0, 500, 10)]
    assert repairs(*sparse) == []


def test_who_claims_something_between_two_looks_is_not_replaced() -> None:
    """Many containers, and jobs of milliseconds: each is idle at every look."""

    def one(after: int) -> ContainerStatus:
        claimed_at = 1000.0 + after // 50
        return ContainerStatus(id="c", node="n1", state=ContainerState.IDLE, started_at=1000.0, claimed_at=claimed_at)

    seen = [
        look(after, service=ServiceStatus(requested=1, containers=(one(after),)), statistics=Statistics(attempts=after))
        for after in range(200)
    ]
    assert repairs(*seen) == []


def test_every_claim_starts_the_wait_anew() -> None:
    seen = [look(after, service=IDLE, statistics=Statistics(attempts=after // 20)) for after in range(59)]
    assert repairs(*seen) == []


def test_the_patience_is_a_setting() -> None:
    first = repairs(*looks(10, patience_seconds=5.0))[0][1]
    assert first == entry(5, "watchdog", REFILL.replace("30 s", "5 s"))


def test_nothing_is_repaired_while_no_job_may_run_or_none_could_take_it() -> None:
    assert repairs(*looks(120, delayed=20)) == []
    assert repairs(*looks(120, counts=Counts(running=2, accomplished=18))) == []
    assert repairs(*looks(120, service=service(4, busy=4))) == []
    assert repairs(*looks(120, service=service(4, starting=4))) == []
    assert repairs(*looks(120, queue_problem="the broker does not answer")) == []
    assert repairs(*looks(120, jobs_per_node=2)) == [], "as many run on the node as may"
    others = {"jobs_per_node": 4, "others_at_work": {"n1": 2}}
    assert repairs(*looks(120, **others)) == [], "as many run on the node as may, some of them of other experiments"


def test_a_broker_that_is_away_is_told_and_everything_else_goes_on() -> None:
    away = "the broker does not answer, or refuses: gone"
    _, all_told = watch(look(queue_problem=away), look(1, service=IDLE, queue_problem=away, queue_length=0))
    assert all_told[0][0] == entry(0, "problem", away)
    assert all_told[0][1].__class__.__name__ == "CreateService"
    assert not any(entry(1, "problem", away) == command for command in all_told[1])
