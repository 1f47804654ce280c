"""What every store of experiments owes the manager; run against each adapter of the port."""

from __future__ import annotations

import pytest

from jqueuer.adapters.redis_store import RedisExperimentStore, RedisJobLedger, connect
from jqueuer.adapters.redis_store.connection import StoreClient
from jqueuer.errors import NotFoundError, StoreUnavailableError
from jqueuer.model import Experiment, Job, Task
from jqueuer.records import ExperimentRecord, JournalEntry
from jqueuer.states import ExperimentState

RUNNING, PAUSED = ExperimentState.RUNNING, ExperimentState.PAUSED
ACCOMPLISHED, FAILED = ExperimentState.ACCOMPLISHED, ExperimentState.FAILED


@pytest.fixture
def store(client: StoreClient) -> RedisExperimentStore:
    return RedisExperimentStore(client, journal_entries=10)


def created(store: RedisExperimentStore, experiment_id: str, created_at: float = 1000.0) -> ExperimentRecord:
    record = ExperimentRecord(
        id=experiment_id,
        description=Experiment(name="t", deadline=90.0),
        state=ExperimentState.RECEIVING,
        created_at=created_at,
        deadline_at=created_at + 90.0,
        notices=("one thing", "another"),
        source="/somewhere/t.yaml",
    )
    store.create(record)
    return record


def accepted(store: RedisExperimentStore, experiment_id: str, created_at: float = 1000.0) -> ExperimentRecord:
    record = created(store, experiment_id, created_at)
    store.accept(experiment_id)
    return record.model_copy(update={"state": RUNNING})


def test_what_was_accepted_is_remembered_as_it_was(store: RedisExperimentStore) -> None:
    assert accepted(store, "t-1") == store.get("t-1")
    assert store.active() == ["t-1"]


def test_what_is_still_being_received_is_seen_by_nobody(store: RedisExperimentStore) -> None:
    created(store, "t-1")
    with pytest.raises(NotFoundError):
        store.get("t-1")
    assert (store.active(), store.page()[1], store.unfinished_receipts()) == ([], 0, ["t-1"])


def test_a_state_changes_only_from_an_expected_one(store: RedisExperimentStore) -> None:
    accepted(store, "t-1")
    assert not store.move("t-1", [PAUSED], RUNNING)
    assert store.move("t-1", [RUNNING], PAUSED, reason="lunch")
    assert (store.get("t-1").state, store.get("t-1").reason) == (PAUSED, "lunch")
    assert not store.move("nobody", [RUNNING], PAUSED)


def test_an_end_is_stamped_and_a_new_beginning_clears_it(store: RedisExperimentStore) -> None:
    accepted(store, "t-1")
    before = store.now()
    store.move("t-1", [RUNNING], FAILED)
    finished_at = store.get("t-1").finished_at
    assert finished_at is not None
    assert before - 0.001 <= finished_at <= store.now() + 0.001
    store.move("t-1", [FAILED], RUNNING)
    assert store.get("t-1").finished_at is None


def test_an_ended_experiment_is_active_until_it_is_settled(store: RedisExperimentStore) -> None:
    accepted(store, "t-1")
    store.move("t-1", [RUNNING], ACCOMPLISHED)
    assert store.active() == ["t-1"]
    store.settle("t-1")
    assert store.active() == []


def test_an_experiment_that_runs_again_meanwhile_is_not_settled(store: RedisExperimentStore) -> None:
    accepted(store, "t-1")
    store.settle("t-1")
    assert store.active() == ["t-1"]


def test_deadline_and_limits_can_be_changed_apart(store: RedisExperimentStore) -> None:
    accepted(store, "t-1")
    assert store.amend("t-1", deadline_at=5000.0).deadline_at == 5000.0
    changed = store.amend("t-1", maximum=7)
    assert (changed.deadline_at, changed.description.containers.min, changed.description.containers.max) == (
        5000.0,
        1,
        7,
    )
    with pytest.raises(NotFoundError):
        store.amend("nobody", maximum=7)


def test_experiments_are_paged_newest_first_and_filtered(store: RedisExperimentStore) -> None:
    for number in range(5):
        accepted(store, f"t-{number}", created_at=1000.0 + number)
    store.move("t-3", [RUNNING], FAILED)
    records, total = store.page(offset=1, limit=2)
    assert ([record.id for record in records], total) == (["t-3", "t-2"], 5)
    records, total = store.page(states=[FAILED])
    assert ([record.id for record in records], total) == (["t-3"], 1)


def test_decisions_are_kept_in_order_and_in_bounded_number(store: RedisExperimentStore) -> None:
    accepted(store, "t-1")
    for number in range(15):
        store.journal("t-1", JournalEntry(at=float(number), action="hold", reason=f"{number}"))
    assert [entry.reason for entry in store.decisions("t-1")] == [f"{number}" for number in range(5, 15)]
    assert [entry.reason for entry in store.decisions("t-1", limit=2)] == ["13", "14"]


def test_a_deleted_experiment_leaves_nothing(store: RedisExperimentStore, client: StoreClient) -> None:
    accepted(store, "t-1")
    ledger = RedisJobLedger(client)
    ledger.add("t-1", [Job(id=f"j{number}", tasks=(Task(command=("true",)),)) for number in range(2500)])
    ledger.add_post("t-1", Job(id="post", tasks=(Task(command=("true",)),)))
    assert ledger.claim("t-1", "j7", container="c", node="n") is not None
    store.journal("t-1", JournalEntry(at=1.0, action="hold"))
    store.delete("t-1")
    assert client.keys("*") == []


def test_the_first_use_of_a_key_stands_until_its_owner_gives_it_back(store: RedisExperimentStore) -> None:
    assert store.remember_key("k", "digest", "t-1") == ("digest", "t-1")
    assert store.remember_key("k", "other", "t-2") == ("digest", "t-1")
    store.forget_key("k", "t-2")
    assert store.remember_key("k", "other", "t-2") == ("digest", "t-1")
    store.forget_key("k", "t-1")
    assert store.remember_key("k", "other", "t-2") == ("other", "t-2")


def test_a_store_that_is_away_is_said_so() -> None:
    with pytest.raises(StoreUnavailableError, match="store does not answer"):
        RedisExperimentStore(connect("unix:///nowhere/valkey.sock")).get("t-1")
