"""The truth about jobs, on Redis or Valkey: claims are leases with fencing tokens, outcomes are recorded once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from cautoscaler.measured import Measured, bucket_of
from jqueuer.adapters.redis_store.clock import CLOCK, READING, ahead_ms, paced
from jqueuer.adapters.redis_store.connection import StoreClient, run_each
from jqueuer.adapters.redis_store.experiments import RedisExperimentStore, experiment_key
from jqueuer.adapters.redis_store.history import ended_spans, running_spans
from jqueuer.adapters.redis_store.scripts import ADD, CLAIM, COUNTS, DUE, FINISH, HEDGE, MOVE_MANY, REAP, RELEASE, RENEW
from jqueuer.adapters.redis_store.standing import SUMS, measured_in, standing_of, statistics_in
from jqueuer.errors import ConflictError, NotFoundError
from jqueuer.model import POST_JOB_ID, Experiment, Job, effective_job
from jqueuer.ports import Renewal
from jqueuer.records import Activity, Attempt, Claim, Counts, JobPage, JobRecord, Span, Standing, Statistics
from jqueuer.states import JobState

_BATCH: Final = 1000
_STATES: Final = tuple(state.value for state in JobState)
_LEASE_RAN_OUT: Final = "its lease ran out: the container manager was not heard of any more"
_CONTAINER_GONE: Final = "its container is gone"
_ALL_GONE: Final = "its container is gone, with all that ran beside it"
_NODE_GONE: Final = "its lease ran out, with those beside it: nothing on its node was heard of any more"
_ENDS_OF_ALL: Final = 4
"""A job may be there so many times more often when everything goes at once than when its container goes alone."""
_SUSPECT_PAUSE_MS: Final = 5000
_UPTIME_SECONDS: Final = 1.0
"""So exactly the store says how long it has been up."""
_SLOWER: Final = "another copy was faster"


class RedisJobLedger:
    """The :class:`~jqueuer.ports.JobLedger` on Redis or Valkey."""

    def __init__(self, client: StoreClient, *, lease_seconds: float = 30.0, max_lost_attempts: int = 5) -> None:
        self._client = client
        self._lease_ms = int(lease_seconds * 1000)
        self._max_lost = max_lost_attempts
        self._descriptions: dict[str, Experiment] = {}
        self._add = self._script(ADD)
        self._claim = self._script(CLAIM)
        self._renew = self._script(RENEW)
        self._finish = self._script(FINISH)
        self._hedge = self._script(HEDGE)
        self._reap = self._script(REAP)
        self._release = self._script(RELEASE)
        self._due = self._script(DUE)
        self._move_many = self._script(MOVE_MANY)
        self._counts = client.register_script(COUNTS)

    def _script(self, script: str) -> Any:
        return self._client.register_script(paced(script, self._lease_ms))

    def add(self, experiment_id: str, jobs: Sequence[Job]) -> None:
        """Append jobs; :class:`ConflictError` names an id that is there already (then none of them is added)."""
        if not jobs:
            return
        keys = _keys(experiment_id)
        arguments: list[str | int] = [self._client.zcard(f"{keys[1]}:order")]
        for job in jobs:
            arguments += [job.id, job.model_dump_json(exclude_defaults=True), len(job.tasks)]
        taken = self._add(keys=keys, args=arguments)
        if taken:
            raise ConflictError(f"two jobs have the id {taken!r}")

    def add_post(self, experiment_id: str, job: Job) -> None:
        """Queue the post command, unless it was queued before."""
        spec = job.model_dump_json(exclude_defaults=True)
        self._add(keys=_keys(experiment_id, POST_JOB_ID), args=[0, POST_JOB_ID, spec, len(job.tasks)])

    def claim(self, experiment_id: str, job_id: str, *, container: str, node: str) -> Claim | None:
        """The next attempt at a queued job, or None."""
        arguments = [job_id, container, node, self._lease_ms, self._max_lost, _SUSPECT_PAUSE_MS]
        found = self._claim(keys=_keys(experiment_id, job_id), args=arguments)
        if not found:
            return None
        token, now_ms, spec = found
        return Claim(
            experiment_id=experiment_id,
            job_id=job_id,
            token=token,
            container=container,
            node=node,
            started_at=now_ms / 1000,
            spec=Job.model_validate_json(spec),
        )

    def renew(self, claim: Claim) -> Renewal:
        """Extend the lease, or learn that there is none any more."""
        keys = _keys(claim.experiment_id, claim.job_id)
        return Renewal(self._renew(keys=keys, args=[claim.job_id, claim.token, self._lease_ms]))

    def finish(self, claim: Claim, attempt: Attempt, *, retry: bool = True) -> JobState | None:
        """Record the outcome once; the job's new state, or None if the token was not current."""
        if attempt.outcome is None:
            raise ValueError("an attempt that ends has an outcome")
        on_failure = self._description(claim.experiment_id).on_failure
        seconds = (attempt.finished_at or claim.started_at) - claim.started_at
        tasks = [result for result in attempt.commands if result.role.startswith("task") and result.exit_code == 0]
        arguments: list[str | int | float] = [
            claim.job_id,
            claim.token,
            attempt.outcome.value,
            attempt.model_dump_json(exclude_defaults=True),
            int(retry and on_failure.action == "requeue"),
            on_failure.max_attempts,
            int(on_failure.backoff * 1000),
            self._max_lost,
            len(tasks),
            sum(result.seconds for result in tasks),
            seconds,
            bucket_of(seconds),
            _SLOWER,
        ]
        state = self._finish(keys=_keys(claim.experiment_id, claim.job_id), args=arguments)
        return JobState(state) if state else None

    def _description(self, experiment_id: str) -> Experiment:
        # What is read of it here is fixed at submission, so it is read once per experiment.
        description = self._descriptions.get(experiment_id)
        if description is None:
            description = RedisExperimentStore(self._client).get(experiment_id).description
            self._descriptions = {experiment_id: description}
        return description

    def hedgeable(self, experiment_id: str, job_ids: Sequence[str]) -> set[str]:
        """Those of the jobs that run, may run twice at the same time, and had no second copy yet."""
        base = experiment_key(experiment_id)
        with self._client.pipeline(transaction=False) as batch:
            for job_id in job_ids:
                batch.hmget(f"{base}:job:{job_id}", "state", "hedge", "spec")
            found = [
                Job.model_validate_json(spec)
                for state, hedge, spec in batch.execute()
                if state == JobState.RUNNING.value and hedge in (None, "open")
            ]
        if not found:
            return set()
        description = self._description(experiment_id)
        return {job.id for job in found if effective_job(description, job).idempotent}

    def hedge(self, experiment_id: str, job_id: str) -> bool:
        """Open a running job for a second copy; False where there can be none."""
        if not self.hedgeable(experiment_id, [job_id]):
            return False
        return bool(self._hedge(keys=_keys(experiment_id), args=[job_id]))

    def counts(self, experiment_id: str) -> Counts:
        """Jobs by state, in one atomic look."""
        return self.counts_of([experiment_id])[0]

    def counts_of(self, experiment_ids: Sequence[str]) -> list[Counts]:
        """The counts of several experiments, all of one moment."""
        sizes = (
            self._counts(keys=[experiment_key(one) for one in experiment_ids], args=_STATES) if experiment_ids else ()
        )
        rows = [sizes[start : start + len(_STATES)] for start in range(0, len(sizes), len(_STATES))]
        return [Counts(**dict(zip(_STATES, row, strict=True))) for row in rows]

    def statistics(self, experiment_id: str) -> Statistics:
        """Sums over what ran."""
        return statistics_in(self._client.hmget(experiment_key(experiment_id), SUMS))

    def activity(self, experiment_id: str) -> Activity:
        """When a job was last claimed, and when an attempt last ended by itself."""
        found = self._client.hmget(experiment_key(experiment_id), "claimed_ms", "ended_ms")
        claimed_at, ended_at = (None if value is None else float(value) / 1000 for value in found)
        return Activity(claimed_at=claimed_at, ended_at=ended_at)

    def measured(self, experiment_id: str) -> Measured:
        """What is known of the jobs' durations; without the start delay."""
        return measured_in(self._client.hgetall(f"{experiment_key(experiment_id)}:measured"))

    def standing(self, experiment_id: str) -> Standing:
        """Counts, sums, durations and delays, all of one moment."""
        return standing_of(self._client, experiment_key(experiment_id))

    def spans(self, experiment_id: str, *, since: float = 0.0) -> list[Span]:
        """The latest attempts that have ended, and those that run."""
        base, post = _keys(experiment_id)[1], _keys(experiment_id, POST_JOB_ID)[1]
        running = [*running_spans(self._client, base), *running_spans(self._client, post)]
        # The ended ones are read last and win: an attempt may end between the two looks.
        known = {(span.job, span.attempt): span for span in (*running, *ended_spans(self._client, base, since))}
        return sorted(known.values(), key=lambda span: (span.started_at, span.job, span.attempt))

    def record_scale(self, experiment_id: str, *, up: int = 0, down: int = 0, containers: int = 0) -> None:
        """Count scale actions and remember the peak."""
        base = experiment_key(experiment_id)
        peak = max(containers, int(self._client.hget(base, "peak_containers") or 0))
        with self._client.pipeline() as batch:
            batch.hincrby(base, "scale_ups", up)
            batch.hincrby(base, "scale_downs", down)
            batch.hset(base, "peak_containers", peak)
            batch.execute()

    def page(
        self, experiment_id: str, *, state: JobState | None = None, search: str = "", offset: int = 0, limit: int = 50
    ) -> JobPage:
        """Jobs in order, by state and by a substring of the id."""
        base = experiment_key(experiment_id)
        key = f"{base}:{state.value if state else 'order'}"
        if search:
            matching = [
                job_id
                for start in range(0, self._client.zcard(key), _BATCH)
                for job_id in self._client.zrange(key, start, start + _BATCH - 1)
                if search in job_id
            ]
            ids, total = matching[offset : offset + limit], len(matching)
        else:
            ids, total = list(self._client.zrange(key, offset, offset + limit - 1)), self._client.zcard(key)
        with self._client.pipeline(transaction=False) as batch:
            batch.hmget(CLOCK, READING)
            for job_id in ids:
                batch.hgetall(f"{base}:job:{job_id}")
            reading, *found = batch.execute()
        return JobPage(jobs=tuple(_record(fields, ahead_ms(reading)) for fields in found if fields), total=total)

    def job(self, experiment_id: str, job_id: str) -> JobRecord:
        """One job with its attempts."""
        lane = _keys(experiment_id, job_id)[1]
        fields = self._client.hgetall(f"{lane}:job:{job_id}")
        if "state" not in fields:
            raise NotFoundError(f"experiment {experiment_id!r} has no job {job_id!r}")
        return _record(fields, ahead_ms(self._client.hmget(CLOCK, READING)))

    def ids(self, experiment_id: str, start: int, count: int) -> list[str]:
        """Job ids by position."""
        return list(self._client.zrange(f"{experiment_key(experiment_id)}:order", start, start + count - 1))

    def queued(self, experiment_id: str, start: int, count: int) -> list[str]:
        """Ids of queued jobs that are due (and the post command's, where it is)."""
        found: list[str] = []
        for lane in dict.fromkeys((_keys(experiment_id)[1], _keys(experiment_id, POST_JOB_ID)[1])):
            ids = self._client.zrange(f"{lane}:queued", start, start + count - 1)
            with self._client.pipeline(transaction=False) as batch:
                for job_id in ids:
                    batch.zscore(f"{lane}:due", job_id)
                found += [job_id for job_id, due_ms in zip(ids, batch.execute(), strict=True) if due_ms is None]
        return found

    def requeued(self, experiment_id: str, job_ids: Sequence[str]) -> set[str]:
        """Those of the queued jobs that were re-queued after an attempt: all of them are told when they are due."""
        with self._client.pipeline(transaction=False) as batch:
            for job_id in job_ids:
                batch.hget(f"{_keys(experiment_id, job_id)[1]}:job:{job_id}", "not_before")
            return {job_id for job_id, due_ms in zip(job_ids, batch.execute(), strict=True) if float(due_ms or 0)}

    def due(self, experiment_id: str, limit: int = _BATCH) -> list[str]:
        """Take the jobs whose back-off has ended."""
        return self._in_both_lanes(experiment_id, self._due, [limit])

    def reap(self, experiment_id: str, limit: int = _BATCH) -> list[str]:
        """Re-queue the jobs whose lease ran out."""
        arguments = (limit, self._max_lost, _LEASE_RAN_OUT, self._lease_ms, _NODE_GONE, _ENDS_OF_ALL * self._max_lost)
        return self._in_both_lanes(experiment_id, self._reap, arguments)

    def release(self, experiment_id: str, container: str | None = None, *, together: bool = False) -> list[str]:
        """Re-queue the job of a container known to be gone, or all running ones."""
        arguments: list[str | int] = [container or "", _CONTAINER_GONE, "lost", self._max_lost]
        if together or container is None:
            arguments[1:] = [_ALL_GONE, "gone", _ENDS_OF_ALL * self._max_lost]
        return self._in_both_lanes(experiment_id, self._release, arguments)

    def job_of(self, experiment_id: str, container: str) -> str | None:
        """The job that a container holds."""
        held: str | None = self._client.hget(f"{experiment_key(experiment_id)}:busy", container)
        return held

    def store_went_too(self, experiment_id: str, container: str) -> bool:
        """Whether the store's server was started anew since the container claimed the job that it holds."""
        job_id, (seconds, _) = self.job_of(experiment_id, container), self._client.time()
        started_at = float(seconds) - int(self._client.info("server")["uptime_in_seconds"]) - _UPTIME_SECONDS
        found = self._client.hgetall(f"{_keys(experiment_id, job_id)[1]}:job:{job_id}") if job_id else {}
        attempts = (Attempt.model_validate_json(found[name]) for name in found if name.startswith("a:"))
        return max((one.started_at for one in attempts if one.container == container), default=math.inf) < started_at

    def _in_both_lanes(self, experiment_id: str, script: Any, arguments: Sequence[str | int]) -> list[str]:
        lanes = (_keys(experiment_id), _keys(experiment_id, POST_JOB_ID))
        return [job_id for found in run_each(self._client, script, lanes, arguments) for job_id in found]

    def cancel(self, experiment_id: str) -> None:
        """Cancel what is queued."""
        for lane in (_keys(experiment_id), _keys(experiment_id, POST_JOB_ID)):
            self._move_all(lane, JobState.QUEUED, JobState.CANCELLED)

    def retry_failed(self, experiment_id: str) -> int:
        """Queue failed and cancelled jobs again with fresh attempts."""
        lane = _keys(experiment_id)
        moved = sum(self._move_all(lane, state, JobState.QUEUED) for state in (JobState.FAILED, JobState.CANCELLED))
        post = _keys(experiment_id, POST_JOB_ID)[1]
        state = self._client.hget(f"{post}:job:{POST_JOB_ID}", "state")
        if state is None or not JobState(state).terminal:
            return moved
        # It runs once more after the new last job, under a higher token.
        with self._client.pipeline() as batch:
            batch.unlink(*(f"{post}:{suffix}" for suffix in ("order", "accomplished", "failed", "cancelled")))
            batch.hdel(f"{post}:job:{POST_JOB_ID}", "state", "failures", "lost", "gone", "not_before")
            batch.execute()
        return moved

    def _move_all(self, keys: list[str], source: JobState, target: JobState) -> int:
        moved = 0
        while count := int(self._move_many(keys=keys, args=[source.value, target.value, _BATCH])):
            moved += count
        return moved


def _keys(experiment_id: str, job_id: str = "") -> list[str]:
    base = experiment_key(experiment_id)
    return [base, f"{base}:post" if job_id == POST_JOB_ID else base]


def _record(fields: dict[str, str], ahead_ms: float) -> JobRecord:
    """``ahead_ms`` is how far the clock on the wall is ahead of the one that back-offs go by."""
    attempts = sorted((name for name in fields if name.startswith("a:")), key=lambda name: int(name[2:]))
    not_before_ms = float(fields.get("not_before", 0))
    state = JobState(fields["state"])
    return JobRecord(
        index=int(fields["i"]),
        spec=Job.model_validate_json(fields["spec"]),
        state=state,
        attempts=tuple(Attempt.model_validate_json(fields[name]) for name in attempts),
        not_before=(not_before_ms + ahead_ms) / 1000 if state is JobState.QUEUED and not_before_ms else None,
    )
