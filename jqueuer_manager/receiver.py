"""The experiment receiver (paper §IV-A): takes a description and its jobs, answers with the experiment's id.

Jobs go to the ledger in batches as they come, so an experiment is never in memory as a whole. Until it is accepted
nothing sees it; whatever goes wrong on the way, it is deleted again.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Final

import structlog

from jqueuer.descriptor import read_description, read_job_line, read_jobs_header
from jqueuer.errors import ConflictError, DescriptionError, Fault, JQueuerError, NotFoundError, UnsupportedError
from jqueuer.model import Experiment, Job
from jqueuer.quoting import InfeasibleError, Workload
from jqueuer.records import ExperimentRecord
from jqueuer.states import ExperimentState
from jqueuer_manager.adapters.urls import refused_urls
from jqueuer_manager.inputs import InputCheck
from jqueuer_manager.quota import refuse_too_many
from jqueuer_manager.quotes import quote_of
from jqueuer_manager.services import Services

BATCH_JOBS: Final = 1000
MAX_FAULTS: Final = 100
"""So many faults of streamed jobs are reported at once."""

_SUFFIX_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz234567"
_SUFFIX_LENGTH: Final = 6
_SLUG_LENGTH: Final = 40
_log: Final = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Submission:
    """What comes beside the description."""

    owner: str
    """The user's name."""
    key: str | None = None
    """The Idempotency-Key: of one user, the same key with the same body makes one experiment."""
    source: str = ""
    source_digest: str = ""
    if_feasible: bool = False
    """Refuse what cannot be promised."""


@dataclass(frozen=True)
class Receipt:
    """The receiver's answer."""

    record: ExperimentRecord
    jobs: int


@dataclass(frozen=True)
class _Placed:
    """A job and the line it was read from, where there is one."""

    job: Job
    line: int | None = None


