"""The life of jobs on real stores and brokers, in any order of events: what must always hold does after every step.

I1 every job is in exactly one state, and leaves a terminal one only when its user retries it; I2 an outcome is
recorded once, and whoever comes late changes nothing; I3 attempts are no more than their causes; I4 all of it survives
the store's death; I5 counts add up, and so does everything that is derived from the jobs' states.
"""

from __future__ import annotations

import itertools
import os
from typing import ClassVar, TypeVar

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from jqueuer.adapters.celery_queue import CeleryJobQueue, celery_app
from jqueuer.adapters.valkey import ValkeyServer
from jqueuer.model import POST_JOB_ID
from jqueuer.states import AttemptOutcome, ExperimentState, JobState
from tests.contract.brokers import Broker
from tests.contract.brokers import broker as broker
from tests.contract.brokers import own_valkey as own_valkey
from tests.contract.brokers import rabbitmq as rabbitmq
from tests.contract.forged_messages import SIGNER
from tests.contract.life_cycle_driver import ACCOMPLISHED, CANCELLED, FAILED, FINISHING, PAUSED, RUNNING, Driver
from tests.contract.queue_hands import Hands

MOST_JOBS = 5
some = st.integers(0, 11)
containers = st.sampled_from(["c1", "c2", "c3"])
outcomes = st.sampled_from(
    [AttemptOutcome(name) for name in ("accomplished", "failed", "timed-out", "failed", "killed", "cancelled")]
)
_T = TypeVar("_T")


def pick(of: list[_T], which: int) -> _T:
    return of[which % len(of)]


