"""The bridge as a process: statsd over a real socket in, Prometheus text out."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from jqueuer.model import Job, Task
from jqueuer.records import Attempt, Claim, CommandResult
from jqueuer.states import AttemptOutcome
from jqueuer_agent.adapters.statsd_events import StatsdEvents
from tests.metrics_parts import Bridge, running_bridge

Eventually = Callable[[Callable[[], object], float], None]
WHERE = 'experiment="sweep-abc123",node="node_example_org"'


@pytest.fixture
def bridge() -> Iterator[Bridge]:
    with running_bridge() as bridge:
        yield bridge


def lines(bridge: Bridge) -> set[str]:
    return set(bridge.metrics().splitlines())


def test_an_agents_events_become_metrics(bridge: Bridge, eventually: Eventually) -> None:
    claim = Claim(
        experiment_id="sweep-abc123",
        job_id="j1",
        token=1,
        container="c1",
        node="node.example.org",
        started_at=100.0,
        spec=Job(id="j1", tasks=(Task(command=("true",)),)),
    )
    attempt = Attempt(
        number=1,
        container="c1",
        node="node.example.org",
        started_at=100.0,
        finished_at=102.5,
        outcome=AttemptOutcome.ACCOMPLISHED,
        commands=(
            CommandResult(role="task 1", exit_code=0, seconds=0.5),
            CommandResult(role="task 2", exit_code=0, seconds=45.0),
            CommandResult(role="post-job", exit_code=1, seconds=0.05),
        ),
    )
    events = StatsdEvents("127.0.0.1", bridge.port)
    for _ in range(2):
        events.started(claim)
        events.finished(claim, attempt)
    done, task = f'{WHERE},outcome="accomplished"', f'{WHERE},outcome="accomplished",phase="task"'
    eventually(lambda: f"jqueuer_agent_job_duration_seconds_count{{{done}}} 2.0" in lines(bridge), 10)
    assert {
        f"jqueuer_agent_jobs_started_total{{{WHERE}}} 2.0",
        f"jqueuer_agent_jobs_finished_total{{{done}}} 2.0",
        f"jqueuer_agent_job_duration_seconds_sum{{{done}}} 5.0",
        f"jqueuer_agent_command_duration_seconds_sum{{{task}}} 91.0",
        f"jqueuer_agent_command_duration_seconds_count{{{task}}} 4.0",
        f'jqueuer_agent_command_duration_seconds_count{{{WHERE},outcome="failed",phase="post-job"}} 2.0',
        "# TYPE jqueuer_agent_command_duration_seconds histogram",
        "# TYPE jqueuer_agent_jobs_finished_total counter",
    } <= lines(bridge)
    outcome = 'outcome="accomplished"'
    buckets = {
        bound: f'jqueuer_agent_command_duration_seconds_bucket{{experiment="sweep-abc123",le="{bound}",'
        f'node="node_example_org",{outcome},phase="task"}} {count:.1f}'
        for bound, count in (("0.25", 0), ("0.5", 2), ("1", 2), ("30", 2), ("60", 4), ("+Inf", 4))
    }
    assert set(buckets.values()) <= lines(bridge)  # a value on a bound is below it; bounds as the official one writes


def test_what_is_not_ours_is_dropped(bridge: Bridge, eventually: Eventually) -> None:
    bridge.send("somebody.else:1|c", "jqueuer.job.unheard.of:1|c", "rubbish", "jqueuer.job.started.e.n:1|c")
    eventually(lambda: 'jqueuer_agent_jobs_started_total{experiment="e",node="n"} 1.0' in lines(bridge), 10)
    assert [line for line in lines(bridge) if line and not line.startswith(("#", "jqueuer_agent_jobs_started"))] == []


def test_a_mapping_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "jqueuer.statsd_bridge", "--mapping", str(tmp_path / "none.yml")]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (3, "")
    assert "cannot read the mapping" in ended.stderr