class Receiver:
    """Receives experiments; safe among threads."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._store = services.experiments

    def receive(self, body: bytes, digest: str, submission: Submission) -> Receipt:
        """A whole description in any format or dialect; :class:`DescriptionError` with every fault in it."""
        limit = self._services.settings.max_jobs
        description = read_description(body, source=submission.source, max_jobs=limit)
        jobs = (_Placed(job) for job in description.jobs)
        return self._take(description.experiment, jobs, description.notices, submission, digest)

    def receive_lines(self, lines: Iterable[bytes], digest: Callable[[], str], submission: Submission) -> Receipt:
        """A header line and then one job per line, read as they come; ``digest`` is asked after the last one."""
        numbered = ((number, line) for number, line in enumerate(lines, start=1) if line.strip())
        _, first = next(numbered, (0, b""))
        header = read_jobs_header(first)
        return self._take(header, _jobs_of(numbered, header), (), submission, digest)

    def purge(self) -> list[str]:
        """Delete what a manager that died was receiving; called at the start, before anything is received."""
        left = self._store.unfinished_receipts()
        for experiment_id in left:
            self._store.delete(experiment_id)
        return left

    def _take(
        self,
        experiment: Experiment,
        jobs: Iterator[_Placed],
        notices: Iterable[str],
        submission: Submission,
        digest: str | Callable[[], str],
    ) -> Receipt:
        refusals, more_notices = self._services.orchestrator.problems(experiment)
        refusals = (*refusals, *refused_urls(experiment, self._services.settings))
        if refusals:
            raise UnsupportedError("; ".join(refusals))
        created_at = self._store.now()
        record = ExperimentRecord(
            id=new_experiment_id(experiment.name),
            description=experiment,
            state=ExperimentState.RECEIVING,
            created_at=created_at,
            deadline_at=_deadline_at(experiment, created_at),
            owner=submission.owner,
            source=submission.source,
            source_digest=submission.source_digest,
            notices=(*notices, *more_notices),
        )
        self._store.create(record)
        holds_key = False
        try:
            # What a key repeats is no further experiment. Of lines that is known after the last one.
            early = isinstance(digest, str) or submission.key is None
            if isinstance(digest, str):
                if earlier := self._claim_key(submission, digest, record.id):
                    return self._replay(earlier, instead_of=record.id)
                holds_key = True
            if early:
                refuse_too_many(self._services, record.owner, counted=True)
            _refuse_past_deadline(record)
            count = self._add_jobs(record, jobs)
            if not isinstance(digest, str):
                if earlier := self._claim_key(submission, digest(), record.id):
                    return self._replay(earlier, instead_of=record.id)
                holds_key = True
            if not early:
                refuse_too_many(self._services, record.owner, counted=True)
            if submission.if_feasible:
                self._refuse_infeasible(record, count)
            self._store.accept(record.id)
        except BaseException:
            self._discard(record.id, _key_of(submission) if holds_key else None)
            raise
        return Receipt(record.model_copy(update={"state": ExperimentState.RUNNING}), count)

    def _refuse_infeasible(self, record: ExperimentRecord, jobs: int) -> None:
        tasks = self._services.ledger.statistics(record.id).tasks_defined
        workload = Workload(jobs, max(1, -(-tasks // jobs)))
        found = quote_of(self._services, record.description, workload, record.created_at)
        if not found.feasible:
            raise InfeasibleError(found)

    def _add_jobs(self, record: ExperimentRecord, jobs: Iterator[_Placed]) -> int:
        inputs = InputCheck(self._services.artifacts)
        inputs.of_experiment(record.description)
        count = 0
        while batch := list(islice(jobs, BATCH_JOBS)):
            if count + len(batch) > self._services.settings.max_jobs:
                raise _fault("jobs", f"an experiment has at most {self._services.settings.max_jobs} jobs here")
            inputs.of_jobs((count + place, placed.job, placed.line) for place, placed in enumerate(batch))
            self._add_batch(record.id, batch, count)
            count += len(batch)
        if not count:
            raise _fault("jobs", "expected at least one job")
        return count

    def _add_batch(self, experiment_id: str, batch: list[_Placed], first: int) -> None:
        seen: set[str] = set()
        for place, placed in enumerate(batch, start=first):
            if placed.job.id in seen:
                raise _duplicate(place, placed)
            seen.add(placed.job.id)
        try:
            self._services.ledger.add(experiment_id, [placed.job for placed in batch])
        except ConflictError:
            for place, placed in enumerate(batch, start=first):
                if self._has_job(experiment_id, placed.job.id):
                    raise _duplicate(place, placed) from None
            raise

    def _has_job(self, experiment_id: str, job_id: str) -> bool:
        try:
            self._services.ledger.job(experiment_id, job_id)
        except NotFoundError:
            return False
        return True

    def _claim_key(self, submission: Submission, digest: str, experiment_id: str) -> str | None:
        """The id of the experiment that an earlier request with this key made, or None where this is the first."""
        key = _key_of(submission)
        if key is None:
            return None
        while True:
            known_digest, known_id = self._store.remember_key(key, digest, experiment_id)
            if known_id == experiment_id:
                return None
            if known_digest != digest:
                raise ConflictError(f"the Idempotency-Key {submission.key!r} was used before, with another body")
            # In this order: one that is accepted meanwhile is found by the second look.
            if known_id in self._store.unfinished_receipts():
                raise ConflictError(f"the request with Idempotency-Key {submission.key!r} is still being received")
            try:
                return self._store.get(known_id).id
            except NotFoundError:
                # Its experiment was deleted, or lost with a manager that died: the key is free.
                self._store.forget_key(key, known_id)

    def _replay(self, earlier: str, *, instead_of: str) -> Receipt:
        self._store.delete(instead_of)
        return Receipt(self._store.get(earlier), self._services.ledger.counts(earlier).total)

    def _discard(self, experiment_id: str, key: str | None) -> None:
        try:
            if key is not None:
                self._store.forget_key(key, experiment_id)
            self._store.delete(experiment_id)
        except JQueuerError as error:
            # The first failure is the one to report; the next start deletes what is left.
            _log.warning("half-received experiment not deleted yet", experiment=experiment_id, problem=str(error))


def _key_of(submission: Submission) -> str | None:
    """What stands in the store for a key: each user has keys of their own. Neither part contains a space."""
    return None if submission.key is None else f"{submission.owner} {submission.key}"


def new_experiment_id(name: str) -> str:
    """An id that says what it is and cannot be guessed: the name in lower case, a dash, six random characters."""
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower())[:_SLUG_LENGTH].strip("-") or "experiment"
    return f"{slug}-{''.join(secrets.choice(_SUFFIX_LETTERS) for _ in range(_SUFFIX_LENGTH))}"


def _jobs_of(lines: Iterator[tuple[int, bytes]], experiment: Experiment) -> Iterator[_Placed]:
    """The jobs; after the first fault only further faults are looked for, and all raised together."""
    faults: list[Fault] = []
    for number, line in lines:
        try:
            job = read_job_line(line, number, experiment)
        except DescriptionError as error:
            faults.extend(error.faults)
            if len(faults) >= MAX_FAULTS:
                break
            continue
        if not faults:
            yield _Placed(job, number)
    if faults:
        raise DescriptionError(tuple(faults))


def _deadline_at(experiment: Experiment, created_at: float) -> float | None:
    deadline = experiment.deadline
    if isinstance(deadline, datetime):
        return deadline.timestamp()
    return None if deadline is None else created_at + deadline


def _refuse_past_deadline(record: ExperimentRecord) -> None:
    if record.deadline_at is not None and record.deadline_at <= record.created_at:
        ago = round(record.created_at - record.deadline_at)
        raise _fault("deadline", f"expected a deadline to come, this one passed {ago} s ago")


def _duplicate(place: int, placed: _Placed) -> DescriptionError:
    return _fault(f"jobs[{place}].id", f"expected unique ids, there are two jobs {placed.job.id!r}", placed.line)


def _fault(path: str, message: str, line: int | None = None) -> DescriptionError:
    return DescriptionError((Fault(path, message, line),))
