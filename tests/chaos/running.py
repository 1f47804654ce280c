"""An experiment, and one fault after the other while it runs."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeVar

from jqueuer.client import Client, ClientError
from tests.chaos.accounting import Account, Attempt, Hit, Injection, account
from tests.chaos.diary import Diary, uptime_seconds
from tests.chaos.schedule import Fault, Kind

PATIENCE_SECONDS: Final = 60.0
"""The next fault comes after so long, recovered or not."""
_STATES: Final = ("queued", "running", "accomplished", "failed", "cancelled")
_END_SECONDS: Final = 300.0
_LOOK_SECONDS: Final = 0.1
_TARGET_SECONDS: Final = 30.0

_Found = TypeVar("_Found")


class World(Protocol):
    """A running system that can be broken."""

    @property
    def kinds(self) -> Sequence[Kind]:
        """What can be broken."""

    @property
    def lease_seconds(self) -> float:
        """How long an attempt that is not heard of is waited for."""

    @property
    def api(self) -> Client:
        """Its manager, who may be away."""

    def description(self, jobs: list[dict[str, Any]]) -> dict[str, Any]:
        """The experiment of these jobs."""

    def inject(self, fault: Fault, experiment_id: str) -> tuple[str, Hit]:
        """Break something, and give back what breaks for a while only; what it was, in words and as jobs feel it."""

    def missing(self) -> str:
        """What is not there or takes no work, in words; empty where nothing is missing."""


@dataclass(frozen=True)
class Plan:
    """What is to happen."""

    jobs: int
    shortest_seconds: float
    longest_seconds: float
    jobs_per_fault: int
    seed: int


@dataclass
class Result:
    """What happened."""

    account: Account
    seconds: float
    wrong_counts: list[str] = field(default_factory=list)
    """Counts that did not add up, and outcomes that were taken back."""

    @property
    def sound(self) -> bool:
        """Whether everything is as promised."""
        return self.account.sound and not self.wrong_counts


class Run:
    """One experiment under faults."""

    def __init__(
        self,
        world: World,
        diary: Diary,
        plan: Plan,
        faults: Sequence[Fault],
        watch: Callable[[Injection], None] = lambda injection: None,
    ) -> None:
        self._world = world
        self._diary = diary
        self._plan = plan
        self._faults = faults
        self._watch = watch
        self._id = ""
        self._seen: dict[str, Any] = {}
        self._wrong: list[str] = []
        self._injections: list[Injection] = []

    def run(self) -> Result:
        """From the submission to the account."""
        plan = self._plan
        jobs = self._diary.jobs(plan.jobs, plan.shortest_seconds, plan.longest_seconds, plan.seed)
        body = json.dumps(self._world.description(jobs)).encode()
        self._id = self._world.api.submit_bytes(body, "application/json")["id"]
        began = time.monotonic()
        for fault in self._faults:
            self._await_work(fault)
            if self._ended:
                raise RuntimeError(f"all jobs were done before fault {fault.number}: take more jobs")
            self._injections.append(self._inject(fault))
            self._watch(self._injections[-1])
        self._await_end()
        seconds = time.monotonic() - began
        states, attempts = self._records()
        found = account(states, attempts, self._diary.said(), self._injections, self._world.lease_seconds)
        return Result(found, seconds, self._wrong)

    @property
    def _ended(self) -> bool:
        return bool(self._seen) and self._seen["state"] in ("accomplished", "failed", "cancelled")

    def _look(self) -> bool:
        """Ask the manager; whether it answered."""
        try:
            seen = self._world.api.experiment(self._id)
        except ClientError:
            return False
        jobs, before = seen["jobs"], self._seen.get("jobs", {})
        if sum(jobs[state] for state in _STATES) != self._plan.jobs:
            self._wrong.append(f"these jobs are not {self._plan.jobs} in all: {jobs}")
        if jobs["accomplished"] < before.get("accomplished", 0):
            self._wrong.append(f"of {before['accomplished']} accomplished jobs {jobs['accomplished']} are left")
        self._seen = seen
        return True

    def _await_work(self, fault: Fault) -> None:
        """Until as many jobs are done as this fault comes after."""
        enough, deadline = fault.number * self._plan.jobs_per_fault, time.monotonic() + _END_SECONDS
        while not (self._look() and (self._seen["jobs"]["accomplished"] >= enough or self._ended)):
            if time.monotonic() > deadline:
                raise RuntimeError(f"before fault {fault.number} nothing goes on any more: {self._seen}")
            time.sleep(_LOOK_SECONDS)

    def _inject(self, fault: Fault) -> Injection:
        after_jobs = self._seen["jobs"]["accomplished"]
        began, began_at = time.monotonic(), time.time()
        target, hit = self._world.inject(fault, self._id)
        ended_at, ended_uptime = time.time(), uptime_seconds()
        missing = waited_for = ""
        while missing := self._missing(ended_uptime):
            waited_for = missing
            if time.monotonic() - began >= PATIENCE_SECONDS:
                break
            time.sleep(_LOOK_SECONDS)
        whole_seconds = None if missing else time.monotonic() - began
        return Injection(fault, target, hit, began_at, ended_at, whole_seconds, after_jobs, waited_for)

    def _missing(self, since_uptime_seconds: float) -> str:
        """What is not yet as it was before the fault; empty where nothing is."""
        if missing := self._world.missing():
            return missing
        if not self._look():
            return "the manager's answer"
        if self._ended:
            return ""
        containers, jobs = self._seen["containers"], self._seen["jobs"]
        wanted = min(containers["requested"], jobs["queued"] + jobs["running"])
        if containers["running"] < wanted or containers["starting"]:
            return f"{wanted - containers['running']} containers, {containers['starting']} starting"
        return "" if self._diary.went_on_since(since_uptime_seconds) else "a job done"

    def _await_end(self) -> None:
        deadline = time.monotonic() + _END_SECONDS
        while not (self._look() and self._ended):
            if time.monotonic() > deadline:
                self._wrong.append(f"it did not end: {self._seen.get('state')}, {self._seen.get('reason')}")
                return
            time.sleep(_LOOK_SECONDS)

    def _records(self) -> tuple[dict[str, str], list[Attempt]]:
        states, attempts = {}, []
        for job in list(self._world.api.jobs(self._id)):
            states[job["id"]] = job["state"]
            detail = self._world.api.job(self._id, job["id"])
            attempts += [_attempt(job["id"], attempt) for attempt in detail["attempts"]]
        recorded = self._world.api.experiment(self._id)["statistics"]["attempts"]
        if recorded != len(attempts):
            self._wrong.append(f"{recorded} attempts were counted, and {len(attempts)} recorded")
        if len(states) != self._plan.jobs:
            self._wrong.append(f"of {self._plan.jobs} jobs {len(states)} are there")
        return states, attempts


def soon(look: Callable[[], list[_Found]]) -> list[_Found]:
    """What there is to hit, as soon as there is something."""
    deadline = time.monotonic() + _TARGET_SECONDS
    while not (found := look()):
        if time.monotonic() > deadline:
            raise RuntimeError("there is nothing to hit: is the experiment over?")
        time.sleep(_LOOK_SECONDS)
    return found


def _attempt(job: str, record: dict[str, Any]) -> Attempt:
    names = ("number", "container", "node", "started_at", "finished_at", "outcome")
    return Attempt(job, *(record[name] for name in names))
