"""When a second copy of a slow job is started, and of which."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from controller_looks import START, look, record, service
from hypothesis import given
from hypothesis import strategies as st

from cautoscaler import Durations, Measured
from cautoscaler.forecasting import job_times
from cautoscaler.measured import NO_DURATIONS
from jqueuer.controller import ControllerState, Hedge, Observation, ScaleService, step
from jqueuer.controller.hedging import hedge, outlasts
from jqueuer.controller.situation import situation_of
from jqueuer.records import ContainerStatus, Counts, ExperimentRecord, JournalEntry, ServiceStatus, Statistics
from jqueuer.states import ContainerState, ExperimentState

TENS = Measured(durations=Durations.of([9.0, 9.5, 10.0, 10.5, 11.0] * 200))
HEDGED: dict[str, Any] = {
    "hedge": True,
    "idempotent": True,
    "containers": {"min": 4, "max": 30},
    "policy": {"name": "fixed", "containers": 4},
}
NOW = START + 200
"""100 s before the deadline."""


def hedged(**changes: Any) -> ExperimentRecord:
    return record(**{**HEDGED, "published": 104, **changes})


def busy(container: str, job: str, age: float, state: ContainerState = ContainerState.BUSY) -> ContainerStatus:
    return ContainerStatus(id=container, node="n1", state=state, started_at=START, job=job, busy_since=NOW - age)


def idle(number: int = 1) -> tuple[ContainerStatus, ...]:
    return service(number, idle=number).containers


def seen(*containers: ContainerStatus, requested: int = 4, **changes: Any) -> Observation:
    """All jobs are begun, and every running one may be hedged."""
    jobs = {container.job for container in containers if container.job is not None}
    values: dict[str, Any] = {
        "record": hedged(),
        "counts": Counts(running=len(jobs), accomplished=100),
        "measured": TENS,
        "queue_length": 0,
        "hedgeable": frozenset(jobs),
        "service": ServiceStatus(requested=requested, containers=containers),
    }
    return look(NOW - START, **{**values, **changes})


def chosen(observation: Observation, state: ControllerState | None = None, *scaling: ScaleService) -> str | None:
    assert observation.record is not None
    _, commands = hedge(state or ControllerState(), observation, observation.record, scaling)
    jobs = [command.job_id for command in commands if isinstance(command, Hedge)]
    assert len(jobs) <= 1
    return jobs[0] if jobs else None


STRAGGLER = busy("c1", "slow", 60.0)
USUAL = busy("c2", "usual", 5.0)


def test_the_slowest_job_gets_a_second_copy_and_the_journal_says_why() -> None:
    state, commands = step(ControllerState(), seen(STRAGGLER, USUAL, *idle(2)))
    (hedging,) = [command for command in commands if isinstance(command, Hedge)]
    assert hedging.entry == JournalEntry(
        at=NOW,
        action="hedge",
        reason=(
            "a second copy of slow is started: it has been running for 60 s, 80 % of all jobs take less than 11 s; "
            "the deadline is in 100 s, missed with a probability of 37.5 %, 0 % with a copy"
        ),
        inputs={
            "job": "slow",
            "container": "c1",
            "running_seconds": 60.0,
            "slow_seconds": 11.0,
            "seconds_left": 100.0,
            "confidence": 0.95,
            "probability_late": 0.375,
            "probability_late_with_copy": 0.0,
            "idle": 2,
        },
    )
    assert hedging.reason == hedging.entry.reason
    assert commands[-1] is hedging, "last: what is decided about the containers comes first"
    assert state.hedged == {"slow"}


def test_of_several_slow_jobs_it_is_the_one_that_runs_longest() -> None:
    assert chosen(seen(busy("c1", "younger", 50.0), busy("c2", "oldest", 70.0), *idle(2))) == "oldest"


def test_nothing_is_hedged_unless_the_user_wants_it() -> None:
    assert chosen(seen(STRAGGLER, *idle(), record=hedged(hedge=False))) is None


def test_nothing_is_hedged_without_an_idle_container() -> None:
    assert chosen(seen(STRAGGLER, USUAL)) is None
    starting = ContainerStatus(id="c3", node="n1", state=ContainerState.STARTING, started_at=NOW)
    draining = ContainerStatus(id="c4", node="n1", state=ContainerState.DRAINING, started_at=NOW)
    assert chosen(seen(STRAGGLER, USUAL, starting, draining)) is None


def test_an_idle_container_that_is_about_to_go_is_none() -> None:
    assert chosen(seen(STRAGGLER, *idle(), requested=1)) is None
    scaling = ScaleService(1, 4, "fewer jobs are left")
    assert chosen(seen(STRAGGLER, *idle()), None, scaling) is None
    assert chosen(seen(STRAGGLER, *idle(2)), None, ScaleService(2, 4, "fewer jobs are left")) == "slow"


def test_nothing_is_hedged_while_jobs_wait() -> None:
    """A container that idles will take one of them."""
    for waiting in ({"queued": 1}, {"queued": 3}):
        counts = Counts(running=1, accomplished=100, **waiting)
        assert chosen(seen(STRAGGLER, *idle(), counts=counts)) is None


def test_a_job_that_may_not_run_twice_never_gets_a_copy() -> None:
    assert chosen(seen(STRAGGLER, *idle(), hedgeable=frozenset())) is None
    older = busy("c3", "once", 90.0)
    assert chosen(seen(STRAGGLER, older, *idle(), hedgeable=frozenset({"slow"}))) == "slow"


def test_a_job_gets_no_third_copy() -> None:
    assert chosen(seen(STRAGGLER, busy("c2", "slow", 40.0), *idle(2))) is None


def test_it_is_not_asked_for_twice() -> None:
    state, first = step(ControllerState(), seen(STRAGGLER, *idle(3)))
    assert [command.job_id for command in first if isinstance(command, Hedge)] == ["slow"]
    state, second = step(state, seen(STRAGGLER, *idle(3)))
    assert not any(isinstance(command, Hedge) for command in second)
    state, _ = step(state, seen(USUAL, *idle(3)))
    assert state.hedged == frozenset(), "what has ended is forgotten"


def test_after_a_pause_it_is_asked_for_again() -> None:
    """A container that was given the message meanwhile could not begin the copy."""
    state, _ = step(ControllerState(), seen(STRAGGLER, *idle(3)))
    state, _ = step(state, seen(STRAGGLER, *idle(3), record=hedged(state=ExperimentState.PAUSED)))
    assert chosen(seen(STRAGGLER, *idle(3)), state) == "slow"


def test_a_copy_that_has_not_begun_takes_an_idle_container() -> None:
    others = (busy("c3", "slower", 80.0), *(busy(f"d{number}", f"j{number}", 5.0) for number in range(10)))
    asked = ControllerState(hedged=frozenset({"slower"}))
    assert chosen(seen(STRAGGLER, *others, *idle(1), requested=20), asked) is None
    assert chosen(seen(STRAGGLER, *others, *idle(2), requested=20), asked) == "slow"


@pytest.mark.parametrize(("containers", "copies"), [(5, 1), (12, 2), (25, 3)])
def test_few_copies_run_at_once(containers: int, copies: int) -> None:
    """One, and one more for every ten containers."""
    running = [busy(f"c{number}", f"j{number}", 60.0) for number in range(containers - 4)]
    observation, state = seen(*running, *idle(4), requested=containers), ControllerState()
    begun = 0
    for _ in range(containers):
        state, commands = hedge(state, observation, hedged(), ())
        begun += len(commands)
    assert begun == copies


def test_a_usual_job_gets_no_copy() -> None:
    assert chosen(seen(busy("c1", "a", 9.0), USUAL, *idle(2))) is None


def test_a_slow_job_that_will_be_in_time_gets_none() -> None:
    patient = hedged(deadline_at=NOW + 3600)
    assert chosen(seen(STRAGGLER, *idle(), record=patient)) is None
    impatient = hedged(deadline_at=NOW + 3600, policy={**HEDGED["policy"], "confidence": 0.99})
    assert chosen(seen(STRAGGLER, *idle(), record=impatient)) == "slow"


def test_without_a_deadline_there_is_none_to_miss() -> None:
    assert chosen(seen(STRAGGLER, *idle(), record=hedged(deadline=None, deadline_at=None))) is None


def test_past_the_deadline_the_delay_is_kept_short() -> None:
    late = seen(STRAGGLER, *idle(), record=hedged(deadline_at=NOW - 1))
    _, (command,) = hedge(ControllerState(), late, hedged(deadline_at=NOW - 1), ())
    assert command.reason.endswith("; the deadline has passed")


def test_a_copy_that_would_end_after_the_job_itself_is_not_started() -> None:
    """These jobs take between 5 and 15 s: one of 14 s will end before another begins to be of use."""
    spread = Measured(durations=Durations.of(5 + number / 10 for number in range(101)))
    soon = hedged(deadline_at=NOW + 0.5)
    assert chosen(seen(busy("c1", "a", 14.0), *idle(), measured=spread, record=soon)) is None
    assert chosen(seen(busy("c1", "a", 60.0), *idle(), measured=spread, record=soon)) == "a"


def test_before_a_job_has_ended_the_estimate_says_what_is_slow() -> None:
    nothing = {"measured": Measured(), "counts": Counts(running=1), "statistics": Statistics(tasks_defined=1)}
    assert chosen(seen(busy("c1", "a", 70.0), *idle(), **nothing)) is None
    assert chosen(seen(busy("c1", "a", 400.0), *idle(), **nothing)) == "a"


def test_a_draining_container_s_job_may_be_the_slow_one() -> None:
    assert chosen(seen(busy("c1", "slow", 60.0, ContainerState.DRAINING), *idle())) == "slow"


def test_a_job_with_two_copies_counts_once_for_the_policy() -> None:
    """As its younger copy: that is likely to end first."""
    observation = seen(STRAGGLER, busy("c2", "slow", 4.0), USUAL)
    assert situation_of(ControllerState(), observation, hedged()).running_seconds == (4.0, 5.0)
    draining = busy("c1", "slow", 60.0, ContainerState.DRAINING)
    situation = situation_of(ControllerState(), seen(draining, busy("c2", "slow", 4.0), USUAL), hedged())
    assert (situation.running_seconds, situation.draining_running) == ((4.0, 5.0), 0)


@given(
    ages=st.lists(st.floats(0, 500), min_size=1, max_size=6),
    idles=st.integers(0, 4),
    requested=st.integers(0, 12),
    left=st.floats(-100, 1000),
    durations=st.lists(st.floats(0.01, 300), max_size=20),
    allowed=st.sets(st.integers(0, 5)),
    asked=st.sets(st.integers(0, 5)),
)
def test_whatever_is_seen_a_copy_needs_an_idle_container_and_a_job_that_may_have_one(
    ages: list[float],
    idles: int,
    requested: int,
    left: float,
    durations: list[float],
    allowed: set[int],
    asked: set[int],
) -> None:
    running = [busy(f"c{number}", f"j{number}", age) for number, age in enumerate(ages)]
    hedgeable = frozenset(f"j{number}" for number in allowed if number < len(ages))
    before = frozenset(f"j{number}" for number in asked)
    observation = seen(
        *running,
        *idle(idles),
        requested=requested,
        hedgeable=hedgeable,
        record=hedged(deadline_at=NOW + left),
        measured=Measured(durations=Durations.of(durations)),
    )
    job = chosen(observation, replace(ControllerState(), hedged=before))
    if job is not None:
        assert idles > 0
        assert len(running) < requested
        assert job in hedgeable - before


@given(
    seconds=st.lists(st.floats(0.01, 1e6), max_size=30),
    age=st.floats(0, 1e7),
    left=st.floats(0, 1e7),
    later=st.floats(0, 1e7),
)
def test_the_chance_to_go_on_is_one_and_falls_with_time(
    seconds: list[float], age: float, left: float, later: float
) -> None:
    durations = Durations.of(seconds)
    times = job_times(estimate_seconds=60.0, durations=durations, history=NO_DURATIONS, running_seconds=(age,))
    assert 0.0 <= outlasts(times, age, left + later) <= outlasts(times, age, left) <= 1.0
