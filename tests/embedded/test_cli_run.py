"""``jqueuer run`` and ``jqueuer serve`` as a person starts them: processes with their own state directory."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import pytest

Start = Callable[..., "subprocess.Popen[str]"]
Wait = Callable[..., None]

FIELDS = {
    *("experiment_id", "state", "jobs", "attempts", "killed", "deadline_seconds", "finished_seconds", "deadline_met"),
    *("container_seconds", "job_seconds", "peak_containers", "scale_ups", "scale_downs", "results"),
}


def description(jobs: int, seconds: float, *, deadline: str = "10m", name: str = "sweep") -> str:
    """Every job leaves a line in ``trace``, outside of everything of ours."""
    return f"""
name: {name}
deadline: {deadline}
containers: {{max: 2}}
policy: {{name: fixed, containers: 2}}
on_failure: {{action: cancel}}
sweep:
  parameters: {{n: {{from: 1, to: {jobs}, step: 1}}}}
  job:
    id: "n{{{{n}}}}"
    command: {{shell: "sleep {seconds}; echo n{{{{n}}}} >> $TRACE; echo {{{{n}}}} > out.txt"}}
    outputs: [out.txt]
post:
  command: {{shell: "cat outputs/*/out.txt > all.txt"}}
  outputs: [all.txt]
