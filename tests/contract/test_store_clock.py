"""The clock of the store's machine is set, forward or back, or stands still: leases and back-offs do not mind."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from jqueuer.adapters.redis_store import RedisContainerRegistry, RedisExperimentStore, RedisJobLedger, connect
from jqueuer.adapters.valkey import ValkeyServer
from jqueuer.model import Experiment, FailurePolicy, Job, Task
from jqueuer.ports import Renewal
from jqueuer.records import Attempt, Claim, ExperimentRecord
from jqueuer.states import AttemptOutcome, ExperimentState, JobState

Wait = Callable[[Callable[[], object], float], None]
X = "sweep-abc123"
HOUR = 3600.0


def faketime() -> str:
    """The library that gives a process another clock."""
    found = sorted(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"))
    if found and sys.platform == "linux":
        return str(found[0])
    reason = "a store whose clock can be set needs faketime: tools/install-test-services installs it on Debian"
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


class Store:
    """A real store with a clock of its own, and an experiment with the jobs a and b."""

    def __init__(self, directory: Path) -> None:
        self._offset = directory / "offset"
        self._offset.write_text("+0")
        environment = {
            "LD_PRELOAD": faketime(),
            "FAKETIME_TIMESTAMP_FILE": str(self._offset),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }
        self.server = ValkeyServer(directory / "store", environment)
        self.server.start()
        self.client = connect(self.server.store_url)
        self.experiments = RedisExperimentStore(self.client)

    def set_clock(self, ahead_seconds: float, eventually: Wait) -> None:
        """By so much it is ahead of what it was at the start; slow or behind where negative."""
        before = self.experiments.now()
        self._offset.write_text(f"{ahead_seconds:+}")
        eventually(lambda: abs(self.experiments.now() - before) > HOUR / 2, 20)

    def ledger(self, lease_seconds: float = 30.0, **on_failure: object) -> RedisJobLedger:
        ledger = RedisJobLedger(self.client, lease_seconds=lease_seconds)
        description = Experiment(on_failure=FailurePolicy.model_validate(on_failure))
        self.experiments.create(
            ExperimentRecord(
                id=X, description=description, state=ExperimentState.RECEIVING, created_at=self.experiments.now()
            )
        )
        ledger.add(X, [Job(id=name, tasks=(Task(command=("true",)),)) for name in ("a", "b")])
        self.experiments.accept(X)
        return ledger


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store(tmp_path)
    yield store
    store.client.close()
    store.server.kill()


def claimed(ledger: RedisJobLedger) -> Claim:
    claim = ledger.claim(X, "a", container="c1", node="n1")
    assert claim is not None
    return claim


def failed(ledger: RedisJobLedger, claim: Claim) -> JobState | None:
    ended_at = claim.started_at + 1.0
    return ledger.finish(
        claim,
        Attempt(
            number=1, container="c1", node="n1", started_at=claim.started_at, finished_at=ended_at,
            outcome=AttemptOutcome.FAILED,
        ),
    )  # fmt: skip


def test_no_lease_runs_out_because_the_clock_was_set_forward(store: Store, eventually: Wait) -> None:
    ledger = store.ledger()
    claim = claimed(ledger)
    store.set_clock(HOUR, eventually)
    assert ledger.reap(X) == []
    assert ledger.renew(claim) is Renewal.KEPT


def test_leases_run_out_although_the_clock_was_set_back(store: Store, eventually: Wait) -> None:
    ledger = store.ledger(lease_seconds=0.5)
    claimed(ledger)
    store.set_clock(-HOUR, eventually)
    eventually(lambda: ledger.reap(X) == ["a"], 20)


def test_what_was_lost_meanwhile_did_not_last_for_an_hour(store: Store, eventually: Wait) -> None:
    ledger = store.ledger(lease_seconds=0.5)
    claimed(ledger)
    store.set_clock(HOUR, eventually)
    eventually(lambda: ledger.reap(X) == ["a"], 20)
    assert 0.5 <= ledger.measured(X).unsuccessful_seconds < HOUR / 2
    [attempt] = ledger.job(X, "a").attempts
    assert attempt.finished_at is not None
    assert attempt.finished_at - attempt.started_at < HOUR / 2


def test_a_back_off_lasts_as_long_as_was_said(store: Store, eventually: Wait) -> None:
    ledger = store.ledger(backoff="30m")
    assert failed(ledger, claimed(ledger)) is JobState.QUEUED
    store.set_clock(HOUR, eventually)
    assert ledger.due(X) == []
    assert ledger.claim(X, "a", container="c1", node="n1") is None
    told = ledger.job(X, "a").not_before
    assert told is not None
    assert store.experiments.now() + HOUR / 4 < told < store.experiments.now() + HOUR


def test_a_back_off_ends_although_the_clock_was_set_back(store: Store, eventually: Wait) -> None:
    ledger = store.ledger(backoff="500ms")
    failed(ledger, claimed(ledger))
    store.set_clock(-HOUR, eventually)
    eventually(lambda: ledger.due(X) == ["a"], 20)


def test_a_container_that_went_with_the_store_is_told_from_one_that_went_alone(store: Store, eventually: Wait) -> None:
    """So that a power cut is not held against the one job that runs, the last of an experiment, say."""
    ledger = store.ledger()
    claim = claimed(ledger)
    assert not ledger.store_went_too(X, "c1")
    eventually(lambda: store.experiments.now() > claim.started_at + 2.1, 20)
    store.server.kill()
    store.server.start()
    RedisContainerRegistry(store.client).ended(X, "c1")  # whoever asks has taken note of its end before
    assert ledger.store_went_too(X, "c1")
    ledger.release(X, "c1", together=True)
    assert not ledger.store_went_too(X, "c1")
    claimed(ledger)
    assert not ledger.store_went_too(X, "c1")


def test_who_could_not_renew_because_the_store_was_away_keeps_the_job(store: Store, eventually: Wait) -> None:
    """For the store an hour has passed when it comes back; nobody could have renewed anything."""
    ledger = store.ledger()
    claim = claimed(ledger)
    store.server.kill()
    (store.server.directory.parent / "offset").write_text(f"{HOUR:+}")
    store.server.start()
    assert ledger.reap(X) == []
    assert ledger.renew(claim) is Renewal.KEPT
