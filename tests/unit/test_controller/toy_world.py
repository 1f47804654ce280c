"""A toy cluster in virtual time: just enough of store, queue and containers to carry commands out."""

from dataclasses import dataclass, field, replace
from typing import Any

from controller_looks import START, record

from jqueuer.controller import (
    Command,
    Commands,
    ControllerState,
    CreateService,
    DeleteQueue,
    DestroyService,
    Finish,
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
from jqueuer.model import POST_JOB_ID
from jqueuer.records import ContainerStatus, Counts, ExperimentRecord, JournalEntry, ServiceStatus, Statistics
from jqueuer.scheduling import Demand, Share
from jqueuer.states import ContainerState, ExperimentState, JobState

JOB_SECONDS = 3.0


@dataclass
class Container:
    id: str
    job: str | None = None
    busy_until: float = 0.0
    draining: bool = False
    node: str = "n1"
    hangs: bool = False
    """It takes no jobs, and nobody told."""


@dataclass
class World:
    """One experiment of so many jobs; a tick is a second."""

    jobs: dict[str, JobState]
    record: ExperimentRecord
    now: float = START
    state: ControllerState = field(default_factory=ControllerState)
    queue: list[str] = field(default_factory=list)
    requested: int | None = None
    containers: list[Container] = field(default_factory=list)
    runs: dict[str, int] = field(default_factory=dict)
    journal: list[JournalEntry] = field(default_factory=list)
    requests: list[int] = field(default_factory=list)
    settled: bool = False
    post: JobState | None = None
    job_seconds: float = JOB_SECONDS
    share: Share | None = None
    demand: Demand | None = None
    broker_away: bool = False

    @classmethod
    def of(cls, jobs: int, **description: Any) -> "World":
        states = {f"job-{index}": JobState.QUEUED for index in range(jobs)}
        return cls(states, record(published=0, **description))

    def tick(self, fail_after: int | None = None) -> None:
        """Work for a second, then look and obey; only so many commands, if the rest is to fail."""
        self.now += 1.0
        self._work()
        seen = self._look()
        state, commands = step(self.state, seen)
        kept = commands if fail_after is None else commands[:fail_after]
        if self._carry_out(kept) and len(kept) == len(commands):
            self.state = state
        self.demand = demand_of(self.state, seen, self.record, self.requested or 0)

    def counts(self) -> Counts:
        states = list(self.jobs.values())
        return Counts(**{state.value: states.count(state) for state in JobState})

    def cancel(self) -> None:
        if not self.record.state.terminal:
            self._move(ExperimentState.CANCELLED)
            waiting = (job for job, state in self.jobs.items() if state is JobState.QUEUED)
            self.jobs.update(dict.fromkeys(list(waiting), JobState.CANCELLED))

    def switch(self, before: ExperimentState, after: ExperimentState) -> None:
        if self.record.state is before:
            self._move(after)

    def _move(self, state: ExperimentState) -> None:
        self.record = self.record.model_copy(update={"state": state})

    def _look(self) -> Observation:
        service = None
        if self.requested is not None or self.containers:
            statuses = tuple(map(self._status, self.containers))
            there = sum(not container.draining for container in self.containers)
            unplaced = max(0, (self.requested or 0) - there)
            service = ServiceStatus(requested=self.requested or 0, containers=statuses, unplaced=unplaced)
        done = self.counts().accomplished
        sums = Statistics(
            tasks=done,
            task_seconds=self.job_seconds * done,
            tasks_defined=len(self.jobs),
            attempts=sum(self.runs.values()),
        )
        return Observation(
            now=self.now,
            record=self.record,
            counts=self.counts(),
            statistics=sums,
            service=service,
            share=self.share,
            queue_length=0 if self.broker_away else len(self.queue),
            queue_problem="the broker does not answer" if self.broker_away else "",
            post=self.post,
        )

    def _status(self, container: Container) -> ContainerStatus:
        state = ContainerState.BUSY if container.job else ContainerState.IDLE
        state = ContainerState.DRAINING if container.draining else state
        return ContainerStatus(id=container.id, node=container.node, state=state, started_at=self.now)

    def _work(self) -> None:
        for container in self.containers:
            if container.job and container.busy_until <= self.now:
                self._set(container.job, JobState.ACCOMPLISHED)
                container.job = None
        self._obey_the_request()
        for container in self.containers:
            idles = not container.job and not container.draining and not container.hangs
            if idles and self.queue and not self.broker_away:
                self._claim(container, self.queue.pop(0))

    def _obey_the_request(self) -> None:
        wanted = [container for container in self.containers if not container.draining]
        for container in sorted(wanted, key=lambda one: one.job is None)[: max(0, len(wanted) - (self.requested or 0))]:
            container.draining = True
        self.containers = [one for one in self.containers if one.job or not one.draining]
        missing = (self.requested or 0) - len(wanted)
        self.containers += [Container(f"{self.now}-{index}") for index in range(missing)]

    def _claim(self, container: Container, job: str) -> None:
        runs_in = ExperimentState.FINISHING if job == POST_JOB_ID else ExperimentState.RUNNING
        if self.record.state is runs_in and self._get(job) is JobState.QUEUED:
            self._set(job, JobState.RUNNING)
            self.runs[job] = self.runs.get(job, 0) + 1
            container.job, container.busy_until = job, self.now + self.job_seconds

    def _get(self, job: str) -> JobState | None:
        return self.post if job == POST_JOB_ID else self.jobs[job]

    def _set(self, job: str, state: JobState) -> None:
        if job == POST_JOB_ID:
            self.post = state
        else:
            self.jobs[job] = state

    def _carry_out(self, commands: Commands) -> bool:
        return all(self._obey(command) for command in commands)

    def _obey(self, command: Command) -> bool:
        if self.broker_away and isinstance(command, PublishNext | RepublishQueued | QueuePost | DeleteQueue):
            return False
        match command:
            case CreateService(containers) | ScaleService(containers):
                self.requested = containers
                self.requests.append(containers)
            case DestroyService():
                self.requested = None
            case PublishNext(start, count):
                self.queue += list(self.jobs)[start : start + count]
                self.record = self.record.model_copy(update={"published": start + count})
            case RepublishQueued(emptied=emptied):
                self.queue = [] if emptied else self.queue
                self.queue += [job for job, state in self.jobs.items() if state is JobState.QUEUED]
                self.queue += [POST_JOB_ID] if self.post is JobState.QUEUED else []
            case ReplaceContainers(container_ids):
                self.containers = [one for one in self.containers if one.id not in container_ids]
            case QueuePost():
                self.post = self.post or JobState.QUEUED
                self.queue.append(POST_JOB_ID)
            case DeleteQueue():
                self.queue.clear()
            case MoveTo(state, expected) | Finish(state, expected):
                if self.record.state not in expected:
                    return False
                self._move(state)
            case Journal(entry):
                self.journal.append(entry)
            case Settle():
                self.settled = True
        return True

    def set_clock(self, by_seconds: float) -> None:
        """The store's clock is set, which the shell notices; jobs take as long as before."""
        self.now += by_seconds
        self.state = shifted(self.state, by_seconds)
        for container in self.containers:
            container.busy_until += by_seconds

    def forget(self) -> None:
        """The manager is killed and started again."""
        self.state = replace(ControllerState())