class LifeOfJobs(RuleBasedStateMachine):
    """Everything that can happen to a few jobs of one experiment; few rules, so that each has its turn."""

    server: ClassVar[ValkeyServer]
    queue: ClassVar[CeleryJobQueue]
    hands: ClassVar[Hands]

    def __init__(self) -> None:
        super().__init__()
        self.driver = Driver(self.server, self.queue, self.hands)
        self.model = self.driver.model
        self.store_died = False

    def teardown(self) -> None:
        self.driver.close()

    @rule(which=some, container=containers)
    def claim(self, which: int, container: str) -> None:
        """A queued job by preference, else any; whatever became of its message."""
        everything = list(self.model.everything())
        queued = [job for job in everything if job.state is JobState.QUEUED]
        self.driver.claim(pick(queued if queued and which % 3 else everything, which).id, container)

    @precondition(lambda self: self.driver.current())
    @rule(which=some, outcome=outcomes, retry=st.booleans(), twice=st.booleans())
    def finish(self, which: int, outcome: AttemptOutcome, retry: bool, twice: bool) -> None:
        """Where the answer was lost, twice."""
        claim = pick(self.driver.current(), which)
        self.driver.finish(claim, outcome, retry=retry)
        if twice:
            self.driver.finish(claim, outcome, retry=retry)

    @precondition(lambda self: self.driver.late())
    @rule(which=some, outcome=outcomes)
    def come_late(self, which: int, outcome: AttemptOutcome) -> None:
        claim = pick(self.driver.late(), which)
        self.driver.renew(claim)
        self.driver.finish(claim, outcome, retry=True)

    @rule(which=some, opened=st.integers(1, 3), ends=st.lists(st.tuples(outcomes, st.booleans()), max_size=2))
    def run_a_second_copy(self, which: int, opened: int, ends: list[tuple[AttemptOutcome, bool]]) -> None:
        """Of a job that runs, or is begun for it; opened more than once where the message for the copy was lost."""
        job = pick(list(self.model.everything()), which)
        for _ in range(opened):
            self.driver.claim(job.id, self.a_free_container())
            self.driver.hedge(job)
        self.driver.claim(job.id, self.a_free_container())
        copies = [claim for claim in self.driver.current() if claim.job_id == job.id]
        for claim, (outcome, retry) in zip(copies, ends, strict=False):
            self.driver.finish(claim, outcome, retry=retry)

    @rule(which=some, ends=st.sampled_from(["failed", "killed", "lost"]))
    def a_job_ends_badly_again_and_again(self, which: int, ends: str) -> None:
        """Until there is nothing to claim any more: it has a limit."""
        job = pick(list(self.model.everything()), which)
        for _ in range(5):
            self.driver.end_back_offs()
            self.driver.claim(job.id, "c4")
            if ends == "lost":
                self.driver.lose_container("c4")
            else:
                for claim in [claim for claim in self.driver.current() if claim.job_id == job.id]:
                    self.driver.finish(claim, AttemptOutcome(ends), retry=True)

    @precondition(lambda self: self.driver.current())
    @rule(which=some, then=st.sampled_from(["renewed", "nothing", "reaped", "reaped"]))
    def a_lease_runs_out(self, which: int, then: str) -> None:
        claim = pick(self.driver.current(), which)
        self.driver.let_lease_run_out(claim)
        if then == "renewed":
            self.driver.renew(claim)
        elif then == "reaped":
            self.driver.reap()

    @rule(container=st.one_of(containers, st.none()))
    def a_container_goes(self, container: str | None) -> None:
        self.driver.lose_container(container)

    @rule(which=some, what=st.sampled_from(["due", "due", "queued", "once", "twice", "again"]))
    def publish(self, which: int, what: str) -> None:
        if what == "due":
            self.driver.end_back_offs()
            self.driver.publish_due()
        elif what == "queued":
            self.driver.publish_queued()
        else:
            job = pick(list(self.model.everything()), which)
            self.driver.publish(job, again=what == "again", times=1 + (what == "twice"))
        self.driver.compare_queue()

    @rule(which=some, container=containers, what=st.sampled_from(["handle", "handle", "keep", "lose", "let go"]))
    def take_a_message(self, which: int, container: str, what: str) -> None:
        """It is handled in any order, or lost, or its taker goes away with it."""
        self.driver.take()
        held = self.driver.hands.held
        if what == "let go":
            self.driver.let_go()
        elif held and what != "keep":
            job_id = self.driver.hands.acknowledge(which % len(held))
            if what == "handle":
                self.driver.claim(job_id, container)
        self.driver.compare_queue()

    @rule(new=st.sampled_from([PAUSED, RUNNING, RUNNING, CANCELLED, FINISHING, FINISHING, FAILED, ACCOMPLISHED]))
    def decide(self, new: ExperimentState) -> None:
        """What users and the controller decide, in the states in which they may."""
        self.driver.move(new)
        if new is FINISHING is self.model.state:
            self.driver.add_post()

    @precondition(lambda self: self.model.state is RUNNING and len(self.driver.claims) > 3)
    @rule(outcome=outcomes, container=containers)
    def run_all_that_is_left(self, outcome: AttemptOutcome, container: str) -> None:
        """Then the post command, which stays running."""
        self.driver.end_back_offs()
        for claim in self.driver.current():
            self.driver.finish(claim, outcome, retry=False)
        for job in [job for job in self.model.jobs.values() if job.state is JobState.QUEUED]:
            self.driver.claim(job.id, container)
            self.driver.finish(self.driver.claims[-1], AttemptOutcome.ACCOMPLISHED, retry=False)
        self.decide(FINISHING)
        self.driver.claim(POST_JOB_ID, container)

    @precondition(lambda self: self.model.state in (CANCELLED, FAILED))
    @rule(what=st.sampled_from(["cancel", "retry"]))
    def end_or_begin_anew(self, what: str) -> None:
        """What is queued is cancelled some time after the experiment: a manager may have died in between."""
        if what == "cancel":
            self.driver.cancel_queued()
        else:
            self.driver.retry()

    @rule(count=st.integers(0, 2))
    def add(self, count: int) -> None:
        if count and len(self.model.jobs) < MOST_JOBS:
            self.driver.add(count)
        else:
            self.driver.add_what_is_there()

    @precondition(lambda self: not self.store_died and len(self.driver.claims) > 4)
    @rule()
    def the_store_dies(self) -> None:
        self.store_died = True
        self.driver.kill_store()

    def a_free_container(self) -> str:
        names = (f"c{number}" for number in itertools.count(1))
        return next(name for name in names if self.model.held_by(name) is None)

    @invariant()
    def all_is_as_it_should_be(self) -> None:
        self.driver.look.compare(self.model)


def test_the_life_of_jobs_in_any_order(broker: Broker, own_valkey: ValkeyServer) -> None:
    app = celery_app(broker.url)

    class Machine(LifeOfJobs):
        server, queue, hands = own_valkey, CeleryJobQueue(app, SIGNER), Hands(app, SIGNER)

    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=60,
            stateful_step_count=40,
            deadline=None,
            derandomize=os.environ.get("CI") == "true",
            suppress_health_check=list(HealthCheck),
        ),
    )
