"""When an experiment will end, as far as one can tell."""

from __future__ import annotations

from dataclasses import dataclass

from cautoscaler.wording import amount, plural


@dataclass(frozen=True, slots=True)
class Forecast:
    """A forecast finish, in seconds since the epoch, and what it rests on."""

    finish_at: float | None
    """None while nothing is known."""
    basis: str


def forecast(*, now: float, jobs_left: int, mean_job_seconds: float | None, working: int) -> Forecast:
    """The jobs left shared evenly among the containers that work now, at the mean duration measured so far.

    A point, not a promise: it knows neither the spread of the durations nor the scaling still to come. Where no
    container works yet it says what one would do.
    """
    if jobs_left <= 0:
        return Forecast(now, "no jobs are left")
    if mean_job_seconds is None:
        return Forecast(None, "no job is accomplished yet")
    containers = max(1, working)
    basis = f"{plural(jobs_left, 'job')} × {amount(mean_job_seconds)} s ÷ {plural(containers, 'container')}"
    return Forecast(now + jobs_left * mean_job_seconds / containers, basis)
