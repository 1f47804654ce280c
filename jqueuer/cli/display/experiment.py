"""The picture of one experiment: is it going to make it, and what went wrong."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import Any, Final

from rich.cells import cell_len
from rich.console import RenderableType
from rich.text import Text

from jqueuer.cli.display.bars import bar, container_parts, job_parts, legend, track
from jqueuer.cli.display.frame import Section, content_width, cut, framed
from jqueuer.cli.display.looks import Failure, Look
from jqueuer.cli.display.words import STATE_STYLES, chances, end_forecast, one_line, time_left, verdict
from jqueuer.cli.output import counted, duration

_REASON_LINES: Final = 3
_MAX_BAR: Final = 96
"""Longer bars say no more."""


def experiment_picture(
    look: Look, now: float, width: int, *, hint: str = "", failures: int | None = None, spaced: bool = False
) -> RenderableType:
    """Everything about the experiment at this moment, in so many columns; of its failures only so many."""
    experiment, inner = look.experiment, content_width(width)
    sections = [
        Section("jobs", _jobs(experiment, inner)),
        Section("time", _time(experiment, now, inner)),
        Section("containers", _containers(look, inner)),
        Section("waits for", _remarks(experiment)),
        Section("decision", _decision(look.decision, now, inner)),
        Section("failures", failure_lines(look.failures[:failures], now, inner)),
        Section("manager", [Text(one_line(look.trouble), "yellow")] if look.trouble else []),
        Section("", [Text(hint, "dim")] if hint else []),
    ]
    return framed(_head(experiment), sections, width, spaced=spaced)


def failure_lines(failures: Sequence[Failure], now: float, width: int) -> list[Text]:
    """Each failed attempt with its last words."""
    lines = []
    for failure in failures:
        name, reason = f"{one_line(failure.job)} · attempt {failure.attempt} · ", one_line(failure.reason)
        ago = f" · {duration(max(0.0, now - failure.ended_at))} ago"
        head = Text.assemble(("✗ ", "red"), name, (one_line(failure.how), "red"), (ago, "dim"), overflow="fold")
        if reason and head.cell_len + len(" · ") + cell_len(reason) <= width:
            head.append(f" · {reason}")
            reason = ""
        lines.append(head)
        if reason:
            lines.append(Text("  " + cut(reason, width - 2)))
        lines += [Text(cut(f"  │ {words}", width), "dim", no_wrap=True) for words in failure.words]
    return lines


def _head(experiment: dict[str, Any]) -> Text:
    state = experiment["state"]
    rest = [one_line(experiment["id"])]
    if experiment["owner"]:
        rest.append(f"of {one_line(experiment['owner'])}")
    style = f"bold {STATE_STYLES.get(state, '')}".rstrip()
    name = one_line(experiment["name"])
    return Text.assemble((name, "bold"), "  ", (state, style), "  ", (" · ".join(rest), "dim"), overflow="fold")


def _jobs(experiment: dict[str, Any], width: int) -> list[Text]:
    jobs, parts = experiment["jobs"], job_parts(experiment["jobs"])
    ended = jobs["accomplished"] + jobs["failed"] + jobs["cancelled"]
    done = f" {int(100 * ended / jobs['total']) if jobs['total'] else 0:>3} %"
    drawn = bar(parts, min(width, _MAX_BAR) - len(done))
    return [drawn.append(done, "bold"), *legend(parts, width, last=f"of {jobs['total']}")]


def _time(experiment: dict[str, Any], now: float, width: int) -> list[Text]:
    created, deadline, finished = (experiment[name] for name in ("created_at", "deadline_at", "finished_at"))
    forecast = experiment["forecast"]
    said = verdict(experiment, now)
    until = now if finished is None else finished
    passed = f" {duration(until - created)}"
    lines = []
    if deadline is not None or forecast is not None:
        band = None if forecast is None else (forecast["finish_at"], forecast["p95_at"])
        drawn = track(
            *(created, until, min(width, _MAX_BAR) - max(6, len(passed))),
            band=band,
            deadline=deadline,
            style=said.style,
        )
        lines.append(drawn.append(passed.rjust(6), "bold"))
        passed = ""
    left = "" if finished is not None else time_left(experiment, now)
    running = passed and f"running for{passed}"
    lines.append(_joined(Text(said.word, f"bold {said.style}"), chances(experiment), left, running))
    if ends := end_forecast(experiment, now):
        lines.append(Text(ends))
    return lines


def _containers(look: Look, width: int) -> list[Text]:
    found, parts = look.experiment["containers"], container_parts(look.experiment["containers"])
    wanted = "" if found["wanted"] is None else f"{found['wanted']} wanted"
    numbers = _joined(wanted, f"{found['requested']} requested", f"{found['minimum']} to {found['maximum']} allowed")
    observed = sum(part.amount for part in parts)
    if not observed:
        return [numbers]
    drawn = Text.assemble(bar(parts, min(observed, width // 2)), "  ")
    drawn.append_text(Text(", ").join(Text(f"{part.amount} {part.name}", part.style) for part in parts if part.amount))
    on = ", ".join(f"{count} on {one_line(node)}" for node, count in sorted(look.busy_on.items()))
    return [numbers, drawn.append(f"  jobs: {on}" if on else "", "dim")]


def _remarks(experiment: dict[str, Any]) -> list[Text]:
    """What keeps it waiting, each thing once."""
    containers = experiment["containers"]
    found = (experiment["problem"], experiment["waits_for"], containers["waiting"], containers["note"])
    return [Text(one_line(words), "yellow") for words in dict.fromkeys(found) if words]


def _decision(decision: dict[str, Any] | None, now: float, width: int) -> list[Text]:
    if decision is None:
        return []
    number = "" if decision["containers"] is None else counted(decision["containers"], "container")
    ago = f"{duration(max(0.0, now - decision['at']))} ago"
    reason = wrap(one_line(decision["reason"]), width, max_lines=_REASON_LINES, placeholder=" …")
    return [_joined(Text(one_line(decision["action"]), "bold"), number, ago), *map(Text, reason)]


def _joined(*parts: Text | str) -> Text:
    return Text(" · ", "").join(part if isinstance(part, Text) else Text(part) for part in parts if part)
