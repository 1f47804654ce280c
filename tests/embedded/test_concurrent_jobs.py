"""An agent runs no more jobs at once than it may; containers beyond that wait with theirs, and go when told to."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

from tests.embedded.running import System

ONE = {"JQUEUER_MAX_CONCURRENT_JOBS": "1"}


def description(jobs: str) -> str:
    return f"containers: {{min: 3, max: 3}}\npolicy: fixed\njobs: {jobs}\n"


def test_containers_beyond_the_limit_wait_for_each_other(own_system: Callable[..., System]) -> None:
    system = own_system(**ONE)
    names = [f"j{number}" for number in range(9)]
    jobs = ", ".join(f"{{id: {name}, command: [sleep, '0.1']}}" for name in names)
    experiment_id = system.submit(description(f"[{jobs}]"))
    system.api.wait(experiment_id, poll_seconds=0.05)
    assert system.counts(experiment_id)["accomplished"] == 9
    attempts = [attempt for name in names for attempt in system.attempts(experiment_id, name)]
    assert len(attempts) == 9
    ordered = sorted(attempts, key=lambda attempt: attempt["started_at"])
    assert [None for one, other in pairwise(ordered) if other["started_at"] < one["finished_at"]] == []


def test_a_container_that_waits_goes_when_it_is_told_to_and_its_job_is_not_lost(
    own_system: Callable[..., System], tmp_path: Path, eventually: Callable[..., None]
) -> None:
    system, gate = own_system(**ONE), tmp_path / "gate"
    hold = f"while [ ! -e {gate} ]; do sleep 0.05; done"
    jobs = ", ".join(f"{{id: j{number}, command: {{shell: '{hold}'}}}}" for number in range(4))
    experiment_id = system.submit(description(f"[{jobs}]"))
    eventually(lambda: system.containers(experiment_id)["running"] == 3)
    eventually(lambda: system.counts(experiment_id)["running"] == 1)
    system.api.pause(experiment_id)

    def left() -> dict[str, int]:
        found = system.containers(experiment_id)
        return {state: found[state] for state in ("starting", "running", "draining")}

    eventually(lambda: left() == {"starting": 0, "running": 0, "draining": 1})
    gate.touch()
    eventually(lambda: system.counts(experiment_id)["accomplished"] == 1)
    system.api.resume(experiment_id)
    system.api.wait(experiment_id, poll_seconds=0.05)
    assert system.counts(experiment_id)["accomplished"] == 4
    assert [len(system.attempts(experiment_id, f"j{number}")) for number in range(4)] == [1, 1, 1, 1]
