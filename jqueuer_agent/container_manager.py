"""The container manager: one process per container, itself a Celery worker on the experiment's queue.

It pulls a job, claims it, runs it in its container, records the outcome, and takes the next (paper §VI-b). It is forked
from a server process that has loaded everything already, so another one costs little memory and time.
"""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import stamina
import structlog

from jqueuer.adapters.celery_queue import celery_app
from jqueuer.adapters.celery_worker import NotBegunError, take_jobs, told_to_stop
from jqueuer.adapters.directory_artifacts import DirectoryArtifacts
from jqueuer.adapters.http_artifacts import HttpArtifacts
from jqueuer.adapters.processes import adopt_orphans, end_descendants
from jqueuer.adapters.redis_store import RedisExperimentStore, RedisJobLedger, connect
from jqueuer.errors import NotFoundError, StoreUnavailableError
from jqueuer.logs import configure_logging
from jqueuer.model import Experiment
from jqueuer.ports import AgentArtifacts, Executor, JobLedger, Workplace, Workspace
from jqueuer.records import Claim, OutputFile
from jqueuer.settings import Settings
from jqueuer.signing import MessageSigner
from jqueuer.states import JobState
from jqueuer_agent.adapters.statsd_events import StatsdEvents
from jqueuer_agent.lease import Lease, LeaseKeeper
from jqueuer_agent.life_cycle import GONE, Ending, JobRun, OutputLimits
from jqueuer_agent.slots import Slots

GONE_STATUS: Final = 70
"""How a container manager ends whose container died under it."""

_PAGE: Final = 500
_FIRST_PAUSE_SECONDS: Final = 0.1
_LONGEST_PAUSE_SECONDS: Final = 2.0

log = structlog.get_logger()


@dataclass(frozen=True)
class ContainerSpec:
    """What a container manager is told about its container."""

    id: str
    experiment_id: str
    node: str
    workplace: Workplace


@dataclass
class ContainerManager:
    """Runs the jobs of one container, one after the other."""

    spec: ContainerSpec
    settings: Settings
    experiment: Experiment
    ledger: JobLedger
    artifacts: AgentArtifacts
    keeper: LeaseKeeper
    executor: Executor
    workspace: Workspace
    base_environment: dict[str, str]
    events: StatsdEvents
    slots: Slots
    abandoned: threading.Event
    """Set when everything here is about to be killed: what a command's end looks like from then on means nothing."""

    def handle(self, experiment_id: str, job_id: str) -> JobState | None:
        """Run the job a message names, if it is still to be run; its new state.

        Where the node runs as many as it may, the message waits here, unclaimed.
        """
        with self.slots.taken(lambda: not told_to_stop()) as taken:
            if not taken:
                raise NotBegunError
            return self._handle(experiment_id, job_id)

    def _handle(self, experiment_id: str, job_id: str) -> JobState | None:
        claim = self._claim(experiment_id, job_id)
        if claim is None:
            return None
        self.events.started(claim)
        ending = self._run(claim)
        while self.abandoned.is_set():
            signal.pause()
        state = self._record(claim, ending)
        if state is None:
            log.warning("outcome refused: somebody else has the job, or was faster", job=job_id, token=claim.token)
        self.events.finished(claim, ending.attempt)
        if ending.container_gone:
            log.warning("the container ended with the job", job=job_id, container=self.spec.id)
            os._exit(GONE_STATUS)
        return state

    def _claim(self, experiment_id: str, job_id: str) -> Claim | None:
        """The job, if it is to be run. A store that is away is waited for: else one message after another were gone."""
        pause_seconds = _FIRST_PAUSE_SECONDS
        while True:
            try:
                return self.ledger.claim(experiment_id, job_id, container=self.spec.id, node=self.spec.node)
            except StoreUnavailableError as error:
                if told_to_stop():
                    raise NotBegunError from error
                if pause_seconds == _FIRST_PAUSE_SECONDS:
                    log.warning("the store is away; the job is claimed later", job=job_id)
            time.sleep(pause_seconds)
            pause_seconds = min(_LONGEST_PAUSE_SECONDS, 2 * pause_seconds)

    def _record(self, claim: Claim, ending: Ending) -> JobState | None:
        """An outcome is kept until the store takes it; there is nothing better to do with it."""
        try:
            return self.ledger.finish(claim, ending.attempt, retry=ending.retry)
        except StoreUnavailableError:
            log.warning("the store is away; the outcome is kept and recorded later", job=claim.job_id)
        for again in stamina.retry_context(on=StoreUnavailableError, attempts=None, timeout=None, wait_max=5.0):
            with again:
                return self.ledger.finish(claim, ending.attempt, retry=ending.retry)
        raise AssertionError("retries have no end")

    def _run(self, claim: Claim) -> Ending:
        run = JobRun(
            claim=claim,
            experiment=self.experiment,
            executor=self.executor,
            workspace=self.workspace,
            artifacts=self.artifacts,
            limits=OutputLimits(
                self.settings.max_log_bytes, self.settings.max_output_bytes, self.settings.max_output_files
            ),
            base_environment=self.base_environment,
            lease=Lease(lambda: self.ledger.renew(claim)),
            keeper=self.keeper,
            earlier_outputs=self._earlier_outputs,
        )
        try:
            return run.run()
        except GONE as error:
            log.warning("the container died", job=claim.job_id, container=self.spec.id, error=str(error))
            os._exit(GONE_STATUS)  # the agent gives the job back at once
        except Exception as error:  # whatever it is, the job must have an outcome
            log.exception("the attempt could not be carried out", job=claim.job_id)
            return run.broken_off(f"node {self.spec.node} could not carry it out: {error}")

    def _earlier_outputs(self) -> Iterator[tuple[str, int, OutputFile]]:
        offset = 0
        while jobs := self.ledger.page(
            self.spec.experiment_id, state=JobState.ACCOMPLISHED, offset=offset, limit=_PAGE
        ).jobs:
            for job in jobs:
                if (attempt := job.deciding) is not None:
                    for output in attempt.outputs:
                        yield job.spec.id, attempt.number, output
            offset += _PAGE


