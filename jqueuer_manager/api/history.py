"""What pictures of an experiment are drawn of: its history, its attempts on a line of time, their durations."""

from __future__ import annotations

from typing import Annotated

from flask import Response
from flask_openapi.blueprint import APIBlueprint
from pydantic import BaseModel, Field

from cautoscaler import Durations
from cautoscaler.measured import BUCKETS_PER_OCTAVE, SHORTEST_SECONDS, Bucket, bucket_of
from jqueuer.access import Role
from jqueuer.records import HistoryPoint, Span
from jqueuer_manager.api.access import needs
from jqueuer_manager.api.answers import answer
from jqueuer_manager.api.parameters import PREFIX, ExperimentPath, Query
from jqueuer_manager.api.problems import documented
from jqueuer_manager.services import Services


class HistoryModel(BaseModel):
    """How the experiment stood from time to time: 600 points at most, further apart the longer it takes."""

    points: list[HistoryPoint]


class TimelineModel(BaseModel):
    """Who worked on what from when to when: the latest 2000 attempts that have ended, and those that run."""

    spans: list[Span]


class TimelineQuery(Query):
    """Which attempts."""

    since: Annotated[
        float, Field(ge=0, le=1e11, description="Only those that ended at that moment or later, or run")
    ] = 0.0


class BucketModel(BaseModel):
    """Attempts that took about as long."""

    from_seconds: float = Field(description="At least; the next as well")
    to_seconds: float
    count: int


class DurationsModel(BaseModel):
    """How long the accomplished attempts took; buckets are 9 % wide, and so are the quantiles."""

    buckets: list[BucketModel] = Field(description="Those that hold something, shortest first")
    count: int
    p50_seconds: float | None = Field(description="null before the first, as are the others")
    p95_seconds: float | None
    mean_seconds: float | None


def blueprint(services: Services) -> APIBlueprint:
    """The routes over these services."""
    routes = APIBlueprint(
        "history",
        __name__,
        url_prefix=f"{PREFIX}/experiments/<experiment_id>",
        abp_tags=[{"name": "experiments"}],
        abp_responses=documented(404, 422, 503),
    )
    store, ledger = services.experiments, services.ledger

    @routes.get("/history", operation_id="getHistory", responses={200: HistoryModel})
    @needs(Role.VIEWER)
    def history(path: ExperimentPath) -> Response:
        """Show how the experiment stood from time to time: jobs, containers, forecast."""
        return answer(HistoryModel(points=store.history(store.get(path.experiment_id).id)))

    @routes.get("/timeline", operation_id="getTimeline", responses={200: TimelineModel})
    @needs(Role.VIEWER)
    def timeline(path: ExperimentPath, query: TimelineQuery) -> Response:
        """Show the latest attempts and those that run, by their beginnings."""
        spans = ledger.spans(store.get(path.experiment_id).id, since=query.since)
        return answer(TimelineModel(spans=spans))

    @routes.get("/durations", operation_id="getDurations", responses={200: DurationsModel})
    @needs(Role.VIEWER)
    def durations(path: ExperimentPath) -> Response:
        """Show how long the accomplished attempts took, as a histogram."""
        return answer(durations_model(ledger.measured(store.get(path.experiment_id).id).durations))

    return routes


def durations_model(durations: Durations) -> DurationsModel:
    """The histogram with its borders."""
    return DurationsModel(
        buckets=[_bucket(bucket) for bucket in Durations.merged([durations]).buckets],
        count=durations.count,
        p50_seconds=_quantile(durations, 0.5),
        p95_seconds=_quantile(durations, 0.95),
        mean_seconds=durations.seconds / durations.count if durations.count else None,
    )


def _bucket(bucket: Bucket) -> BucketModel:
    index = bucket_of(bucket.mean_seconds)
    return BucketModel(from_seconds=_border(index - 1), to_seconds=_border(index), count=bucket.count)


def _border(index: int) -> float:
    """The longest duration of a bucket."""
    return 0.0 if index < 0 else round(SHORTEST_SECONDS * 2 ** (index / BUCKETS_PER_OCTAVE), 6)


def _quantile(durations: Durations, share: float) -> float | None:
    """The mean of the bucket in which so many of the durations are reached."""
    seen = 0
    for bucket in durations.buckets:
        seen += bucket.count
        if seen >= share * durations.count:
            return bucket.mean_seconds
    return None
