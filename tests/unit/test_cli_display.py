"""What is drawn of an experiment, as text, on terminals of several widths and abilities."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console, RenderableType

from jqueuer.cli.display.experiment import experiment_picture, failure_lines
from jqueuer.cli.display.looks import Failure, Look
from jqueuer.cli.display.words import clock, how_it_failed, last_lines, verdict
from jqueuer.cli.live import can_draw, drawable, fitting

NOW = 1_000_020.0
EXPERIMENT: dict[str, Any] = {
    "id": "sweep-7k2m9x",
    "name": "sweep",
    "owner": "alice",
    "state": "running",
    "created_at": NOW - 20.0,
    "deadline_at": NOW + 40.0,
    "finished_at": None,
    "jobs": {"total": 120, "queued": 54, "running": 2, "accomplished": 59, "failed": 5, "cancelled": 0},
    "containers": {
        "minimum": 1,
        "maximum": 4,
        "wanted": 3,
        "requested": 3,
        "starting": 1,
        "running": 2,
        "busy": 2,
        "draining": 0,
        "waiting": "",
        "problem": "",
        "note": "",
    },
    "forecast": {"finish_at": NOW + 20.0, "p80_at": NOW + 24.0, "p95_at": NOW + 28.0, "probability": 0.979},
    "problem": "",
    "waits_for": "",
}
FAILURE = Failure(
    job="n52",
    attempt=2,
    ended_at=NOW - 1.4,
    how="exit code 3",
    reason="task 1 ended with status 3",
    words=("Traceback (most recent call last):", "ValueError: " + "cannot converge, " * 8),
)
LOOK = Look(
    EXPERIMENT,
    decision={
        "at": NOW - 6.0,
        "action": "hold",
        "containers": 3,
        "reason": "118 jobs of about 0.6 s: " + "words " * 99,
    },
    failures=(FAILURE,),
    busy_on={"node-2": 1, "node-1": 1},
)


def changed(**changes: Any) -> Look:
    return replace(LOOK, experiment={**EXPERIMENT, **changes})


def printed(picture: RenderableType, width: int = 80, encoding: str = "utf-8", **options: Any) -> str:
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    console = Console(file=file, width=width, highlight=False, **options)
    console.print(drawable(console, picture))
    file.flush()
    return file.buffer.getvalue().decode(encoding)  # type: ignore[attr-defined] # it is a BytesIO


def lines_of(look: Look, width: int = 80, **options: Any) -> list[str]:
    return [line.rstrip() for line in printed(experiment_picture(look, NOW, width), width, **options).splitlines()]


def test_everything_about_an_experiment_is_in_one_picture() -> None:
    drawn = lines_of(LOOK)
    assert drawn[:8] == [
        "sweep  running  sweep-7k2m9x · of alice",
        "jobs        " + "█" * 30 + "▓" + "✗" * 3 + "░" * 28 + "  53 %",
        "            █ 59 accomplished  ▓ 2 running  ✗ 5 failed  ░ 54 queued  of 120",
        "time        " + "━" * 21 + "─" * 20 + "▒" * 9 + "─" * 11 + "┃   20s",
        f"            on time · 97 % to make it · deadline in 40s, at {clock(NOW + 40, NOW)}",
        "            ends in 20s (P50) to 28s (P95)",
        "containers  3 wanted · 3 requested · 1 to 4 allowed",
        "            ■■◌  2 busy, 1 starting  jobs: 1 on node-1, 1 on node-2",
    ]
    assert drawn[8] == "decision    hold · 3 containers · 6.0s ago"
    assert drawn[9].startswith("            118 jobs of about 0.6 s: words words")
    assert drawn[11].endswith("…"), "long reasons are cut after the third line"
    assert drawn[12:] == [
        "failures    ✗ n52 · attempt 2 · exit code 3 · 1.4s ago",
        "              task 1 ended with status 3",
        "              │ Traceback (most recent call last):",
        "              │ ValueError: cannot converge, cannot converge, cannot converge,…",
    ]


@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
def test_nothing_is_wider_than_the_terminal_and_nothing_is_left_out(width: int) -> None:
    drawn = lines_of(LOOK, width)
    assert max(map(cell_len, drawn)) <= width
    text = " ".join(" ".join(drawn).split())
    for words in ("59 accomplished", "5 failed", "54 queued", "on time", "97 %", "deadline in 40s", "3 requested"):
        assert words in text
    for words in ("2 busy", "1 starting", "1 on node-2", "hold", "n52", "exit code 3", "cannot converge"):
        assert words in text


def test_on_a_narrow_terminal_labels_stand_above() -> None:
    drawn = lines_of(LOOK, 40)
    assert drawn[1:3] == ["jobs", "  " + "█" * 16 + "▓✗" + "░" * 14 + "  53 %"]
    assert drawn[drawn.index("failures") + 1] == "  ✗ n52 · attempt 2 · exit code 3 · 1.4s"


def test_a_wide_terminal_takes_reason_and_exit_code_on_one_line() -> None:
    drawn = lines_of(LOOK, 120)
    assert drawn[-3].endswith("✗ n52 · attempt 2 · exit code 3 · 1.4s ago · task 1 ended with status 3")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_where_there_is_no_unicode_it_is_drawn_in_ascii_in_the_same_places(encoding: str) -> None:
    look = replace(changed(name="Größe 尺寸"), failures=(replace(FAILURE, words=("naïve ✂",)),))
    drawn = lines_of(look, encoding=encoding)
    assert "".join(drawn).isascii()
    assert drawn[0] == "Gr??e ????  running  sweep-7k2m9x - of alice"
    assert drawn[1] == "jobs        " + "#" * 30 + ">" + "xxx" + "." * 28 + "  53 %"
    assert drawn[3] == "time        " + "=" * 21 + "-" * 20 + "~" * 9 + "-" * 11 + "|   20s"
    assert drawn[-1] == "              | na?ve ?"
    assert [len(line) for line in drawn] == [cell_len(line) for line in lines_of(look)]


def test_without_colours_it_is_the_same_text(monkeypatch: pytest.MonkeyPatch) -> None:
    coloured = printed(experiment_picture(LOOK, NOW, 80), force_terminal=True, color_system="standard")
    monkeypatch.setenv("NO_COLOR", "1")
    plain = printed(experiment_picture(LOOK, NOW, 80), force_terminal=True, color_system="standard")
    assert "\x1b[32m" in coloured
    assert "\x1b[32m" not in plain
    assert "\x1b[31m" not in plain


def test_what_others_wrote_steers_no_terminal() -> None:
    evil = "a\x1b[2Jb\r\nc\x07"
    failure = replace(FAILURE, job=evil, how=evil, reason=evil, words=last_lines(evil, 2))
    look = Look(
        {**EXPERIMENT, "name": evil, "problem": evil, "waits_for": "[bold]x[/bold]"},
        decision={"at": NOW, "action": evil, "containers": None, "reason": evil},
        failures=(failure,),
        busy_on={evil: 1},
        trouble=evil,
    )
    text = "\n".join(lines_of(look))
    assert not any(sign in text for sign in ("\x1b", "\r", "\x07"))
    assert "[bold]x[/bold]" in text


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({}, "on time"),
        ({"forecast": {"probability": 0.8}}, "on time"),
        ({"forecast": {"probability": 0.79}}, "at risk"),
        ({"forecast": {"probability": 0.5}}, "at risk"),
        ({"forecast": {"probability": 0.49}}, "will be late"),
        ({"deadline_at": NOW - 1}, "late"),
        ({"deadline_at": None}, "no deadline"),
        ({"forecast": None}, "no forecast"),
        ({"state": "accomplished", "finished_at": NOW + 40}, "made it"),
        ({"state": "accomplished", "finished_at": NOW + 41}, "too late"),
        ({"state": "accomplished", "finished_at": NOW, "deadline_at": None}, "done"),
        ({"state": "failed", "finished_at": NOW}, "failed"),
        ({"state": "cancelled", "finished_at": NOW}, "cancelled"),
    ],
)
def test_whether_it_makes_it_is_said_in_words(changes: dict[str, Any], word: str) -> None:
    assert verdict({**EXPERIMENT, **changes}, NOW).word == word


def test_a_list_item_without_a_forecast_has_a_verdict_too() -> None:
    item = {key: value for key, value in EXPERIMENT.items() if key != "forecast"}
    assert verdict(item, NOW).word == "no forecast"


def test_without_deadline_and_forecast_there_is_no_line_of_time() -> None:
    drawn = lines_of(changed(deadline_at=None, forecast=None))
    assert drawn[3] == "time        no deadline · running for 20s"
    assert drawn[4].startswith("containers")


def test_a_deadline_that_has_passed_stands_where_it_was() -> None:
    forecast = {**EXPERIMENT["forecast"], "finish_at": NOW + 10, "p95_at": NOW + 20, "probability": 0.0}
    drawn = lines_of(changed(deadline_at=NOW - 10, forecast=forecast))
    assert drawn[3].strip("time ") == "━" * 15 + "┃" + "━" * 16 + "─" * 14 + "▒" * 16 + "   20s"
    assert drawn[4].strip().startswith("late · 0 % to make it · deadline was 10s ago, at ")


def test_an_experiment_without_jobs_done_containers_or_decisions_has_a_picture() -> None:
    jobs = {"total": 1, "queued": 1, "running": 0, "accomplished": 0, "failed": 0, "cancelled": 0}
    none = {**EXPERIMENT["containers"], "wanted": None, "requested": 0, "starting": 0, "running": 0, "busy": 0}
    text = "\n".join(lines_of(Look(changed(jobs=jobs, containers=none, waits_for="room on a node").experiment)))
    assert "   0 %" in text
    assert "containers  0 requested · 1 to 4 allowed\nwaits for   room on a node" in text
    assert "decision" not in text


def test_why_it_waits_is_said_once_however_many_say_it() -> None:
    why = "no node has room"
    containers = {**EXPERIMENT["containers"], "waiting": "b goes first", "note": why}
    drawn = lines_of(changed(problem=why, waits_for=why, containers=containers))
    assert drawn[8:10] == ["waits for   no node has room", "            b goes first"]


def test_a_manager_that_does_not_answer_is_named_below_what_was_known() -> None:
    assert lines_of(replace(LOOK, trouble="no answer from it"))[-1] == "manager     no answer from it"


@pytest.mark.parametrize(
    ("attempt", "words"),
    [
        ({"outcome": "failed", "exit_code": 3, "commands": [{"signal": None}]}, "exit code 3"),
        ({"outcome": "failed", "exit_code": None, "commands": [{"signal": 9}]}, "signal 9 (SIGKILL)"),
        ({"outcome": "failed", "exit_code": None, "commands": [{"signal": 99}]}, "signal 99"),
        ({"outcome": "failed", "exit_code": None, "commands": []}, "failed"),
        ({"outcome": "timed-out", "exit_code": None, "commands": [{"signal": 15}]}, "timed-out"),
        ({"outcome": "lost", "exit_code": None, "commands": []}, "lost"),
    ],
)
def test_how_an_attempt_failed_is_said_in_few_words(attempt: dict[str, Any], words: str) -> None:
    assert how_it_failed(attempt) == words


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", ()),
        ("\n \n", ()),
        ("one", ("one",)),
        ("a\nb\nc\n\n", ("b", "c")),
        ("10 %\r50 %\r100 %\ndone\r\n", ("100 %", "done")),
        ("\ta", ("    a",)),
    ],
)
def test_the_last_lines_are_those_with_something_on_them(text: str, lines: tuple[str, ...]) -> None:
    assert last_lines(text, 2) == lines


def test_a_picture_that_is_too_high_gives_way_to_a_lower_one() -> None:
    console = Console(file=io.StringIO(), width=80, height=5, force_terminal=True)
    assert fitting(console, ("a\nb\nc\nd\ne", "a\nb\nc\nd", "a")) == "a\nb\nc\nd"
    assert fitting(console, ("a\n" * 9, "b\n" * 8)) == "b\n" * 8, "the last one, where none fits"


def test_failures_are_drawn_by_themselves_too() -> None:
    lines = [line.plain for line in failure_lines([FAILURE, replace(FAILURE, reason="", words=())], NOW, 80)]
    assert lines[0] == "✗ n52 · attempt 2 · exit code 3 · 1.4s ago · task 1 ended with status 3"
    assert lines[3:] == ["✗ n52 · attempt 2 · exit code 3 · 1.4s ago"]


def test_a_file_is_not_drawn_on_even_with_colours_forced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert not can_draw(Console(file=io.StringIO()))