def manage_container(spec: ContainerSpec, settings: Settings, ready: Any) -> None:
    """The process's main function: ``ready`` is set once it takes jobs; SIGTERM lets it finish its job and end."""
    configure_logging()
    adopt_orphans()
    abandoned = threading.Event()
    threading.Thread(target=_die_with_agent, args=(abandoned,), name="die-with-agent", daemon=True).start()
    client = connect(settings.full_store_url, max_connections=8, ca_file=settings.ca_file)
    try:
        experiment = _description(RedisExperimentStore(client), spec.experiment_id)
        executor, workspace, base_environment = spec.workplace.open(experiment, settings)
    except NotFoundError:
        return
    except GONE as error:
        log.warning("no jobs can be run in the container", container=spec.id, error=str(error))
        os._exit(GONE_STATUS)
    manager = ContainerManager(
        spec=spec,
        settings=settings,
        experiment=experiment,
        ledger=RedisJobLedger(
            client, lease_seconds=settings.lease_seconds, max_lost_attempts=settings.max_lost_attempts
        ),
        artifacts=_artifacts(settings),
        keeper=LeaseKeeper(settings.heartbeat_seconds),
        executor=executor,
        workspace=workspace,
        base_environment=base_environment,
        events=StatsdEvents(settings.statsd_host, settings.statsd_port),
        slots=Slots(settings.state_dir / "slots", settings.max_concurrent_jobs),
        abandoned=abandoned,
    )
    status = take_jobs(
        celery_app(settings.full_broker_url, ca_file=settings.ca_file),
        spec.experiment_id,
        MessageSigner(settings.agent_token.get_secret_value()),
        name=f"{spec.id}@{spec.node}",
        handle=manager.handle,
        ready=ready.set,
    )
    os._exit(status)  # threads of the pool may linger; nothing of theirs is left to do


def _description(experiments: RedisExperimentStore, experiment_id: str) -> Experiment:
    for again in stamina.retry_context(on=StoreUnavailableError, attempts=None, timeout=None, wait_max=5.0):
        with again:
            return experiments.get(experiment_id).description
    raise AssertionError("retries have no end")


def _artifacts(settings: Settings) -> AgentArtifacts:
    if settings.manager_url:
        token = settings.agent_token.get_secret_value()
        return HttpArtifacts(settings.manager_url, token, ca_file=settings.ca_file)
    return DirectoryArtifacts(settings.state_dir)


def _die_with_agent(abandoned: threading.Event) -> None:
    """A local container does not outlive its agent: whoever comes next could not know of it."""
    agent = multiprocessing.parent_process()
    if agent is not None:
        multiprocessing.connection.wait([agent.sentinel])
        abandoned.set()
        end_descendants()
        os.kill(os.getpid(), signal.SIGKILL)
