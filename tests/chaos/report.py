"""The table of a run, and its last line."""

from __future__ import annotations

import json
from collections.abc import Iterator

from tests.chaos.accounting import Injection
from tests.chaos.running import Result

_NAMES = f"{'':>3}  {'fault':21} {'hit':28} {'jobs':>5}"


def progress(injection: Injection) -> str:
    """A line as soon as it is over."""
    last = f"; last came: {injection.waited_for}" if injection.waited_for else ""
    return f"{_names(injection)}   whole after {_seconds(injection.whole_seconds)} s{last}"


def table(result: Result) -> Iterator[str]:
    """One line per fault; times in seconds since its beginning."""
    yield f"{_NAMES} {'for':>6} {'work on':>8} {'whole':>7} {'in flight':>10} {'allowed':>8} {'lost':>5}"
    for cost in result.account.costs:
        injection = cost.injection
        lasted = _seconds(injection.ended_at - injection.began_at)
        times = f"{lasted:>6} {_seconds(cost.resumed_seconds):>8} {_seconds(injection.whole_seconds):>7}"
        yield f"{_names(injection)} {times} {cost.in_flight:10} {cost.allowed:8} {cost.lost:5}"
    yield "jobs: accomplished before; for: seconds until what was broken or taken was all broken, or given back;"
    yield "work on: until a job was claimed and accomplished after that; whole: until all was there again"
    yield from _complaints(result)


def _names(injection: Injection) -> str:
    fault = injection.fault
    return f"{fault.number:3}  {fault.kind.name:21} {injection.target:28.28} {injection.after_jobs:5}"


def last_line(result: Result, seed: int) -> str:
    """The figures, as one JSON object."""
    found = result.account
    by_kind: dict[str, int] = {}
    for cost in found.costs:
        kind = cost.injection.fault.kind.name
        by_kind[kind] = by_kind.get(kind, 0) + cost.lost
    return json.dumps(
        {
            "chaos": {
                "jobs": found.jobs,
                "faults": len(found.costs),
                "lost": len(found.lost),
                "doubled": len(found.doubled),
                "extra_attempts": found.extra_attempts,
                "seed": seed,
                "allowed_extra_attempts": found.allowed_extra_attempts,
                "unexplained": len(found.unexplained),
                "wrong_counts": len(result.wrong_counts),
                "not_whole_in_time": sum(cost.injection.whole_seconds is None for cost in found.costs),
                "seconds": round(result.seconds, 1),
                "extra_attempts_by_kind": dict(sorted(by_kind.items())),
            }
        }
    )


def _seconds(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds:.1f}"


def _complaints(result: Result) -> Iterator[str]:
    found = result.account
    for job in found.lost:
        yield f"LOST: {job}"
    for job in found.doubled:
        yield f"DOUBLED: {job}"
    for attempt in found.unexplained:
        yield f"LOST WITHOUT A FAULT: {attempt}"
    for text in result.wrong_counts:
        yield f"WRONG: {text}"
