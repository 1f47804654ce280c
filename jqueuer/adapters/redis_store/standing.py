"""How an experiment's jobs stand, read in one round trip: every look of a controller begins with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from cautoscaler.measured import Bucket, Concurrency, Durations, Measured
from jqueuer.adapters.redis_store.connection import StoreClient
from jqueuer.records import Counts, Standing, Statistics
from jqueuer.states import JobState

SUMS: Final = tuple(Statistics.model_fields)
_STATES: Final = tuple(state.value for state in JobState)


def standing_of(client: StoreClient, base: str) -> Standing:
    """Everything that is known of the jobs of the experiment whose keys begin with ``base``, all of one moment."""
    with client.pipeline() as batch:
        for state in _STATES:
            batch.zcard(f"{base}:{state}")
        batch.hmget(base, SUMS)
        batch.hgetall(f"{base}:measured")
        batch.zcard(f"{base}:due")
        *sizes, sums, measured, delayed = batch.execute()
    return Standing(
        counts=Counts(**dict(zip(_STATES, sizes, strict=True))),
        statistics=statistics_in(sums),
        measured=measured_in(measured),
        delayed=delayed,
    )


def statistics_in(values: Sequence[str | None]) -> Statistics:
    """The sums, by the values of the fields :data:`SUMS`."""
    return Statistics.model_validate(
        {
            name: float(value) if "seconds" in name else int(float(value))
            for name, value in zip(SUMS, values, strict=True)
            if value is not None
        }
    )


def measured_in(found: Mapping[str, str]) -> Measured:
    """What the fields of a hash of measurements say: ``d:`` durations, ``c:`` by running jobs, ``u`` unsuccessful."""
    sums: dict[str, dict[int, Bucket]] = {"d": {}, "c": {}, "u": {}}
    for field, count in found.items():
        name, _, what = field.rpartition(":")
        if what == "count":
            kind, _, index = name.partition(":")
            sums[kind][int(index or 0)] = Bucket(int(count), float(found[f"{name}:seconds"]))
    unsuccessful = sums["u"].get(0, Bucket(0, 0.0))
    return Measured(
        durations=Durations(tuple(bucket for _, bucket in sorted(sums["d"].items()))),
        concurrency=tuple(Concurrency(busy, jobs.count, jobs.seconds) for busy, jobs in sorted(sums["c"].items())),
        unsuccessful=unsuccessful.count,
        unsuccessful_seconds=unsuccessful.seconds,
    )
