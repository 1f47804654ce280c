"""What agents tell statsd, read from a real socket."""

from __future__ import annotations

import socket
import time

from jqueuer.model import Job, Task
from jqueuer.records import Attempt, Claim, CommandResult
from jqueuer.states import AttemptOutcome
from jqueuer_agent.adapters.statsd_events import AgentSeen, StatsdEvents

CLAIM = Claim(
    experiment_id="sweep-abc123",
    job_id="j1",
    token=1,
    container="c1",
    node="node.example.org",
    started_at=100.0,
    spec=Job(id="j1", tasks=(Task(command=("true",)),)),
)
ATTEMPT = Attempt(
    number=1,
    container="c1",
    node="node.example.org",
    started_at=100.0,
    finished_at=102.5,
    outcome=AttemptOutcome.FAILED,
    commands=(
        CommandResult(role="pre-job", exit_code=0, seconds=0.1),
        CommandResult(role="task 1", exit_code=0, seconds=1.25),
        CommandResult(role="task 2", exit_code=3, seconds=0.5),
    ),
)


def test_events_carry_phase_outcome_experiment_node_and_duration() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        server.settimeout(10)
        events = StatsdEvents("127.0.0.1", server.getsockname()[1])
        events.started(CLAIM)
        assert server.recv(4096) == b"jqueuer.job.started.sweep-abc123.node_example_org:1|c"
        events.finished(CLAIM, ATTEMPT)
        lines: list[str] = []
        while len(lines) < 5:  # in as many datagrams as they need
            lines += server.recv(4096).decode().splitlines()
    where = "sweep-abc123.node_example_org"
    assert lines == [
        f"jqueuer.command.seconds.pre-job.accomplished.{where}:100.000000|ms",
        f"jqueuer.command.seconds.task.accomplished.{where}:1250.000000|ms",
        f"jqueuer.command.seconds.task.failed.{where}:500.000000|ms",
        f"jqueuer.job.finished.failed.{where}:1|c",
        f"jqueuer.job.seconds.failed.{where}:2500.000000|ms",
    ]


def test_an_agent_says_that_it_is_there_once_in_a_while_and_that_it_goes() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        server.settimeout(10)
        before, seen = time.time(), AgentSeen(StatsdEvents("127.0.0.1", server.getsockname()[1]), "node.example.org")
        seen()
        seen()  # at every look at the containers, which are many
        seen.farewell()
        first, last = server.recv(4096).decode(), server.recv(4096).decode()
    name, _, value = first.removesuffix("|g").partition(":")
    assert name == "jqueuer.agent.seen.node_example_org"
    assert before <= float(value) <= time.time()
    assert last == "jqueuer.agent.seen.node_example_org:0|g"


def test_without_a_host_nothing_is_sent() -> None:
    StatsdEvents("", 8125).finished(CLAIM, ATTEMPT)


def test_a_host_that_nobody_knows_is_told_nothing_and_stops_nobody() -> None:
    events = StatsdEvents("statsd.invalid", 8125)
    events.started(CLAIM)
    events.finished(CLAIM, ATTEMPT)
