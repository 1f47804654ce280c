"""From records to what the API answers with: pure functions, no I/O."""

from __future__ import annotations

from urllib.parse import quote

from jqueuer.controller import Forecast, phase_of, waits_for
from jqueuer.model import POST_JOB_ID
from jqueuer.records import (
    Attempt,
    Counts,
    ExperimentRecord,
    HistoryPoint,
    JobRecord,
    JournalEntry,
    LogRecord,
    OutputFile,
    ServiceStatus,
    Statistics,
)
from jqueuer.states import ContainerState
from jqueuer_manager.api.parameters import PREFIX
from jqueuer_manager.api.schemas import (
    AttemptModel,
    BriefForecast,
    Containers,
    ExperimentDetail,
    ExperimentItem,
    ForecastModel,
    JobCounts,
    JobDetail,
    JobItem,
    LogModel,
    OutputModel,
)


def experiment_links(experiment_id: str) -> dict[str, str]:
    """Where to go on from an experiment."""
    base = f"{PREFIX}/experiments/{experiment_id}"
    return {"self": base, **{name: f"{base}/{name}" for name in ("summary", "jobs", "outputs", "journal")}}


def job_href(experiment_id: str, job_id: str) -> str:
    """The path of a job."""
    return f"{PREFIX}/experiments/{experiment_id}/jobs/{job_id}"


def experiment_item(record: ExperimentRecord, counts: Counts, forecast: BriefForecast | None) -> ExperimentItem:
    """An experiment for the list."""
    return ExperimentItem(
        id=record.id,
        name=record.description.name,
        owner=record.owner,
        state=record.state,
        reason=record.reason,
        created_at=record.created_at,
        deadline_at=record.deadline_at,
        finished_at=record.finished_at,
        source=record.source,
        source_digest=record.source_digest,
        jobs=JobCounts(total=counts.total, **counts.model_dump()),
        forecast=forecast,
        links=experiment_links(record.id),
    )


def experiment_detail(
    record: ExperimentRecord,
    counts: Counts,
    statistics: Statistics,
    *,
    status: ServiceStatus | None,
    settled: bool,
    delayed: int,
    decisions: list[JournalEntry],
    forecast: Forecast | None,
    now: float,
) -> ExperimentDetail:
    """An experiment with everything known about it; the decisions are the latest, oldest first."""
    over, last = record.state.terminal, _last_number(decisions)
    service = status or ServiceStatus(requested=0)
    return ExperimentDetail(
        **dict(experiment_item(record, counts, None if forecast is None else _forecast(forecast))),
        phase=phase_of(counts),
        settled=settled,
        containers=_containers(record, service, decisions),
        seconds_left=None if over or record.deadline_at is None else round(record.deadline_at - now, 3),
        statistics=statistics,
        notices=list(record.notices),
        problem=service.problem,
        waits_for=waits_for(record, counts, delayed, status, "" if last is None else last.reason),
        description=record.description.model_dump(mode="json"),
    )


def wanted_of(decisions: list[JournalEntry]) -> int | None:
    """How many containers the last decision that named a number wanted, room or not."""
    last = _last_number(decisions)
    wanted = None if last is None else last.inputs.get("wanted", last.containers)
    return wanted if isinstance(wanted, int) else None


def _last_number(decisions: list[JournalEntry]) -> JournalEntry | None:
    return next((entry for entry in reversed(decisions) if entry.containers is not None), None)


def _containers(record: ExperimentRecord, service: ServiceStatus, decisions: list[JournalEntry]) -> Containers:
    last = None if record.state.terminal else _last_number(decisions)
    limit = None if last is None else last.inputs.get("limit")
    return Containers(
        minimum=record.description.containers.min,
        maximum=record.description.containers.max,
        wanted=wanted_of(decisions),
        requested=service.requested,
        starting=service.count(ContainerState.STARTING),
        running=service.count(ContainerState.IDLE, ContainerState.BUSY),
        busy=service.count(ContainerState.BUSY),
        draining=service.count(ContainerState.DRAINING),
        waiting=str(limit or ""),
        problem=service.problem,
        note=service.note,
    )


def brief_forecast(point: HistoryPoint | None) -> BriefForecast | None:
    """What was forecast at the last point of an experiment that runs."""
    if point is None or point.p50_at is None or point.p80_at is None or point.p95_at is None:
        return None
    return BriefForecast(
        finish_at=point.p50_at, p80_at=point.p80_at, p95_at=point.p95_at, probability=point.probability
    )


def _forecast(forecast: Forecast) -> ForecastModel:
    return ForecastModel(
        finish_at=round(forecast.finish_at, 3),
        p80_at=round(forecast.p80_at, 3),
        p95_at=round(forecast.p95_at, 3),
        probability=None if forecast.probability is None else round(forecast.probability, 4),
        containers=forecast.containers,
        basis=forecast.basis,
    )


def job_item(experiment_id: str, record: JobRecord) -> JobItem:
    """A job for the list."""
    attempt = record.deciding
    return JobItem(
        id=record.spec.id,
        index=record.index,
        state=record.state,
        attempts=len(record.attempts),
        exit_code=attempt.exit_code if attempt else None,
        reason=attempt.reason if attempt else "",
        container=attempt.container if attempt else None,
        node=attempt.node if attempt else None,
        started_at=attempt.started_at if attempt else None,
        finished_at=attempt.finished_at if attempt else None,
        not_before=record.not_before,
        outputs=len(attempt.outputs) if attempt else 0,
        links={"self": job_href(experiment_id, record.spec.id)},
    )


def job_detail(experiment_id: str, job_id: str, record: JobRecord) -> JobDetail:
    """A job with its attempts; the id is given because the post command's is not in its spec."""
    return JobDetail(
        id=job_id,
        index=record.index,
        state=record.state,
        not_before=record.not_before,
        spec=record.spec.model_dump(mode="json", exclude={"id"} if job_id == POST_JOB_ID else None),
        attempts=[_attempt(experiment_id, job_id, attempt) for attempt in record.attempts],
        links={"self": job_href(experiment_id, job_id), "experiment": f"{PREFIX}/experiments/{experiment_id}"},
    )


def _attempt(experiment_id: str, job_id: str, attempt: Attempt) -> AttemptModel:
    base = f"{job_href(experiment_id, job_id)}/attempts/{attempt.number}"
    return AttemptModel(
        **attempt.model_dump(exclude={"commands", "outputs", "stdout", "stderr"}),
        commands=list(attempt.commands),
        outputs=[output(experiment_id, job_id, attempt.number, file) for file in attempt.outputs],
        stdout=_log(attempt.stdout, f"{base}/stdout"),
        stderr=_log(attempt.stderr, f"{base}/stderr"),
    )


def _log(record: LogRecord, href: str) -> LogModel:
    return LogModel(total_bytes=record.total_bytes, truncated=record.truncated, href=href)


def output(experiment_id: str, job_id: str, attempt: int, file: OutputFile) -> OutputModel:
    """A collected output with its address."""
    return OutputModel(
        job=job_id,
        attempt=attempt,
        **file.model_dump(),
        href=f"{job_href(experiment_id, job_id)}/attempts/{attempt}/outputs/{quote(file.path)}",
    )
