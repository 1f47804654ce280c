"""The outbox: in it when it happens, out of it when it was taken, and nowhere else in between."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from jqueuer.adapters.redis_store import RedisExperimentStore, RedisOutbox
from jqueuer.adapters.redis_store.connection import StoreClient
from jqueuer.model import Experiment
from jqueuer.notify import Occasion
from jqueuer.notifying import Facts, JobFacts, Message, new_message
from jqueuer.records import ExperimentRecord, JournalEntry
from jqueuer.states import ExperimentState
from tests.contract.backup_world import World
from tests.store_contents import contents

RUNNING, ACCOMPLISHED, FAILED = ExperimentState.RUNNING, ExperimentState.ACCOMPLISHED, ExperimentState.FAILED
FACTS = Facts(
    id="sweep",
    name="größer",
    owner="ada",
    state=ACCOMPLISHED,
    reason='it "ended"\nwell',
    created_at=1.5,
    deadline_at=None,
    finished_at=None,
    jobs=JobFacts(total=2, queued=0, running=0, accomplished=2, failed=0, cancelled=0),
    attempts=2,
    container_seconds=3.25,
    forecast=None,
)
ALWAYS = 1e12
"""A moment when everything is due."""


@pytest.fixture
def store(client: StoreClient) -> RedisExperimentStore:
    return RedisExperimentStore(client)


@pytest.fixture
def outbox(client: StoreClient) -> RedisOutbox:
    return RedisOutbox(client, journal_entries=3)


def begun(store: RedisExperimentStore, experiment_id: str = "sweep") -> str:
    store.create(
        ExperimentRecord(
            id=experiment_id,
            description=Experiment(),
            state=ExperimentState.RECEIVING,
            created_at=store.now(),
        )
    )
    store.accept(experiment_id)
    return experiment_id


def message(
    experiment_id: str = "sweep", url: str = "https://hooks.example/a b", occasion: Occasion = "accomplished"
) -> Message:
    return new_message(experiment_id, occasion, url, FACTS)


def entry(reason: str = "because", at: float = 7.5) -> JournalEntry:
    return JournalEntry(at=at, action="notify", reason=reason)


def ids(messages: list[Message]) -> list[str]:
    return [one.id for one in messages]


def test_messages_of_an_end_are_there_with_the_end_and_say_when_it_was(
    store: RedisExperimentStore, outbox: RedisOutbox
) -> None:
    begun(store)
    first, second = message(), message(url="")
    assert store.move("sweep", [RUNNING], ACCOMPLISHED, reason="done", messages=[first, second])
    finished_at = store.get("sweep").finished_at
    assert finished_at is not None
    found = outbox.due(finished_at, busy=(), limit=9)
    assert {one.id: one for one in found} == {
        one.id: one.model_copy(update={"at": finished_at}) for one in (first, second)
    }
    assert outbox.due(finished_at - 1, busy=(), limit=9) == []


def test_an_end_that_does_not_come_about_tells_nobody(
    store: RedisExperimentStore, outbox: RedisOutbox, client: StoreClient
) -> None:
    begun(store)
    assert not store.move("sweep", [ExperimentState.PAUSED], ACCOMPLISHED, messages=[message()])
    assert not store.move("nobody", [RUNNING], ACCOMPLISHED, messages=[message("nobody")])
    assert outbox.due(ALWAYS, busy=(), limit=9) == []
    assert not client.exists("jq:x:nobody:outbox")


def test_of_several_that_end_it_at_once_one_tells(store: RedisExperimentStore, outbox: RedisOutbox) -> None:
    begun(store)
    together = threading.Barrier(4)

    def end() -> None:
        together.wait()
        store.move("sweep", [RUNNING], ACCOMPLISHED, messages=[message()])

    threads = [threading.Thread(target=end) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(outbox.due(ALWAYS, busy=(), limit=9)) == 1


def test_each_receiver_gets_one_at_a_time_the_longest_due_first(
    store: RedisExperimentStore, outbox: RedisOutbox
) -> None:
    mine = [message(f"e-{number}", f"https://hooks.example/{number}") for number in range(700)]
    others = [message(f"o-{number}", f"https://{number}.example/") for number in range(3)]
    for one in (*mine, *others):
        begun(store, one.experiment_id)
        assert store.move(one.experiment_id, [RUNNING], FAILED, messages=[one])
    assert ids(outbox.due(ALWAYS, busy=(), limit=9)) == ids([mine[0], *others])
    assert ids(outbox.due(ALWAYS, busy={"https://hooks.example", "https://1.example"}, limit=9)) == ids(
        [others[0], others[2]]
    )
    assert ids(outbox.due(ALWAYS, busy=(), limit=2)) == ids([mine[0], others[0]])


def test_a_failed_try_is_counted_and_waits(store: RedisExperimentStore, outbox: RedisOutbox) -> None:
    begun(store)
    store.move("sweep", [RUNNING], FAILED, messages=[message()])
    (found,) = outbox.due(ALWAYS, busy=(), limit=9)
    outbox.postpone(found, found.at + 5, entry("not now"))
    assert outbox.due(found.at + 4.9, busy=(), limit=9) == []
    (again,) = outbox.due(found.at + 5, busy=(), limit=9)
    assert again == found.model_copy(update={"tries": 1})
    outbox.postpone(again, found.at + 15)
    assert outbox.due(ALWAYS, busy=(), limit=9) == [found.model_copy(update={"tries": 2})]
    assert [one.reason for one in store.decisions("sweep")] == ["not now"]
    assert outbox.outcomes() == {"failed": 2}


@pytest.mark.parametrize(("delivered", "outcome"), [(True, "delivered"), (False, "given-up")])
def test_what_is_closed_is_gone_and_journalled_once(
    store: RedisExperimentStore, outbox: RedisOutbox, client: StoreClient, delivered: bool, outcome: str
) -> None:
    begun(store)
    store.move("sweep", [RUNNING], FAILED, messages=[message()])
    (found,) = outbox.due(ALWAYS, busy=(), limit=9)
    for _ in range(2):
        outbox.close(found, entry(), delivered=delivered)
    outbox.postpone(found, 1.0, entry("late"))
    assert outbox.due(ALWAYS, busy=(), limit=9) == []
    assert [one.reason for one in store.decisions("sweep")] == ["because"]
    assert outbox.outcomes() == {outcome: 1}
    assert not client.exists("jq:x:sweep:outbox", "jq:outbox")


def test_the_journal_is_as_long_as_it_may_be(store: RedisExperimentStore, outbox: RedisOutbox) -> None:
    begun(store)
    store.move("sweep", [RUNNING], FAILED, messages=[message()])
    (found,) = outbox.due(ALWAYS, busy=(), limit=9)
    for number in range(5):
        outbox.postpone(found, 1.0, entry(f"{number}"))
    assert [one.reason for one in store.decisions("sweep")] == ["2", "3", "4"]


def test_a_risk_is_told_once_until_it_is_forgotten(store: RedisExperimentStore, outbox: RedisOutbox) -> None:
    begun(store)
    first, second, third = (message(occasion="at-risk") for _ in range(3))
    assert outbox.tell_at_risk("sweep", [first], entry("first"))
    assert store.get("sweep").told_at_risk
    assert not outbox.tell_at_risk("sweep", [second], entry("second"))
    outbox.forget_risk("sweep")
    assert not store.get("sweep").told_at_risk
    assert outbox.tell_at_risk("sweep", [third], entry("third", at=8.5))
    (found,) = outbox.due(ALWAYS, busy=(), limit=9)
    assert found == first.model_copy(update={"at": 7.5}), "when it was noticed"
    outbox.close(found, entry("told"), delivered=True)
    assert ids(outbox.due(ALWAYS, busy=(), limit=9)) == [third.id]
    assert [one.reason for one in store.decisions("sweep")] == ["first", "third", "told"]


def test_what_has_ended_or_is_gone_is_at_no_risk(
    store: RedisExperimentStore, outbox: RedisOutbox, client: StoreClient
) -> None:
    begun(store)
    store.move("sweep", [RUNNING], FAILED)
    before = contents(client)
    assert not outbox.tell_at_risk("sweep", [message()], entry())
    assert not outbox.tell_at_risk("nobody", [message("nobody")], entry())
    outbox.forget_risk("nobody")
    assert contents(client) == before


def test_a_message_goes_with_its_experiment(
    store: RedisExperimentStore, outbox: RedisOutbox, client: StoreClient
) -> None:
    begun(store)
    store.move("sweep", [RUNNING], FAILED, messages=[message(), message(url="")])
    found = outbox.due(ALWAYS, busy=(), limit=9)
    store.delete("sweep")
    assert {key for key in client.keys("*") if not key.startswith("jq:deleted:")} == set()
    for one in found:  # they were under way
        outbox.postpone(one, 1.0, entry())
        outbox.close(one, entry(), delivered=True)
    assert {key for key in client.keys("*") if not key.startswith("jq:deleted:")} == set()


def test_what_points_to_no_message_is_cleared_away(outbox: RedisOutbox, client: StoreClient) -> None:
    client.zadd("jq:outbox", {"gone msg_1 https://hooks.example": 1.0})
    assert outbox.due(ALWAYS, busy=(), limit=9) == []
    assert not client.exists("jq:outbox")


@pytest.fixture
def strange(store: RedisExperimentStore, outbox: RedisOutbox, client: StoreClient) -> str:
    """The field of a message that a newer version wrote; its receiver has another one that can be read."""
    begun(store, "strange")
    store.move("strange", [RUNNING], FAILED, messages=[message("strange")])
    (found,) = outbox.due(ALWAYS, busy=(), limit=9)
    line = client.hget("jq:x:strange:outbox", found.id) or ""
    client.hset("jq:x:strange:outbox", found.id, line.replace('"attempts":2', '"attempts":2,"unheard":1'))
    begun(store)
    store.move("sweep", [RUNNING], FAILED, messages=[message()])
    return found.id


def test_a_message_that_cannot_be_read_holds_up_no_other(
    outbox: RedisOutbox, client: StoreClient, strange: str
) -> None:
    client.hset("jq:x:odd:outbox", "msg_2", "nonsense")
    client.zadd("jq:outbox", {"odd msg_2 https://other.example": 1.0, "no-place": 1.0})
    with capture_logs() as logged:
        assert outbox.due(ALWAYS, busy=(), limit=9) == []
    assert [one["log_level"] for one in logged] == ["error"] * 3
    (found,) = outbox.due(ALWAYS, busy=(), limit=9)
    assert found.experiment_id == "sweep"
    assert client.zcard("jq:outbox") == 1
    assert client.hexists("jq:x:strange:outbox", strange), "a version that can read it may come"


@pytest.mark.usefixtures("strange")
def test_an_experiment_whose_message_cannot_be_read_can_be_deleted(
    store: RedisExperimentStore, outbox: RedisOutbox, client: StoreClient
) -> None:
    store.delete("strange")
    assert not client.exists("jq:x:strange:outbox")
    assert client.zcard("jq:outbox") == 1
    assert [one.experiment_id for one in outbox.due(ALWAYS, busy=(), limit=9)] == ["sweep"]


def test_a_message_that_cannot_be_read_does_not_prevent_a_restore(client: StoreClient, tmp_path: Path) -> None:
    world, outbox = World(client, tmp_path), RedisOutbox(client)
    world.begin("ended", 1)
    world.experiments.move("ended", [RUNNING], FAILED, messages=[message("ended")])
    client.hset("jq:x:ended:outbox", "msg_2", "1.0 0 {}")
    before = outbox.due(ALWAYS, busy=(), limit=9)
    world.back_up_and_restore()
    assert outbox.due(ALWAYS, busy=(), limit=9) == before
    assert client.hget("jq:x:ended:outbox", "msg_2") == "1.0 0 {}"


def test_messages_that_wait_and_risks_that_were_told_survive_a_backup(client: StoreClient, tmp_path: Path) -> None:
    world, outbox = World(client, tmp_path), RedisOutbox(client)
    for name in ("ended", "running"):
        world.begin(name, 1)
    world.run("ended", "j0", "failed", "failed", "failed")
    world.experiments.move("ended", [RUNNING], FAILED, messages=[message("ended")])
    (waiting,) = outbox.due(ALWAYS, busy=(), limit=9)
    outbox.postpone(waiting, waiting.at + 5)
    outbox.tell_at_risk("running", [message("running", url="", occasion="at-risk")], entry())
    before = outbox.due(ALWAYS, busy=(), limit=9), outbox.outcomes()
    world.back_up_and_restore()
    assert (outbox.due(ALWAYS, busy=(), limit=9), outbox.outcomes()) == before
    assert {one.experiment_id: one.tries for one in before[0]} == {"running": 0, "ended": 1}
    assert world.experiments.get("running").told_at_risk


def test_a_message_that_came_between_two_looks_of_a_backup_is_due_after_the_restore(
    client: StoreClient, tmp_path: Path
) -> None:
    world, outbox = World(client, tmp_path), RedisOutbox(client)
    world.begin("ended", 1)
    world.experiments.move("ended", [RUNNING], FAILED, messages=[message("ended")])
    before = outbox.due(ALWAYS, busy=(), limit=9)
    client.delete("jq:outbox")
    world.back_up_and_restore()
    assert outbox.due(ALWAYS, busy=(), limit=9) == before
