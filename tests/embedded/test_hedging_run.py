"""A real straggler: its second copy ends the experiment, the first one is stopped and recorded."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.embedded.running import System

Wait = Callable[..., None]


def sleeping(seconds: int) -> bool:
    """Whether a process sleeps for so many seconds, which nobody else does."""
    command_lines = (process / "cmdline" for process in Path("/proc").glob("[0-9]*"))
    wanted = f"sleep\0{seconds}\0".encode()
    return any(path.exists() and _read(path) == wanted for path in command_lines)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:  # it ended meanwhile
        return b""


def test_a_second_copy_of_a_straggler_wins_and_the_first_is_stopped_and_recorded(
    system: System, tmp_path: Path, eventually: Wait
) -> None:
    hour_long = 3_600_000 + hash(tmp_path) % 1000
    experiment_id = system.submit(
        f"""
        deadline: 3s
        estimate: 200ms
        containers: {{min: 2, max: 2}}
        policy: deadline-forecast
        hedge: true
        idempotent: true
        outputs: [result]
        jobs:
          - id: slow
            command:
              shell: |
                echo begun $JQUEUER_ATTEMPT >> {tmp_path}/trace
                mkdir {tmp_path}/first 2> /dev/null && sleep {hour_long}
                echo ended $JQUEUER_ATTEMPT >> {tmp_path}/trace
                echo $JQUEUER_ATTEMPT > result
          - {{id: quick-1, command: {{shell: "sleep 0.1; touch result"}}}}
          - {{id: quick-2, command: {{shell: "sleep 0.1; touch result"}}}}
          - {{id: quick-3, command: {{shell: "sleep 0.1; touch result"}}}}
        """
    )
    eventually(lambda: sleeping(hour_long))
    ended = system.api.wait(experiment_id, poll_seconds=0.05)
    assert (ended["state"], ended["jobs"]["accomplished"], ended["jobs"]["total"]) == ("accomplished", 4, 4)
    eventually(lambda: not sleeping(hour_long))
    assert (tmp_path / "trace").read_text().splitlines() == ["begun 1", "begun 2", "ended 2"]
    first, second = system.attempts(experiment_id, "slow")
    assert (first["outcome"], first["reason"]) == ("cancelled", "another copy was faster")
    assert (second["outcome"], second["container"] != first["container"]) == ("accomplished", True)
    assert system.api.summary(experiment_id)["attempts"] == 5
    hedged = [entry for entry in system.api.journal(experiment_id) if entry["action"] == "hedge"]
    assert [entry["inputs"]["job"] for entry in hedged] == ["slow"]


def test_where_the_first_copy_wins_after_all_its_outputs_are_the_job_s(
    system: System, tmp_path: Path, eventually: Wait
) -> None:
    hour_long = 3_601_000 + hash(tmp_path) % 1000
    summary = system.run(
        f"""
        deadline: 2s
        estimate: 100ms
        containers: {{min: 2, max: 2}}
        hedge: true
        idempotent: true
        outputs: [result]
        jobs:
          - id: slow
            command:
              shell: |
                echo $JQUEUER_ATTEMPT > result
                mkdir {tmp_path}/first 2> /dev/null || {{ touch {tmp_path}/second; sleep {hour_long}; }}
                until [ -e {tmp_path}/second ]; do sleep 0.05; done
        post: {{command: [cat, outputs/slow/result]}}
        """
    )
    experiment_id = summary["experiment_id"]
    assert (summary["state"], summary["attempts"]) == ("accomplished", 2)
    assert [attempt["outcome"] for attempt in system.attempts(experiment_id, "slow")] == ["accomplished", "cancelled"]
    assert system.log(experiment_id, "@post") == "1\n"
    eventually(lambda: not sleeping(hour_long))


def test_a_slow_job_that_may_not_run_twice_runs_once(system: System, tmp_path: Path, eventually: Wait) -> None:
    """The one that may is hedged meanwhile: it is not that nobody looked."""
    experiment_id = system.submit(
        f"""
        deadline: 2s
        estimate: 100ms
        containers: {{min: 3, max: 3}}
        hedge: true
        jobs:
          - id: once
            command: {{shell: "echo once >> {tmp_path}/trace; until [ -e {tmp_path}/go ]; do sleep 0.05; done"}}
          - id: twice
            idempotent: true
            command: {{shell: "mkdir {tmp_path}/first 2> /dev/null && sleep 1000; true"}}
        """
    )
    eventually(lambda: system.counts(experiment_id)["accomplished"] == 1)
    assert len(system.attempts(experiment_id, "twice")) == 2
    (tmp_path / "go").touch()
    assert system.api.wait(experiment_id, poll_seconds=0.05)["state"] == "accomplished"
    assert len(system.attempts(experiment_id, "once")) == 1
    assert (tmp_path / "trace").read_text() == "once\n"
