"""A line or two per experiment: how far it is, whether it makes it, what it waits for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.text import Text

from jqueuer.cli.display.bars import bar, job_parts
from jqueuer.cli.display.frame import cut
from jqueuer.cli.display.words import PLAIN, STATE_STYLES, UNSURE, one_line, verdict
from jqueuer.cli.output import duration, percent

_COLUMNS = (("outlook", 17), ("deadline", 9), ("ends in", 9), ("cont.", 5))
_MAX_BAR = 60
_ROWS = 76
"""Below this width there is no room for a table."""


def experiment_rows(experiments: Sequence[dict[str, Any]], now: float, width: int) -> list[Text]:
    """A heading and a row for each, or a few short lines for each where that is too wide."""
    if not experiments:
        return []
    if width < _ROWS:
        return [line for experiment in experiments for line in _block(experiment, now, width)]
    name_width = min(
        max(len("experiment"), *(len(one["id"]) for one in experiments)), width // (4 if width >= 100 else 5)
    )
    names = " ".join(f"{name:>{size}}" if place else f" {name:<{size}}" for place, (name, size) in enumerate(_COLUMNS))
    lines = [Text(f"{'experiment':<{name_width}} {names}  jobs", "dim")]
    for experiment in experiments:
        lines += _row(experiment, now, name_width, width)
    return lines


def _row(experiment: dict[str, Any], now: float, name_width: int, width: int) -> list[Text]:
    name, lines = one_line(experiment["id"]), []
    if len(name) > name_width:
        lines.append(Text(name, "bold", overflow="fold"))
        name = ""
    outlook, style = _outlook(experiment, now)
    row = Text.assemble((name.ljust(name_width), "bold"), "  ", (outlook.ljust(_COLUMNS[0][1]), style))
    for value, (_, size) in zip(
        (_left(experiment, now), _ends_in(experiment, now), _containers(experiment)), _COLUMNS[1:], strict=True
    ):
        row.append(f" {value:>{size}}")
    done = _done(experiment["jobs"])
    row.append("  ").append_text(
        bar(job_parts(experiment["jobs"]), min(_MAX_BAR, width - row.cell_len - 2 - len(done)))
    )
    lines.append(row.append(done))
    return lines + _waits(experiment, width)


def _block(experiment: dict[str, Any], now: float, width: int) -> list[Text]:
    outlook, style = _outlook(experiment, now)
    done = _done(experiment["jobs"])
    facts = [
        f"deadline {left}" if (left := _left(experiment, now)) else "",
        f"ends in {ends}" if (ends := _ends_in(experiment, now)) else "",
    ]
    facts.append(f"{found} containers" if (found := _containers(experiment)) else "")
    lines = [
        Text.assemble((one_line(experiment["id"]), "bold"), "  ", (outlook, style), overflow="fold"),
        Text("  ").append_text(bar(job_parts(experiment["jobs"]), width - 2 - len(done))).append(done),
    ]
    if any(facts):
        lines.append(Text("  " + ", ".join(fact for fact in facts if fact)))
    return lines + _waits(experiment, width)


def _outlook(experiment: dict[str, Any], now: float) -> tuple[str, str]:
    """The verdict and the probability where it runs its jobs, else what it does."""
    if experiment["state"] != "running":
        return experiment["state"], STATE_STYLES.get(experiment["state"], PLAIN)
    said, forecast = verdict(experiment, now), experiment.get("forecast")
    if not forecast and experiment.get("waits_for"):
        return "waits", UNSURE
    if not forecast or forecast["probability"] is None or said.word == "late":
        return said
    return f"{said.word} {percent(forecast['probability'])}", said.style


def _left(experiment: dict[str, Any], now: float) -> str:
    deadline = experiment["deadline_at"]
    return "" if deadline is None else duration(deadline - now)


def _ends_in(experiment: dict[str, Any], now: float) -> str:
    forecast = experiment.get("forecast")
    return duration(max(0.0, forecast["finish_at"] - now)) if forecast else ""


def _containers(experiment: dict[str, Any]) -> str:
    """Those that run, of those that may."""
    found = experiment.get("containers")
    return f"{found['running']}/{found['maximum']}" if found else ""


def _done(jobs: dict[str, int]) -> str:
    ended = jobs["accomplished"] + jobs["failed"] + jobs["cancelled"]
    return f" {int(100 * ended / jobs['total']) if jobs['total'] else 0:>3} %"


def _waits(experiment: dict[str, Any], width: int) -> list[Text]:
    words = experiment.get("waits_for") or experiment.get("problem") or ""
    return [Text(cut(f"  waits for: {one_line(words)}", 2 * width), "yellow")] if words else []
