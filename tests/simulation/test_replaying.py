"""Experiments replayed from their records; here the records of simulated ones, whose truth is known."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from statistics import median
from typing import Any

import pytest

from jqueuer.model import Policy, Post
from jqueuer.records import Counts, ExperimentRecord, JournalEntry, Statistics
from jqueuer.settings import Settings
from jqueuer.simulation import Outcome, Scenario, driver, simulate
from jqueuer.simulation.curves import recorded_curves, simulated_curves
from jqueuer.simulation.replaying import (
    LOOK_SECONDS,
    NoReplayError,
    Ran,
    Records,
    job_gap,
    recorded_outcome,
    recorded_run,
    scenario_from_records,
    start_delays,
    with_post,
)
from jqueuer.simulation.service import Container
from jqueuer.simulation.world import World
from jqueuer.states import AttemptOutcome, ExperimentState
from tests.simulation.building import scenario

RECEIVED_AT = 1_700_000_000.0
LOOK = LOOK_SECONDS
POLICIES = ("fixed", "deadline-paper", "deadline-2018")


class RecordingWorld(World):
    """Notes every attempt, as the ledger would. Only with a gap between jobs: without one it takes a short cut."""

    attempts: list[Ran]

    def _end(self, container: Container, progress: float) -> None:
        job, failed_before = container.job, self.jobs.unsuccessful
        started_at = RECEIVED_AT + container.busy_since
        super()._end(container, progress)
        failed = self.jobs.unsuccessful > failed_before
        RecordingWorld.attempts.append(
            Ran(
                job=job,
                container=f"c{container.number}",
                node=container.node.name,
                started_at=started_at,
                finished_at=RECEIVED_AT + self.now,
                outcome=AttemptOutcome.FAILED if failed else AttemptOutcome.ACCOMPLISHED,
            )
        )


@pytest.fixture(autouse=True)
def recording(monkeypatch: pytest.MonkeyPatch) -> None:
    RecordingWorld.attempts = []
    monkeypatch.setattr(driver, "World", RecordingWorld)


def recorded(original: Scenario, *, policy: str | None = None, seed: int = 0) -> tuple[Outcome, Records]:
    """The scenario simulated once, and what a manager would have kept of it."""
    assert original.gap > 0
    RecordingWorld.attempts = []
    outcome = simulate(original, policy=policy, seed=seed, decisions=True)
    description = original.experiment
    if policy is not None:
        description = description.model_copy(update={"policy": Policy(name=policy)})
    deadline = outcome.deadline_seconds
    return outcome, Records(
        experiment=ExperimentRecord(
            id="recorded-1",
            description=description,
            state=ExperimentState.ACCOMPLISHED if not outcome.failed else ExperimentState.FAILED,
            created_at=RECEIVED_AT,
            deadline_at=None if deadline is None else RECEIVED_AT + deadline,
            finished_at=RECEIVED_AT + outcome.finished_seconds,
        ),
        counts=Counts(accomplished=outcome.accomplished, failed=outcome.failed),
        statistics=Statistics(
            container_seconds=outcome.container_seconds,
            peak_containers=outcome.peak_containers,
            scale_ups=outcome.scale_ups,
            scale_downs=outcome.scale_downs,
        ),
        attempts=tuple(RecordingWorld.attempts),
        decisions=tuple(entry.model_copy(update={"at": RECEIVED_AT + entry.at}) for entry in outcome.decisions),
    )


def usual(**changes: Any) -> Scenario:
    """With pauses between jobs, and looks as often as a manager's."""
    values: dict[str, Any] = {"gap": "200ms", "look": LOOK}
    return scenario(**(values | changes))


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("seed", range(3))
def test_a_recorded_experiment_replays_to_the_same_finish(policy: str, seed: int) -> None:
    outcome, records = recorded(usual(), policy=policy, seed=seed)
    again = simulate(scenario_from_records(records, look_seconds=LOOK))
    assert again.finished_seconds == pytest.approx(outcome.finished_seconds, abs=2 * LOOK)
    assert again.container_seconds == pytest.approx(outcome.container_seconds, rel=0.01)
    assert again.job_seconds == pytest.approx(outcome.job_seconds)
    assert (again.peak_containers, again.scale_actions) == (outcome.peak_containers, outcome.scale_actions)


@pytest.mark.parametrize("policy", POLICIES)
def test_where_containers_take_their_time_it_replays_to_about_the_same_finish(policy: str) -> None:
    """Which container answered which request is not recorded, so another one may be the newest, and be given up."""
    original = usual(cluster={"start_delay": {"normal": {"mean": "20s", "deviation": "8s"}}})
    finished, again = list[float](), list[float]()
    for seed in range(9):
        outcome, records = recorded(original, policy=policy, seed=seed)
        finished.append(outcome.finished_seconds)
        again.append(simulate(scenario_from_records(records, look_seconds=LOOK)).finished_seconds)
    assert median(again) == pytest.approx(median(finished), rel=0.03)


def test_failures_are_those_that_were() -> None:
    original = usual(failures=0.3, experiment={"on_failure": {"max_attempts": 2, "backoff": "3s"}, "policy": "fixed"})
    outcome, records = recorded(original, seed=4)
    assert outcome.failed > 0
    again = simulate(scenario_from_records(records, look_seconds=LOOK))
    assert (again.failed, again.accomplished, again.attempts) == (
        outcome.failed,
        outcome.accomplished,
        outcome.attempts,
    )
    assert again.finished_seconds == pytest.approx(outcome.finished_seconds, abs=2 * LOOK)


def test_another_policy_meets_the_recorded_jobs() -> None:
    """What the records of one policy say about another is what that one would have come to."""
    original = usual()
    _, records = recorded(original, policy="deadline-paper")
    replayed = simulate(scenario_from_records(records, look_seconds=LOOK), policy="fixed")
    assert replayed.finished_seconds == pytest.approx(simulate(original, policy="fixed").finished_seconds, abs=LOOK)


