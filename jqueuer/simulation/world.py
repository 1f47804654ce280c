"""Virtual time: what happens to jobs and containers between two looks of the controller.

Events are totally ordered: by time, then by kind (job ends first), then by the order in which they were planned. Job
ends are planned in progress (:mod:`jqueuer.simulation.pace`), everything else in time.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from heapq import heappop, heappush, heapreplace

from cautoscaler.measured import busy_between
from jqueuer.model import MAX_CONTAINERS
from jqueuer.simulation import streams
from jqueuer.simulation.jobs import NONE, Jobs
from jqueuer.simulation.pace import Pace
from jqueuer.simulation.scenario import ScaleDown, Scenario
from jqueuer.simulation.service import Container, Node, Service

UP, READY, AGAIN, LOST, BACK, LEASE, CHANGE = range(1, 8)
"""The kinds of events, in their order at the same moment; job ends come before all of them."""

_GROWTH = 8
"""The controller looks again when so many times fewer jobs than before have been accomplished since its last look."""

Happening = Callable[[], None]


class World:
    """The experiment's jobs and containers, moving in virtual time; seconds from the receipt of the experiment."""

    def __init__(self, scenario: Scenario, seed: int, scale_down: ScaleDown, *, traced: bool) -> None:
        cluster = scenario.cluster
        self.now = 0.0
        self.jobs = Jobs(
            streams.works(scenario, seed), streams.failures(scenario, seed), scenario.experiment.on_failure
        )
        slots = cluster.slots or MAX_CONTAINERS
        pulls = streams.image_pulls(scenario, seed)
        self.service = Service(tuple(Node(index + 1, slots, pull) for index, pull in enumerate(pulls)))
        self.attention = False
        """Something has happened that the controller should look at."""
        self._noticed = False
        """It is going to look anyway."""
        self.stop_at = math.inf
        """Somebody wants to know when so many jobs are accomplished."""
        self.killed = self.lost = 0
        self.up = 0
        self.peak = 0
        self.container_seconds = 0.0
        """Of those that have ended."""
        self.trace: list[tuple[float, int, int]] | None = [] if traced else None
        self._kills = scale_down == "kill"
        self._delay = streams.start_delays(scenario, seed)
        self._first_start, self._gap = cluster.first_start, scenario.gap
        self._look, self._lease, self._backoff = scenario.look, scenario.lease, scenario.experiment.on_failure.backoff
        self._pace = Pace(scenario.contention)
        self._ends: list[tuple[float, int, Container]] = []
        self._events: list[tuple[float, int, int, Happening]] = []
        self._planned = 0
        self._idle: dict[int, Container] = {}
        self._looked_at = 0
        for loss in scenario.node_loss:
            node = self.service.nodes[loss.node - 1]
            self.plan(loss.at, LOST, lambda node=node: self._lose_node(node))  # type: ignore[misc]
            if loss.back is not None:
                self.plan(loss.back, BACK, lambda node=node: self._bring_back(node))  # type: ignore[misc]

    @property
    def barren(self) -> bool:
        """Whether nothing is going to happen unless the controller does something."""
        return not self._ends and not self._events

    def next_look(self, at: float) -> float:
        """The first of the controller's regular looks at or after a moment."""
        return math.ceil(at / self._look - 1e-9) * self._look

    def plan(self, at: float, kind: int, happening: Happening) -> None:
        """Something will happen."""
        self._planned += 1
        heappush(self._events, (at, kind, self._planned, happening))

    def run(self, until: float) -> None:
        """Let everything happen up to and at a moment; less, where something asks for attention or is to stop it."""
        while True:
            self._work(until)
            if self._halted:
                return
            if not self._events or self._events[0][0] > until:
                self.now = max(self.now, until) if until < math.inf else self.now
                return
            at, _, _, happening = heappop(self._events)
            self.now = max(self.now, at)
            happening()
            if self._halted:
                return

    def finish(self) -> None:
        """Let everything happen until no job is left, or nothing is going to happen any more; nobody looks."""
        while self.jobs.left and not self.barren:
            self.notice()
            self.run(math.inf)

    def notice(self) -> None:
        """The controller is going to look: until then nothing calls for its attention."""
        self.attention, self._noticed = False, True

    def looked(self) -> None:
        """The controller has seen everything up to now."""
        self.attention = self._noticed = False
        self._looked_at = self.jobs.accomplished

    def publish(self, until: int) -> None:
        """Hand jobs to the job queue for the first time, up to this one."""
        self.jobs.published = max(self.jobs.published, until)
        self._feed()

    def request(self, containers: int) -> None:
        """Another number of containers is requested; the service is created where there was none."""
        self.service.requested = containers
        self._reconcile()

    def destroy(self) -> None:
        """The service is removed; busy containers drain, or are killed."""
        self.service.requested = 0
        self._reconcile()
        self.service.requested = None

    def paid_seconds(self) -> float:
        """Container-seconds so far: lifetimes of all, from the moment they were asked for and placed."""
        return self.container_seconds + sum(self.now - one.asked_at for one in self.service.containers.values())

    def worked_seconds(self) -> float:
        """Job-seconds so far, of all attempts."""
        running = sum(self.now - one.busy_since for one in self.service.containers.values() if one.job != NONE)
        return self.jobs.job_seconds + self.jobs.unsuccessful_seconds + running

    @property
    def _halted(self) -> bool:
        return self.attention or self.jobs.accomplished >= self.stop_at

    def _work(self, until: float) -> None:
        """Let jobs end up to and at a moment, or up to and at the next event, which these ends may plan."""
        ends, events = self._ends, self._events
        while ends and not self._halted:
            progress, ticket, container = ends[0]
            if container.ticket != ticket:
                heappop(ends)
                continue
            at, limit = self._pace.time_of(progress), min(until, events[0][0]) if events else until
            if at > limit:
                return
            if self._gap or container.draining or not self.jobs.streaming:
                heappop(ends)
                self.now = max(self.now, at)
                self._end(container, progress)
            else:
                self._stream(limit)
            self._count()

    def call(self) -> None:
        """The controller should look."""
        self.attention = not self._noticed or self.jobs.left == 0

    def _count(self) -> None:
        """Enough jobs have ended for another look."""
        if self.jobs.accomplished - self._looked_at > self._looked_at // _GROWTH or self.jobs.left == 0:
            self.call()

    def _stream(self, until: float) -> None:
        """Of containers that go from one fresh job to the next, busy all the time: the whole of a large experiment.

        The same as :meth:`_end` for each of them, only that nothing has to be asked, since nothing changes.
        """
        jobs, ends = self.jobs, self._ends
        works, first, fresh = jobs.works, jobs.unstarted, jobs.fresh.append
        enough = self.stop_at if self._noticed else min(self.stop_at, self._looked_at + self._looked_at // _GROWTH + 1)
        stop, job, number = min(jobs.published, first + max(1, enough - jobs.accomplished)), first, self._planned
        pace, now, total = self._pace, self.now, jobs.job_seconds
        alike, alike_seconds, busy = 0, 0.0, pace.busy
        since, base, factor = pace.since, pace.progress, pace.slowness
        while job < stop:
            progress, ticket, container = ends[0]
            at = since + (progress - base) * factor
            if at > until or container.ticket != ticket or container.draining:
                break
            now = at
            seconds = at - container.busy_since
            total += seconds  # one by one, so that the sum does not depend on when this was interrupted
            if container.busy_with == busy:
                alike += 1
                alike_seconds += seconds
            else:
                jobs.count_concurrency(busy_between(container.busy_with, busy), seconds)
                container.busy_with = busy
            fresh(seconds)
            number += 1
            container.ticket, container.busy_since, container.job = number, at, job
            heapreplace(ends, (progress + works[job], number, container))
            job += 1
        ended = job - first
        jobs.unstarted, self._planned, self.now = job, number, max(self.now, now)
        jobs.accomplished += ended
        jobs.attempts += ended
        jobs.job_seconds = total
        if alike:
            jobs.count_concurrency(busy, alike_seconds, alike)

    def _end(self, container: Container, progress: float) -> None:
        """An attempt ends by itself; what becomes of its job and its container."""
        job, seconds = container.job, self.now - container.busy_since
        container.job = NONE
        if self.jobs.end(job, seconds, busy_between(container.busy_with, self._pace.busy)):
            self.plan(self.next_look(self.now + self._backoff), AGAIN, lambda: self._again(job))
        if container.draining:
            self._pace.change_busy(-1, self.now)
            self._leave(container)
        elif self._gap:
            self._pace.change_busy(-1, self.now)
            self.plan(self.now + self._gap, READY, lambda: self._ready(container))
        elif (following := self.jobs.take()) != NONE:
            self._attempt(container, following, progress)
        else:
            self._pace.change_busy(-1, self.now)
            self._idle[container.number] = container

    def _again(self, job: int) -> None:
        self.jobs.hand_out_again(job)
        self._feed()

    def _feed(self) -> None:
        """Idle containers take jobs, the ones idle for longest first."""
        while self._idle and self.jobs.waiting:
            self._ready(self._idle.pop(next(iter(self._idle))))

    def _ready(self, container: Container) -> None:
        """A container takes its next job, or waits for one."""
        if container.gone:
            return
        job = self.jobs.take()
        if job == NONE:
            self._idle[container.number] = container
            return
        self._pace.change_busy(1, self.now)
        self._attempt(container, job, self._pace.progress_at(self.now))

    def _attempt(self, container: Container, job: int, progress: float) -> None:
        self._planned += 1
        container.job, container.busy_since, container.ticket = job, self.now, self._planned
        container.busy_with = self._pace.busy
        heappush(self._ends, (progress + self.jobs.works[job], self._planned, container))

    def _reconcile(self) -> None:
        """Start and end containers as Swarm would, until as many stay as are requested, or nodes are full."""
        for container in self.service.victims():
            self._give_up(container)
        for _ in range(self.service.short):
            if (placed := self.service.place(self.now)) is None:
                break
            self._start(placed)
        self._note()

    def _start(self, container: Container) -> None:
        node = container.node
        if node.image_at is None:
            node.image_at = self.now + node.image_pull_seconds
        up_at = max(max(self.now, node.image_at) + self._delay(), self._first_start)
        self.plan(up_at, UP, lambda: self._come_up(container))
        self.peak = max(self.peak, len(self.service.containers))

    def _come_up(self, container: Container) -> None:
        if container.gone:
            return
        container.up_at = self.now
        self.up += 1
        self.call()
        self._ready(container)
        self._note()

    def _give_up(self, container: Container) -> None:
        if container.job == NONE:
            self._leave(container)
        elif self._kills:
            job = self._cut_off(container)
            self.jobs.kill(job, self.now - container.busy_since)
            self.killed += 1
            self._leave(container)
            self._feed()
        else:
            self.service.drain(container)

    def _cut_off(self, container: Container) -> int:
        """The container's job does not go on; which it was."""
        job, container.job, container.ticket = container.job, NONE, 0
        self._pace.change_busy(-1, self.now)
        return job

    def _leave(self, container: Container) -> None:
        """A container ends."""
        self._idle.pop(container.number, None)
        self.service.remove(container)
        self.container_seconds += self.now - container.asked_at
        if container.up_at is not None:
            self.up -= 1
        self.call()
        if container.draining and self.service.short:
            self._reconcile()
        else:
            self._note()

    def _lose_node(self, node: Node) -> None:
        node.present = False
        if node.image_at is not None and node.image_at > self.now:
            node.image_at = None  # the pull is cut short, too
        for container in [one for one in self.service.containers.values() if one.node is node]:
            if container.job != NONE:
                job, seconds = self._cut_off(container), self.now - container.busy_since
                self.lost += 1
                again = self.next_look(self.now + self._lease)
                self.plan(again, LEASE, lambda job=job, seconds=seconds: self._lease_over(job, seconds))  # type: ignore[misc]
            self._leave(container)
        self._reconcile()

    def _lease_over(self, job: int, seconds: float) -> None:
        if self.jobs.lose(job, seconds):
            self._again(job)
        self.call()

    def _bring_back(self, node: Node) -> None:
        node.present = True
        self.call()
        self._reconcile()

    def _note(self) -> None:
        if self.trace is None:
            return
        if self.trace and self.trace[-1][0] == self.now:
            self.trace.pop()
        if not self.trace or self.trace[-1][1:] != (self.service.requested or 0, self.up):
            self.trace.append((self.now, self.service.requested or 0, self.up))
