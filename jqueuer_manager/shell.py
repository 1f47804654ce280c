"""The shell around one experiment controller: observes, steps, carries the commands out."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Final

import structlog

from cautoscaler import Advice, Durations
from cautoscaler.wording import amount
from jqueuer.controller import (
    AskPolicy,
    CancelQueued,
    Command,
    Commands,
    ControllerState,
    CreateService,
    DeleteQueue,
    DestroyService,
    Finish,
    Hedge,
    Journal,
    MoveTo,
    Observation,
    PublishNext,
    QueuePost,
    ReplaceContainers,
    RepublishQueued,
    ScaleService,
    Settle,
    demand_of,
    shifted,
    step,
)
from jqueuer.errors import EngineUnavailableError, NotFoundError
from jqueuer.model import POST_JOB_ID, Job, Task
from jqueuer.records import Counts, ExperimentRecord, JournalEntry, ServiceStatus
from jqueuer.scheduling import Demand, Share
from jqueuer.states import ContainerState, ExperimentState, JobState
from jqueuer_manager.adapters.policy_service import ask_policy
from jqueuer_manager.clock import StoreClock
from jqueuer_manager.history import history_of
from jqueuer_manager.notices import Notices
from jqueuer_manager.recorder import Recorder
from jqueuer_manager.services import Services
from jqueuer_manager.watched_queue import WatchedQueue

_REPUBLISH_BATCH: Final = 1000
_AFTER_REFUSAL_SECONDS: Final = 2.0
"""The engine, and the registry behind it, need not be asked the same at every look."""

NOBODY: Final[Mapping[str, int]] = MappingProxyType({})

log = structlog.get_logger()


class Shell:
    """Performs for one experiment; used by one thread at a time."""

    demand: Demand | None = None
    """What it asks of the cluster as of its last look; None before the first, and where it has no share in it."""

    def __init__(self, services: Services, experiment_id: str) -> None:
        self._services = services
        self._id = experiment_id
        self.at_work: Counter[str] = Counter()
        """By node: its containers that did not idle at its last look."""
        self._queue = WatchedQueue(services.queue)
        self._clock = StoreClock(services.experiments.now)
        self._state = ControllerState()
        self._record_seen: ExperimentRecord | None = None
        self._history: Durations | None = None
        self._recorder = Recorder(services.experiments, experiment_id)
        self._notices = Notices(services, experiment_id)
        self._question: Future[Advice] | None = None
        self._refused = ""
        """Why the engine did not carry out the last commands, in words."""
        self._not_before = 0.0

    def look(self, share: Share | None = None, others_at_work: Mapping[str, int] = NOBODY) -> bool:
        """Look, act, and again while jobs are being published; True once nothing is left to care for.

        ``share`` is how much of the cluster the experiment may have, None where that is not limited;
        ``others_at_work`` how many containers of other experiments do not idle, by node.
        """
        while True:
            self._repair()
            if time.monotonic() < self._not_before:
                return False
            observation = replace(self._observe(share), others_at_work=others_at_work)
            self.at_work = _at_work(observation.service)
            state, commands = step(self._state, observation)
            if not self._perform_all(commands):
                return False
            self._state = state
            settled = any(isinstance(command, Settle) for command in commands)
            self._recorder.saw(observation, state, last=settled)
            self._notices.saw(observation, partial(self._recorder.forecast_now, observation, state))
            self._tell_demand(observation, commands)
            if observation.advice is not None and not any(isinstance(command, AskPolicy) for command in commands):
                self._question = None  # only now: had a command failed, the answer would be needed again
            if not any(isinstance(command, PublishNext) for command in commands):
                return settled

    def _perform_all(self, commands: Commands) -> bool:
        """Carry them out in order; False if the experiment has moved on meanwhile and the rest is void."""
        try:
            for command in commands:
                log.debug("command", experiment=self._id, command=command)
                if not self._perform(command):
                    return False
        except EngineUnavailableError as error:
            if self._refused != str(error):  # told once, and tried again at every look
                self._refused = str(error)
                self._journal(JournalEntry(at=self._services.experiments.now(), action="problem", reason=self._refused))
            self._not_before = time.monotonic() + _AFTER_REFUSAL_SECONDS
            raise
        self._refused = ""
        return True

    def _repair(self) -> None:
        """Give jobs whose lease ran out back to the queue, and those whose back-off has ended."""
        ledger = self._services.ledger
        lost = ledger.reap(self._id)
        if lost:
            reason = f"the lease of {len(lost)} running job(s) ran out: {', '.join(lost[:5])}"
            self._journal(JournalEntry(at=self._services.experiments.now(), action="requeue", reason=reason))
        if self._queue.refused:
            return  # they would be taken, and told to nobody
        due = ledger.due(self._id)
        if due:
            self._publish_again(due)

    def _tell_demand(self, observation: Observation, commands: Commands) -> None:
        """Say what it asks of the cluster now; what it was when the engine last answered, while it does not."""
        record = observation.record or self._record_seen
        if observation.engine_problem or record is None:
            return
        requested = observation.requested
        for command in commands:
            if isinstance(command, CreateService | ScaleService):
                requested = command.containers
        if observation.record is None:
            record = record.model_copy(update={"state": ExperimentState.CANCELLED})  # deleted: it wants nothing more
        self._record_seen = record
        self.demand = demand_of(self._state, observation, record, requested)

    def _observe(self, share: Share | None) -> Observation:
        services = self._services
        record, service, engine_problem = self._record(), None, ""
        now = self._read_clock(record)
        try:
            service = services.orchestrator.status(self._id)
        except EngineUnavailableError as error:
            engine_problem = str(error)
            log.warning("the engine is away; looking again", experiment=self._id, error=engine_problem)
        if record is None:
            return Observation(now=now, record=None, service=service, engine_problem=engine_problem)
        if record.state is ExperimentState.CANCELLED:
            services.ledger.cancel(self._id)  # whoever cancelled it may have been cut short
        if self._history is None:
            self._history = history_of(services.experiments, services.ledger, record.description)
        post, post_problem = self._post(record)
        standing = services.ledger.standing(self._id)
        queue_length, queue_problem = self._queue.look(self._id)
        observation = Observation(
            now=now,
            record=record,
            counts=standing.counts,
            statistics=standing.statistics,
            measured=standing.measured,
            history=self._history,
            service=service,
            engine_problem=engine_problem,
            share=share if record.description.container_name is None else None,
            queue_length=queue_length,
            queue_problem=queue_problem,
            patience_seconds=services.settings.watchdog_seconds,
            jobs_per_node=services.settings.max_concurrent_jobs,
            delayed=standing.delayed,
            hedgeable=self._hedgeable(record, standing.counts, service),
            post=post,
            post_problem=post_problem,
            advice=self._answer(),
        )
        if observation.containers():
            services.ledger.record_scale(self._id, containers=observation.containers())
        return observation

    def _read_clock(self, record: ExperimentRecord | None) -> float:
        """The store's clock; where it was set, what is remembered goes with it."""
        now, jump = self._clock.read()
        if jump:
            self._state = shifted(self._state, jump)
        if jump and record is not None:
            way = "forward" if jump > 0 else "back"
            reason = f"the store's clock was set {way} by {amount(round(abs(jump)))} s: deadlines are by that clock"
            self._journal(JournalEntry(at=now, action="clock", reason=reason))
        return now

    def _record(self) -> ExperimentRecord | None:
        try:
            return self._services.experiments.get(self._id)
        except NotFoundError:
            return None

    def _hedgeable(self, record: ExperimentRecord, counts: Counts, service: ServiceStatus | None) -> frozenset[str]:
        if not record.description.hedge or counts.queued or service is None or not service.count(ContainerState.IDLE):
            return frozenset()
        running = [container.job for container in service.containers if container.job is not None]
        return frozenset(self._services.ledger.hedgeable(self._id, running))

    def _post(self, record: ExperimentRecord) -> tuple[JobState | None, str]:
        if record.description.post is None:
            return None, ""
        try:
            job = self._services.ledger.job(self._id, POST_JOB_ID)
        except NotFoundError:
            return None, ""
        return job.state, job.attempts[-1].reason if job.attempts else ""

    def _perform(self, command: Command) -> bool:
        """Carry one out; False if the experiment has moved on meanwhile and the rest is void."""
        services = self._services
        match command:
            case CreateService(containers=containers):
                record = self._record()
                if record is not None:
                    services.orchestrator.create(self._id, record.description, containers)
            case ScaleService(containers=containers, from_=before, by_autoscaler=counted):
                services.orchestrator.scale(self._id, containers)
                if counted:
                    up = containers > before
                    services.ledger.record_scale(self._id, up=int(up), down=int(not up))
            case DestroyService():
                services.orchestrator.destroy(self._id)
            case PublishNext(start=start, count=count):
                self._queue.publish(self._id, services.ledger.ids(self._id, start, count))
                services.experiments.set_published(self._id, start + count)
            case RepublishQueued(emptied=emptied):
                if emptied:
                    self._queue.purge(self._id)
                self._republish()
            case ReplaceContainers(container_ids=container_ids):
                services.orchestrator.replace(self._id, container_ids)
            case CancelQueued():
                services.ledger.cancel(self._id)
            case Hedge(job_id=job_id, entry=entry):
                if services.ledger.hedge(self._id, job_id):
                    self._queue.publish(self._id, [job_id], again=True)
                    self._journal(entry)
            case QueuePost():
                self._queue_post()
            case DeleteQueue():
                self._queue.delete(self._id)
            case (
                MoveTo(state=state, expected=expected, reason=reason)
                | Finish(state=state, expected=expected, reason=reason)
            ):
                messages = self._notices.of_end(state, reason)
                return services.experiments.move(self._id, expected, state, reason=reason, messages=messages)
            case Settle():
                services.experiments.settle(self._id)
            case AskPolicy():
                self._ask(command)
            case Journal(entry=entry):
                self._journal(entry)
        return True

    def _journal(self, entry: JournalEntry) -> None:
        self._services.experiments.journal(self._id, entry)

    def _republish(self) -> None:
        queued = self._services.ledger.counts(self._id).queued
        for start in range(0, max(queued, 1), _REPUBLISH_BATCH):
            self._publish_again(self._services.ledger.queued(self._id, start, _REPUBLISH_BATCH))

    def _publish_again(self, job_ids: list[str]) -> None:
        """Publish jobs that may have had an attempt: those go before the ones that wait for their first."""
        requeued = self._services.ledger.requeued(self._id, job_ids)
        for again in (True, False):
            if chosen := [job_id for job_id in job_ids if (job_id in requeued) is again]:
                self._queue.publish(self._id, chosen, again=again)

    def _queue_post(self) -> None:
        record = self._record()
        if record is None or record.description.post is None:
            return
        post = record.description.post
        job = Job(
            id="post",
            tasks=(Task(command=post.command, timeout=post.timeout or record.description.timeout),),
            environment={**record.description.environment, **post.environment},
            inputs=post.inputs,
            outputs=post.outputs,
        )
        self._services.ledger.add_post(self._id, job)
        self._queue.publish(self._id, [POST_JOB_ID])

    def _ask(self, question: AskPolicy) -> None:
        answer = self._question = Future[Advice]()
        # A thread per question: a service that never ends its answer holds up nobody but itself.
        asking = partial(ask_policy, question, self._services.settings.ca_file)
        threading.Thread(target=lambda: answer.set_result(asking()), name="policy", daemon=True).start()

    def _answer(self) -> Advice | None:
        return self._question.result() if self._question is not None and self._question.done() else None


def _at_work(service: ServiceStatus | None) -> Counter[str]:
    containers = () if service is None else service.containers
    return Counter(one.node for one in containers if one.state is not ContainerState.IDLE)
