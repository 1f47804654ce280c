"""Whether it is going to make it, in words; how an attempt failed, in words."""

from __future__ import annotations

import signal
from datetime import datetime
from typing import Any, Final, NamedTuple

from jqueuer.cli.output import duration, percent, visible

ON_TIME_PROBABILITY: Final = 0.8
"""Below it a deadline is at risk, as the alert for Prometheus has it."""
LATE_PROBABILITY: Final = 0.5
GOOD, UNSURE, BAD, PLAIN = "green", "yellow", "red", "bold"

STATE_STYLES: Final = {
    "running": "cyan",
    "paused": "yellow",
    "finishing": "cyan",
    "accomplished": "green",
    "failed": "red",
    "cancelled": "yellow",
}


class Verdict(NamedTuple):
    """Whether a deadline will be kept."""

    word: str
    style: str


def verdict(experiment: dict[str, Any], now: float) -> Verdict:
    """``on time``, ``at risk``, ``will be late``, ``no deadline`` …: of the list or of the detail."""
    deadline, forecast = experiment["deadline_at"], experiment.get("forecast")
    if experiment["finished_at"] is not None:
        return _outcome(experiment)
    if deadline is None:
        return Verdict("no deadline", PLAIN)
    if now > deadline:
        return Verdict("late", BAD)
    if forecast is None or forecast.get("probability") is None:
        return Verdict("no forecast", PLAIN)
    if forecast["probability"] >= ON_TIME_PROBABILITY:
        return Verdict("on time", GOOD)
    return Verdict("at risk", UNSURE) if forecast["probability"] >= LATE_PROBABILITY else Verdict("will be late", BAD)


def _outcome(experiment: dict[str, Any]) -> Verdict:
    deadline = experiment["deadline_at"]
    if experiment["state"] != "accomplished":
        return Verdict(experiment["state"], STATE_STYLES.get(experiment["state"], PLAIN))
    if deadline is None:
        return Verdict("done", GOOD)
    return Verdict("made it", GOOD) if experiment["finished_at"] <= deadline else Verdict("too late", BAD)


def chances(experiment: dict[str, Any]) -> str:
    """The probability of the deadline; empty where there is none."""
    forecast = experiment.get("forecast") or {}
    probability = forecast.get("probability")
    return "" if probability is None else f"{percent(probability)} to make it"


def end_forecast(experiment: dict[str, Any], now: float) -> str:
    """When the last job will end, between P50 and P95; empty where nobody knows."""
    forecast = experiment.get("forecast")
    if not forecast:
        return ""
    p50, p95 = (duration(max(0.0, forecast[name] - now)) for name in ("finish_at", "p95_at"))
    return f"ends in {p50} (P50) to {p95} (P95)"


def time_left(experiment: dict[str, Any], now: float) -> str:
    """How long it is until the deadline; empty without one."""
    deadline = experiment["deadline_at"]
    if deadline is None:
        return ""
    left = deadline - now
    when = clock(deadline, now)
    return f"deadline in {duration(left)}, at {when}" if left >= 0 else f"deadline was {duration(-left)} ago, at {when}"


def clock(at: float, now: float) -> str:
    """A moment by this machine's clock and time zone, with its day where that is another than today's."""
    moment, today = (datetime.fromtimestamp(one).astimezone() for one in (at, now))
    return moment.strftime("%H:%M:%S" if moment.date() == today.date() else "%Y-%m-%d %H:%M")


def how_it_failed(attempt: dict[str, Any]) -> str:
    """``exit code 3``, ``signal 9 (SIGKILL)``, ``timed-out``: the shortest that says it."""
    if attempt["outcome"] not in ("failed", None):
        return str(attempt["outcome"])
    number = next((one["signal"] for one in reversed(attempt["commands"]) if one["signal"]), None)
    if number is not None:
        return _signal(number)
    return "failed" if attempt["exit_code"] is None else f"exit code {attempt['exit_code']}"


def _signal(number: int) -> str:
    try:
        return f"signal {number} ({signal.Signals(number).name})"
    except ValueError:
        return f"signal {number}"


def one_line(text: str) -> str:
    """Somebody's words on one line, without anything that would steer a terminal."""
    return " ".join(visible(text).split())


def last_lines(text: str, count: int) -> tuple[str, ...]:
    """The last lines that have something on them; of one that was written over, what it became."""
    written = (line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    return tuple(found for line in written if (found := visible(line.expandtabs(4)).rstrip()))[-count:]
