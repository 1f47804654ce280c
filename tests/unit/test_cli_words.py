"""What the command line says about progress and outcomes, without a manager."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from jqueuer.cli import app, output
from jqueuer.cli.exits import Exit, exit_code, explain_error, fault_lines
from jqueuer.cli.output import duration, percent, size
from jqueuer.cli.progress import Lines, line_of
from jqueuer.cli.report import tell_summary
from jqueuer.client import ClientError
from jqueuer.errors import ConflictError, Fault, SettingsError

EXPERIMENT: dict[str, Any] = {
    "name": "sweep",
    "state": "running",
    "problem": "",
    "jobs": {"total": 20, "queued": 12, "running": 2, "accomplished": 5, "failed": 1, "cancelled": 0},
    "containers": {"maximum": 4, "requested": 3, "starting": 1, "running": 3, "busy": 2, "draining": 0},
    "deadline_at": 1090.0,
    "seconds_left": 75.0,
    "forecast": {
        "finish_at": 1060.0,
        "p80_at": 1075.0,
        "p95_at": 1085.0,
        "probability": 0.979,
        "containers": 3,
        "basis": "…",
    },
}
SUMMARY: dict[str, Any] = {
    "experiment_id": "sweep-1",
    "state": "accomplished",
    "jobs": {"total": 20, "accomplished": 20, "failed": 0, "cancelled": 0},
    "attempts": 21,
    "killed": 1,
    "deadline_seconds": 90.0,
    "finished_seconds": 71.2,
    "deadline_met": True,
    "container_seconds": 130.0,
    "job_seconds": 101.5,
    "peak_containers": 3,
    "scale_ups": 2,
    "scale_downs": 1,
}


def changed(document: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {**copy.deepcopy(document), **changes}


def test_one_line_says_state_jobs_containers_time_and_forecast() -> None:
    assert line_of(EXPERIMENT, 1015.0) == (
        "running · 5/20 jobs (2 running, 1 failed) · containers 3 requested of 4: 2 busy, 1 idle, 1 starting"
        " · 1m15s left, forecast: ends in 45s (P95 1m10s), 97 % in time"
    )


def test_after_the_deadline_the_line_says_so() -> None:
    late = changed(EXPERIMENT, seconds_left=-5.0, forecast={**EXPERIMENT["forecast"], "probability": 0.0})
    assert line_of(late, 1095.0).endswith("5.0s after the deadline, forecast: ends in 0.0s (P95 0.0s), 0 % in time")


def test_without_a_deadline_there_is_no_probability() -> None:
    endless = changed(EXPERIMENT, seconds_left=None, forecast={**EXPERIMENT["forecast"], "probability": None})
    assert line_of(endless, 1015.0).endswith("1 starting · forecast: ends in 45s (P95 1m10s)")


@pytest.mark.parametrize(("probability", "text"), [(0.0, "0 %"), (0.29, "29 %"), (0.999, "99 %"), (1.0, "100 %")])
def test_probabilities_are_never_rounded_up(probability: float, text: str) -> None:
    assert percent(probability) == text


def test_without_deadline_and_forecast_the_line_says_nothing_of_time() -> None:
    line = line_of(changed(EXPERIMENT, seconds_left=None, deadline_at=None, forecast=None), 0.0)
    assert line.endswith("1 starting")


def test_a_problem_stands_at_the_end_of_the_line() -> None:
    assert line_of(changed(EXPERIMENT, problem="no such image"), 1015.0).endswith(" · no such image")


def test_lines_come_per_change_and_not_more_often_than_every_two_seconds() -> None:
    written: list[str] = []
    now = 0.0
    lines = Lines(written.append, lambda: now)

    def look(at: float, **changes: Any) -> int:
        nonlocal now
        now = at
        lines(changed(EXPERIMENT, **changes))
        return len(written)

    more = {**EXPERIMENT["jobs"], "accomplished": 6}
    assert look(0.0) == 1
    assert look(10.0) == 1, "nothing changed"
    assert look(10.5, jobs=more) == 2
    assert look(11.0, jobs={**more, "accomplished": 7}) == 2, "too soon"
    assert look(12.6, jobs={**more, "accomplished": 7}) == 3
    assert look(12.7, jobs={**more, "accomplished": 7}, state="finishing") == 4, "a new state is said at once"


def test_a_manager_that_does_not_answer_is_said_once_and_so_is_its_return() -> None:
    written: list[str] = []
    lines = Lines(written.append, lambda: 0.0, lambda: 1015.0)
    for trouble in ("", "no answer", "no answer", ""):
        lines(EXPERIMENT, trouble)
    assert written[1] == "no answer; trying again"
    assert [written[0], len(written)] == [written[2], 3]


def test_the_summary_names_everything_that_matters(capsys: pytest.CaptureFixture[str]) -> None:
    results = {"directory": "results/sweep-1", "files": 22, "post": ["results/sweep-1/post/picture.png"]}
    tell_summary(changed(SUMMARY, results=results), name="sweep")
    assert capsys.readouterr().out.splitlines() == [
        "accomplished  sweep  sweep-1",
        "  jobs         20: 20 accomplished, 0 failed, 0 cancelled",
        "  attempts     21, of which 1 lost with their container",
        "  deadline     met: finished after 1m11s, 19s early (deadline 1m30s)",
        "  containers   at most 3 at once, 2 × scaled up, 1 × scaled down",
        "  paid         2m10s of containers for 1m42s of jobs",
        "  results      results/sweep-1 (22 files)",
        "               results/sweep-1/post/picture.png",
    ]


def test_a_missed_deadline_is_noticed_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    tell_summary(changed(SUMMARY, deadline_met=False, finished_seconds=95.0))
    printed = capsys.readouterr()
    assert "missed: finished after 1m35s, 5.0s late (deadline 1m30s)" in printed.out
    assert printed.err == "notice: the deadline was missed\n"


@pytest.mark.parametrize(
    ("state", "met", "strict", "code"),
    [
        ("accomplished", True, True, Exit.OK),
        ("accomplished", None, True, Exit.OK),
        ("accomplished", False, False, Exit.OK),
        ("accomplished", False, True, Exit.LATE),
        ("failed", False, True, Exit.NOT_ACCOMPLISHED),
        ("cancelled", None, False, Exit.NOT_ACCOMPLISHED),
    ],
)
def test_the_exit_code_follows_the_outcome(state: str, met: bool | None, strict: bool, code: Exit) -> None:
    summary = changed(SUMMARY, state=state, deadline_met=met)
    assert exit_code(summary, strict_deadline=strict) is code


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (ClientError("no such experiment", status=404), Exit.REFUSED, "no such experiment\n"),
        (ClientError("2 faults", faults=(Fault("a", "x", 3), Fault("b", "y"))), Exit.WRONG, "line 3: a: x\nb: y\n"),
        (ConflictError("in use"), Exit.REFUSED, "in use\n"),
        (SettingsError("wrong settings: JQUEUER_PORT"), Exit.WRONG, "wrong settings: JQUEUER_PORT\n"),
    ],
)
def test_errors_are_words_on_stderr_and_an_exit_code(
    error: Exception, code: Exit, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert explain_error(error) is code  # type: ignore[arg-type]
    assert capsys.readouterr().err == words


@pytest.mark.parametrize(
    "url",
    ["localhost:8081", "127.0.0.1:8081", "manager", "ftp://manager", "http://", "http://manager:eight", "http://["],
)
def test_a_managers_url_that_is_none_is_answered_with_what_is_expected(url: str) -> None:
    ended = CliRunner(env={"JQUEUER_URL": url}).invoke(app, ["list"], prog_name="jqueuer")
    assert ended.exit_code == Exit.WRONG
    assert ended.stderr == (
        f"the manager's URL (--url, JQUEUER_URL) is '{url}': "
        "expected http:// or https://, then host and port, as in http://127.0.0.1:8081\n"
    )


def test_faults_are_written_like_a_compilers() -> None:
    faults = (Fault("jobs[0].id", "wrong", 4), Fault("", "empty"), Fault("deadline", "no line known"))
    assert fault_lines(Path("a.yaml"), faults) == [
        "a.yaml:4: jobs[0].id: wrong",
        "a.yaml: empty",
        "a.yaml: deadline: no line known",
    ]


@pytest.mark.parametrize(
    ("seconds", "text"), [(None, "–"), (0.0, "0.0s"), (9.94, "9.9s"), (9.96, "10s"), (90.4, "1m30s"), (-61, "-1m1s")]
)
def test_durations_are_rounded_for_people(seconds: float | None, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (3 * 1024**3, "3.0 GiB"), (2**50, "1048576.0 GiB")],
)
def test_sizes_have_a_fitting_unit(size_bytes: int, text: str) -> None:
    assert size(size_bytes) == text


def test_json_away_from_a_terminal_is_one_line_and_user_text_is_not_markup(capsys: pytest.CaptureFixture[str]) -> None:
    output.tell_json({"name": "[bold]é"})
    output.tell("[bold]x[/bold] " + "y" * 200)
    output.tell_table(("a", "b"), [("[red]", "z" * 150)])
    printed = capsys.readouterr().out.splitlines()
    assert json.loads(printed[0]) == {"name": "[bold]é"}
    assert printed[1] == "[bold]x[/bold] " + "y" * 200
    assert printed[3] == "[red]  " + "z" * 150