"""


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start the command line in the test's folder; whatever is left is killed at the end."""
    started: list[subprocess.Popen[str]] = []

    def run(*arguments: str) -> subprocess.Popen[str]:
        program = "from jqueuer.cli import main; main()"
        quick = {"JQUEUER_CONTROL_SECONDS": "100ms", "JQUEUER_UPDATER_SECONDS": "50ms"}
        process = subprocess.Popen(
            [sys.executable, "-c", program, *arguments],
            cwd=tmp_path,
            env={**os.environ, **quick, "TRACE": str(tmp_path / "trace")},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield run
    for process in started:
        process.kill()
        process.communicate()


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    stdout, stderr = process.communicate(timeout=60)
    return process.returncode, stdout, stderr


def traced(tmp_path: Path) -> list[str]:
    trace = tmp_path / "trace"
    return trace.read_text().split() if trace.exists() else []


def processes_of(tmp_path: Path) -> list[str]:
    """Command lines of the processes that remember something below this folder."""
    found = []
    for environment in Path("/proc").glob("[0-9]*/environ"):
        try:
            if f"JQUEUER_EMBEDDED_IN={tmp_path}".encode() in environment.read_bytes():
                found.append((environment.parent / "cmdline").read_text().replace("\0", " "))
        except OSError:
            continue
    return found


def answer(stream: IO[str] | None) -> dict[str, Any]:
    assert stream is not None
    line: dict[str, Any] = json.loads(stream.readline())
    return line


def test_run_ends_with_a_summary_the_outputs_and_nothing_running(start: Start, tmp_path: Path) -> None:
    (tmp_path / "sweep.yaml").write_text(description(6, 0.1))
    code, stdout, stderr = ended(start("run", "sweep.yaml", "--json"))
    assert code == 0, stderr
    summary = json.loads(stdout.splitlines()[-1])
    assert summary.keys() >= FIELDS
    assert summary["jobs"] == {"total": 6, "accomplished": 6, "failed": 0, "cancelled": 0}
    assert (summary["state"], summary["attempts"], summary["deadline_met"]) == ("accomplished", 6, True)
    results = summary["results"]
    assert results["directory"] == f"results/{summary['experiment_id']}"
    assert results["files"] == 7
    assert (tmp_path / results["directory"] / "jobs" / "n4" / "out.txt").read_text() == "4\n"
    assert (tmp_path / results["post"][0]).read_text() == "1\n2\n3\n4\n5\n6\n"
    assert processes_of(tmp_path) == []


def test_after_an_interruption_the_same_command_goes_on_and_repeats_nothing(
    start: Start, tmp_path: Path, eventually: Wait
) -> None:
    (tmp_path / "sweep.yaml").write_text(description(12, 0.3))
    first = start("run", "sweep.yaml")
    eventually(lambda: len(traced(tmp_path)) >= 3)
    first.send_signal(signal.SIGINT)
    code, stdout, stderr = ended(first)
    assert (code, stdout) == (130, "")
    assert "the same command goes on" in stderr
    assert processes_of(tmp_path) == []
    done = len(traced(tmp_path))
    assert done < 12

    code, stdout, stderr = ended(start("run", "sweep.yaml"))
    assert code == 0, stderr
    assert "going on where it stopped" in stderr
    assert "12: 12 accomplished" in stdout
    assert "0 lost with their container" in stdout
    assert sorted(traced(tmp_path)) == sorted(f"n{number}" for number in range(1, 13))


def test_a_second_interruption_ends_the_running_jobs(start: Start, tmp_path: Path, eventually: Wait) -> None:
    (tmp_path / "sweep.yaml").write_text(description(2, 600.0))
    process = start("run", "sweep.yaml")
    assert process.stderr is not None
    while "2 running" not in (line := process.stderr.readline()):
        assert line, "ended before its jobs ran"
    process.send_signal(signal.SIGINT)
    while "leaving" not in process.stderr.readline():
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    code, _, stderr = ended(process)
    assert code == 130
    assert "they run again next time" in stderr
    assert processes_of(tmp_path) == []


def test_killed_it_leaves_nothing_running_and_waits_until_its_file_is_run_again(
    start: Start, tmp_path: Path, eventually: Wait
) -> None:
    (tmp_path / "first.yaml").write_text(description(10, 0.3, name="first"))
    (tmp_path / "second.yaml").write_text(description(1, 0.0, name="second"))
    first = start("run", "first.yaml")
    eventually(lambda: len(traced(tmp_path)) >= 2)
    first.kill()
    first.wait()

    code, _, stderr = ended(start("run", "second.yaml"))
    assert code == 0
    assert "first.yaml) is unfinished; paused" in stderr

    code, stdout, stderr = ended(start("run", "first.yaml", "--json"))
    summary = json.loads(stdout)
    assert (code, summary["jobs"]["accomplished"]) == (0, 10), stderr
    assert set(traced(tmp_path)) == {f"n{number}" for number in range(1, 11)}
    assert summary["attempts"] <= 14, "only what was running may have run again"
    assert processes_of(tmp_path) == []


def test_a_missed_deadline_is_told_and_what_has_ended_starts_anew(start: Start, tmp_path: Path) -> None:
    (tmp_path / "sweep.yaml").write_text(description(1, 0.3, deadline="200ms"))
    code, stdout, stderr = ended(start("run", "sweep.yaml"))
    assert (code, "notice: the deadline was missed" in stderr) == (0, True)
    assert "missed: finished after" in stdout
    assert ended(start("run", "sweep.yaml", "--strict-deadline"))[0] == 4
    assert traced(tmp_path) == ["n1", "n1"]


def test_serve_answers_until_it_is_told_to_stop_and_holds_its_directory(start: Start, tmp_path: Path) -> None:
    (tmp_path / "sweep.yaml").write_text(description(2, 0.0))
    served = start("serve", "--port", "0", "--json")
    told = answer(served.stdout)
    url = told["url"]
    assert Path(told["token_file"]) == tmp_path / ".jqueuer" / "token"
    code, _, stderr = ended(start("run", "sweep.yaml"))
    assert code == 3
    assert "is in use by process" in stderr
    assert "Traceback" not in stderr
    code, stdout, stderr = ended(start("submit", "sweep.yaml", "--wait", "--url", url))
    assert code == 0, stderr
    assert "2: 2 accomplished" in stdout
    served.send_signal(signal.SIGTERM)
    assert ended(served)[0] == 0
    assert processes_of(tmp_path) == []


def test_what_ended_while_the_command_was_leaving_is_delivered_not_repeated(
    start: Start, tmp_path: Path, eventually: Wait
) -> None:
    """Without a post command the running jobs are the last of the experiment: it ends during the farewell."""
    (tmp_path / "one.yaml").write_text(
        "jobs: [{id: a, command: {shell: 'echo a >> $TRACE; sleep 2; echo x > o'}, outputs: [o]}]\n"
    )
    process = start("run", "one.yaml")
    eventually(lambda: traced(tmp_path) == ["a"])
    process.send_signal(signal.SIGINT)
    assert ended(process)[0] == 130
    code, stdout, stderr = ended(start("run", "one.yaml"))
    assert code == 0, stderr
    assert traced(tmp_path) == ["a"]
    assert "1: 1 accomplished" in stdout
    assert [path.read_text() for path in (tmp_path / "results").glob("*/jobs/a/o")] == ["x\n"]
    assert ended(start("run", "one.yaml"))[0] == 0
    assert traced(tmp_path) == ["a", "a"], "what was delivered starts anew"


def test_a_failed_experiment_names_its_failed_jobs_and_why(start: Start, tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text(
        "deadline: 1h\non_failure: {action: cancel}\njobs: [{id: typo, command: [no-such-program]}]\n"
    )
    code, stdout, stderr = ended(start("run", "bad.yaml"))
    assert code == 1
    assert "failed: typo: task 1: command not found: 'no-such-program'" in stderr
    assert "failed after" in stdout
    assert "missed" not in stdout + stderr


def test_what_cannot_be_started_is_said_in_words_before_anything_runs(start: Start, tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text("jobs: [{id: a, command: {shell: 'echo a >> $TRACE'}}]\n")
    (tmp_path / "file").write_text("in the way")
    for option in ("--state", "--results"):
        code, _, stderr = ended(start("run", "one.yaml", option, "file/below"))
        assert code == 3
        assert "Traceback" not in stderr
        assert "file/below" in stderr
    assert traced(tmp_path) == []