def test_looks_are_as_far_apart_as_a_managers() -> None:
    assert Settings.model_fields["control_seconds"].default == LOOK_SECONDS


def test_what_is_measured_is_what_the_scenario_said() -> None:
    _, records = recorded(usual(), policy="deadline-2018")
    assert start_delays(records) == pytest.approx([5.0] * len(start_delays(records)), abs=1e-3)
    assert job_gap(records) == pytest.approx(0.2, abs=1e-4)
    made, nodes = scenario_from_records(records), {one.node for one in records.attempts}
    assert (made.jobs, made.cluster.nodes) == (60, len(nodes))


def test_a_pause_in_which_no_job_waited_is_no_gap() -> None:
    """The second container idles until the first one's job has failed and is tried again."""
    _, records = recorded(usual())
    slow, quick, again = (
        replace(records.attempts[0], job=0, container="a", started_at=0.0, finished_at=100.0),
        replace(records.attempts[0], job=1, container="b", started_at=0.0, finished_at=10.0),
        replace(records.attempts[0], job=0, container="b", started_at=100.3, finished_at=150.0),
    )
    assert job_gap(replace(records, attempts=(slow, quick, again))) == 0.0
    waiting = replace(again, job=2)
    assert job_gap(replace(records, attempts=(slow, quick, waiting))) == pytest.approx(90.3)


def test_requests_that_nobody_answered_get_the_median_delay() -> None:
    """Two are asked for at the receipt and a third later; one of them comes up, as the second request is withdrawn."""
    _, records = recorded(usual())
    asked = [(0.4, "create", 2), (30.0, "scale-up", 3), (40.0, "scale-down", 1), (50.0, "hold", 1)]
    decisions = [JournalEntry(at=RECEIVED_AT + at, action=action, containers=count) for at, action, count in asked]
    only = replace(records.attempts[0], container="a", started_at=RECEIVED_AT + 45, finished_at=RECEIVED_AT + 60)
    few = replace(records, attempts=(only,), decisions=tuple(decisions))
    assert start_delays(few) == (45.0, 45.0, 45.0)


def test_the_real_outcome_is_told_in_the_same_words() -> None:
    outcome, records = recorded(usual(), policy="deadline-paper")
    real = recorded_outcome(records)
    assert real.finished_seconds == pytest.approx(outcome.finished_seconds)
    assert real.used == pytest.approx(outcome.used, abs=1e-6)
    assert (real.deadline_met, real.policy) == (outcome.deadline_met, "deadline-paper")


def test_the_post_command_follows_the_last_job() -> None:
    outcome, records = recorded(usual())
    described = records.experiment.description.model_copy(update={"post": Post(command=("true",))})
    experiment = records.experiment.model_copy(update={"description": described})
    longer = replace(records, experiment=experiment, post_seconds=2.2)
    assert scenario_from_records(longer).experiment.post is None
    after = with_post(outcome, longer, look_seconds=LOOK)
    assert after.finished_seconds == outcome.finished_seconds + 2.5
    assert after.container_seconds == pytest.approx(outcome.container_seconds + 2.5)
    assert with_post(outcome, records) is outcome


def test_a_policy_service_is_replayed_as_its_fallback() -> None:
    _, records = recorded(usual())
    asked = Policy(url="http://policy.example/", fallback="deadline-2018")
    described = records.experiment.description.model_copy(update={"policy": asked})
    experiment = records.experiment.model_copy(update={"description": described})
    assert scenario_from_records(replace(records, experiment=experiment)).experiment.policy.name == "deadline-2018"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"state": ExperimentState.RUNNING}, "is running: it can be replayed once it has ended"),
        ({"finished_at": None}, "it can be replayed once it has ended"),
        ({"service": "mine"}, "its user's own service"),
        ({"attempts": ()}, "no job of recorded-1 has ever ended"),
    ],
)
def test_what_cannot_be_replayed_is_refused_in_words(changes: dict[str, Any], said: str) -> None:
    _, records = recorded(usual())
    if "attempts" in changes:
        records = replace(records, **changes)
    elif "service" in changes:
        described = records.experiment.description.model_copy(update={"container_name": "mine"})
        records = replace(records, experiment=records.experiment.model_copy(update={"description": described}))
    else:
        records = replace(records, experiment=records.experiment.model_copy(update=changes))
    with pytest.raises(NoReplayError, match=said):
        scenario_from_records(records)


def test_the_curves_of_records_are_those_of_the_run() -> None:
    _, records = recorded(usual(), policy="deadline-paper")
    real = recorded_run(records)
    ours = simulated_curves(scenario_from_records(records, look_seconds=LOOK), "deadline-paper")
    assert real.done[-1][1] == ours.done[-1][1] == 60
    assert max(up for _, up in real.running) == max(up for _, up in ours.running)
    requested = [
        [number for number, _ in groupby(number for _, number in curve if number)]
        for curve in (real.requested, ours.requested)
    ]
    assert requested[0] == requested[1]
    assert real.running[-1][1] == 0.0


def test_samples_of_another_system_are_curves_until_their_last_job() -> None:
    columns = ("seconds", "jobs_accomplished", "replicas_needed", "replicas_running")
    rows = [("0", "0", "2", "0"), ("10", "5", "2", "1.5"), ("20", "7", "1", "1"), ("30", "7", "0", "0")]
    read = recorded_curves("theirs", [dict(zip(columns, row, strict=True)) for row in rows], 25.0)
    assert read.end_seconds == 20.0
    assert read.running[1] == (10.0, 1.5)
    assert read.asked_for == "needed"
