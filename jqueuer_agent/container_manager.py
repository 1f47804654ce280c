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
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import stamina
import structlog
from celery import Celery
from celery.exceptions import SecurityWarning
from celery.signals import worker_ready

from jqueuer.adapters.celery_queue import TASK_NAME, celery_app, job_queue, queue_name
from jqueuer.adapters.directory_artifacts import DirectoryArtifacts
from jqueuer.adapters.processes import adopt_orphans, end_descendants
from jqueuer.adapters.redis_store import RedisExperimentStore, RedisJobLedger, connect
from jqueuer.errors import ContainerGoneError, NotFoundError, StoreUnavailableError
from jqueuer.model import Experiment
from jqueuer.ports import Artifacts, Executor, JobLedger, Workplace, Workspace
from jqueuer.records import Claim, OutputFile
from jqueuer.settings import Settings
from jqueuer.states import JobState
from jqueuer_agent.adapters.statsd_events import StatsdEvents
from jqueuer_agent.life_cycle import Ending, JobRun, OutputLimits

GONE_STATUS: Final = 70
"""How a container manager ends whose container died under it."""

_PAGE: Final = 500

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
    artifacts: Artifacts
    executor: Executor
    workspace: Workspace
    base_environment: dict[str, str]
    events: StatsdEvents
    abandoned: threading.Event
    """Set when everything here is about to be killed: what a command's end looks like from then on means nothing."""

    def handle(self, experiment_id: str, job_id: str) -> JobState | None:
        """Run the job a message names, if it is still to be run; its new state."""
        claim = self.ledger.claim(experiment_id, job_id, container=self.spec.id, node=self.spec.node)
        if claim is None:
            return None
        self.events.started(claim)
        ending = self._run(claim)
        while self.abandoned.is_set():
            signal.pause()
        state = self._record(claim, ending)
        if state is None:
            log.warning("outcome refused: the job was given to somebody else", job=job_id, token=claim.token)
        self.events.finished(claim, ending.attempt)
        return state

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
            renew=lambda: self.ledger.renew(claim),
            earlier_outputs=self._earlier_outputs,
        )
        try:
            return run.run()
        except ContainerGoneError:
            log.warning("the container died", job=claim.job_id, container=self.spec.id)
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
                last = job.attempts[-1]
                for output in last.outputs:
                    yield job.spec.id, last.number, output
            offset += _PAGE


def manage_container(spec: ContainerSpec, settings: Settings, ready: Any) -> None:
    """The process's main function: ``ready`` is set once it takes jobs; SIGTERM lets it finish its job and end."""
    adopt_orphans()
    abandoned = threading.Event()
    threading.Thread(target=_die_with_agent, args=(abandoned,), name="die-with-agent", daemon=True).start()
    client = connect(settings.full_store_url, max_connections=8)
    experiments = RedisExperimentStore(client)
    try:
        record = experiments.get(spec.experiment_id)
    except NotFoundError:
        return
    executor, workspace, base_environment = spec.workplace.open(record.description, settings)
    manager = ContainerManager(
        spec=spec,
        settings=settings,
        experiment=record.description,
        ledger=RedisJobLedger(
            client, lease_seconds=settings.lease_seconds, max_lost_attempts=settings.max_lost_attempts
        ),
        artifacts=DirectoryArtifacts(settings.state_dir),
        executor=executor,
        workspace=workspace,
        base_environment=base_environment,
        events=StatsdEvents(settings.statsd_host, settings.statsd_port),
        abandoned=abandoned,
    )
    _work(celery_app(settings.full_broker_url), manager, ready)


def _die_with_agent(abandoned: threading.Event) -> None:
    """A local container does not outlive its agent: whoever comes next could not know of it."""
    agent = multiprocessing.parent_process()
    if agent is not None:
        multiprocessing.connection.wait([agent.sentinel])
        abandoned.set()
        end_descendants()
        os.kill(os.getpid(), signal.SIGKILL)


def _work(app: Celery, manager: ContainerManager, ready: Any) -> None:
    warnings.filterwarnings("ignore", category=SecurityWarning)  # about pickle, which is not accepted here
    experiment_id = manager.spec.experiment_id
    app.conf.task_queues = [job_queue(experiment_id, str(app.conf.broker_url))]

    @app.task(name=TASK_NAME)
    def run_job(experiment: str, job: str) -> None:
        manager.handle(experiment, job)

    @worker_ready.connect(weak=False)
    def announce(**_: object) -> None:
        ready.set()

    worker = app.Worker(
        hostname=f"{manager.spec.id}@{manager.spec.node}",
        pool="threads",
        concurrency=1,
        queues=[queue_name(experiment_id)],
        without_mingle=True,
        without_gossip=True,
        without_heartbeat=True,
        loglevel="WARNING",
        quiet=True,
    )
    worker.start()
    os._exit(worker.exitcode or 0)  # threads of the pool may linger; nothing of theirs is left to do
