"""What every store of experiments owes the manager; run against each adapter of the port."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from redis import ResponseError

from cautoscaler import Durations
from jqueuer.adapters.redis_store import RedisExperimentStore, RedisJobLedger, connect
from jqueuer.adapters.redis_store.connection import StoreClient
from jqueuer.adapters.valkey import ValkeyServer
from jqueuer.errors import NotFoundError, StoreUnavailableError
from jqueuer.model import Experiment, Job, Task
from jqueuer.records import Attempt, ExperimentRecord, JournalEntry
from jqueuer.states import AttemptOutcome, ExperimentState
from jqueuer_manager.history import history_of

RUNNING, PAUSED = ExperimentState.RUNNING, ExperimentState.PAUSED
ACCOMPLISHED, FAILED, CANCELLED = ExperimentState.ACCOMPLISHED, ExperimentState.FAILED, ExperimentState.CANCELLED
TIMED = Experiment(name="t", deadline=90.0)
SWEEP = Experiment(name="sweep", image="model:1")


@pytest.fixture
def store(client: StoreClient) -> RedisExperimentStore:
    return RedisExperimentStore(client, journal_entries=10)


def created(
    store: RedisExperimentStore,
    experiment_id: str,
    created_at: float = 1000.0,
    description: Experiment = TIMED,
    owner: str = "",
) -> ExperimentRecord:
    record = ExperimentRecord(
        id=experiment_id,
        description=description,
        state=ExperimentState.RECEIVING,
        created_at=created_at,
        deadline_at=created_at + 90.0,
        owner=owner,
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


def ended(
    store: RedisExperimentStore,
    experiment_id: str,
    description: Experiment = SWEEP,
    state: ExperimentState = ACCOMPLISHED,
) -> None:
    created(store, experiment_id, description=description)
    store.accept(experiment_id)
    assert store.move(experiment_id, [RUNNING], state)


def test_experiments_of_the_same_image_and_name_are_alike_once_they_are_finished(store: RedisExperimentStore) -> None:
    ended(store, "first")
    ended(store, "second", state=FAILED)
    ended(store, "cut short", state=CANCELLED)
    ended(store, "other image", SWEEP.model_copy(update={"image": "model:2"}))
    ended(store, "other name", SWEEP.model_copy(update={"name": "else"}))
    created(store, "under way", description=SWEEP)
    store.accept("under way")
    asking = SWEEP.model_copy(update={"deadline": 77.0})
    assert store.finished_like(asking) == ["second", "first"]
    store.move("first", [ACCOMPLISHED], RUNNING)
    assert store.finished_like(asking) == ["second"], "while it runs again"
    store.move("first", [RUNNING], ACCOMPLISHED)
    assert store.finished_like(asking) == ["first", "second"]
    store.delete("first")
    assert store.finished_like(asking) == ["second"]


def test_without_an_image_the_name_tells_what_is_alike(store: RedisExperimentStore) -> None:
    ended(store, "named", Experiment(name="sweep"))
    ended(store, "nameless", Experiment())
    assert store.finished_like(Experiment(name="sweep")) == ["named"]
    assert store.finished_like(Experiment()) == []


def test_only_the_latest_of_a_kind_are_known(store: RedisExperimentStore, client: StoreClient) -> None:
    for number in range(25):
        ended(store, f"e-{number}")
    assert store.finished_like(SWEEP) == [f"e-{number}" for number in range(24, 4, -1)]
    for number in range(25):
        store.delete(f"e-{number}")
    assert not [key for key in client.keys("*") if not key.startswith("jq:deleted:")]


def test_history_is_the_durations_of_the_five_latest_that_have_any(
    store: RedisExperimentStore, client: StoreClient
) -> None:
    ledger = RedisJobLedger(client)
    assert history_of(store, ledger, SWEEP) == Durations()
    for number, seconds in enumerate((1.0, 2.0, 4.0, 8.0, None, 16.0, 2.0)):
        name = f"e-{number}"
        created(store, name, description=SWEEP)
        ledger.add(name, [Job(id="j", tasks=(Task(command=("true",)),))])
        store.accept(name)
        claim = ledger.claim(name, "j", container="c", node="n")
        assert claim is not None
        if seconds is not None:
            attempt = Attempt(
                number=claim.token,
                container="c",
                node="n",
                started_at=claim.started_at,
                finished_at=claim.started_at + seconds,
                outcome=AttemptOutcome.ACCOMPLISHED,
            )
            ledger.finish(claim, attempt)
        store.move(name, [RUNNING], ACCOMPLISHED)
    assert history_of(store, ledger, SWEEP) == Durations.of([2.0, 4.0, 8.0, 16.0, 2.0])


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
    assert ledger.claim("t-1", "j8", container="d", node="n") is not None
    assert ledger.release("t-1", "d") == ["j8"]
    store.journal("t-1", JournalEntry(at=1.0, action="hold"))
    store.delete("t-1")
    assert set(client.keys("*")) == {"jq:deleted:t-1", "jq:clock"}, "that it was here, for a while"
    assert 0 < client.ttl("jq:deleted:t-1") <= 86_400


def test_who_counts_something_of_an_experiment_that_was_just_deleted_does_not_bring_it_back(
    store: RedisExperimentStore, client: StoreClient
) -> None:
    """Its controller looks at it meanwhile; it has to see that there is none, or its containers would stay."""
    accepted(store, "sweep")
    store.delete("sweep")
    RedisJobLedger(client).record_scale("sweep", containers=3)
    with pytest.raises(NotFoundError):
        store.get("sweep")


def test_a_deleted_experiment_is_told_from_one_that_was_never_here(store: RedisExperimentStore) -> None:
    accepted(store, "t-1")
    accepted(store, "t-2")
    assert not store.was_deleted("t-1")
    store.delete("t-1")
    store.delete("t-1")
    assert store.was_deleted("t-1"), "however often it is deleted"
    assert not store.was_deleted("t-2")
    assert not store.was_deleted("nobody")


def test_what_was_cleared_away_while_it_was_received_does_not_come_back(
    store: RedisExperimentStore, client: StoreClient
) -> None:
    created(store, "t-1")
    store.delete("t-1")
    before = sorted(client.keys("*"))
    with pytest.raises(NotFoundError, match="cleared away"):
        store.accept("t-1")
    with pytest.raises(NotFoundError):
        store.amend("t-1", maximum=7)
    assert sorted(client.keys("*")) == before


def test_what_was_never_accepted_is_deleted_without_a_trace(store: RedisExperimentStore, client: StoreClient) -> None:
    """It had no containers, and requests that are broken off may be many."""
    created(store, "t-1")
    store.delete("t-1")
    assert not store.was_deleted("t-1")
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


def test_a_store_that_is_busy_with_a_long_script_is_away_for_that_time(
    valkey: ValkeyServer, client: StoreClient
) -> None:
    limit = client.config_get("lua-time-limit")["lua-time-limit"]
    client.config_set("lua-time-limit", 1)
    endless = threading.Thread(target=_run_for_ever, args=(valkey.store_url,))
    try:
        endless.start()
        with pytest.raises(StoreUnavailableError, match="BUSY"):
            _ask_for_ever(client)
    finally:
        client.script_kill()
        endless.join()
        client.config_set("lua-time-limit", limit)


def _run_for_ever(store_url: str) -> None:
    with connect(store_url) as other, pytest.raises(ResponseError, match="killed"):
        other.eval("while true do end", 0)


def test_pages_can_be_of_one_owner_and_of_states_at_once(store: RedisExperimentStore) -> None:
    for number, owner in enumerate(["alice", "bob", "alice", ""]):
        created(store, f"t-{number}", 1000.0 + number, owner=owner)
        store.accept(f"t-{number}")
    assert store.move("t-0", (RUNNING,), PAUSED)

    def ids(**query: Any) -> tuple[list[str], int]:
        found, total = store.page(**query)
        return [record.id for record in found], total

    assert ids(owner="alice") == (["t-2", "t-0"], 2)
    assert ids(owner="alice", states=[PAUSED]) == (["t-0"], 1)
    assert ids(owner="alice", offset=1, limit=1) == (["t-0"], 2)
    assert ids(owner="nobody") == ([], 0)
    assert ids()[1] == 4
    assert store.get("t-1").owner == "bob"


def test_an_owners_experiments_count_from_their_receipt_until_they_have_ended(store: RedisExperimentStore) -> None:
    created(store, "t-1", owner="alice")
    created(store, "t-2", owner="alice")
    created(store, "t-3", owner="bob")
    assert store.unfinished_of("alice") == 2
    store.accept("t-1")
    assert store.unfinished_of("alice") == 2
    store.move("t-1", (RUNNING,), FAILED)
    assert store.unfinished_of("alice") == 1, "its last containers may still be ending"
    store.settle("t-1")
    store.delete("t-2")
    assert (store.unfinished_of("alice"), store.unfinished_of("bob"), store.unfinished_of("carol")) == (0, 1, 0)


def _ask_for_ever(client: StoreClient) -> None:
    while True:
        client.ping()
