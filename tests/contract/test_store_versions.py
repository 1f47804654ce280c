"""A store of this version is used, an older one is upgraded, a newer one is refused."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from jqueuer.adapters.redis_store import RedisExperimentStore, RedisJobLedger
from jqueuer.adapters.redis_store.connection import StoreClient
from jqueuer.adapters.redis_store.experiments import EXPERIMENTS, STORE_VERSION, experiment_key
from jqueuer.adapters.redis_store.migrations import STEPS
from jqueuer.adapters.redis_store.versions import UPGRADING, VERSION, require_current, upgrade, version_of
from jqueuer.adapters.state_directory import STATE_VERSION, open_state_directory, state_version
from jqueuer.adapters.valkey import ValkeyServer
from jqueuer.errors import SettingsError, StoreUnavailableError
from jqueuer.model import Experiment
from jqueuer.records import ExperimentRecord
from jqueuer.states import ExperimentState
from tests.store_contents import contents, load_version_1

NEWER = "was written by a newer JQueuer"


def versions_of_records(client: StoreClient) -> set[str | None]:
    return {client.hget(experiment_key(one), "version") for one in client.zrange(EXPERIMENTS, 0, -1)}


def many_of_version_1(client: StoreClient, count: int) -> None:
    for number in range(count):
        client.hset(experiment_key(f"x-{number}"), mapping={"id": f"x-{number}", "state": "accomplished"})
        client.zadd(EXPERIMENTS, {f"x-{number}": number})


def test_an_empty_store_becomes_one_of_this_version(client: StoreClient) -> None:
    assert version_of(client) is None
    require_current(client)
    upgrade(client)
    assert contents(client) == {VERSION: str(STORE_VERSION)}


def test_a_store_of_version_1_is_upgraded_and_the_log_tells(client: StoreClient) -> None:
    load_version_1(client)
    before = contents(client)
    with capture_logs() as logs:
        upgrade(client)
        upgrade(client)
    assert [(entry["event"], entry["version"]) for entry in logs] == [
        ("upgrading the store", 1),
        ("upgraded the store", 2),
    ]
    after = contents(client)
    assert after.pop(VERSION) == str(STORE_VERSION)
    assert versions_of_records(client) == {"2"}
    for key in ("jq:x:finished-gpydfw", "jq:x:unfinished-7hganl"):
        del after[key]["version"]
    assert after == before


def test_what_version_1_wrote_can_be_read_and_run_on(client: StoreClient) -> None:
    load_version_1(client)
    upgrade(client)
    experiments, ledger = RedisExperimentStore(client), RedisJobLedger(client)
    records, total = experiments.page()
    assert [(record.id, record.state) for record in records] == [
        ("unfinished-7hganl", ExperimentState.RUNNING),
        ("finished-gpydfw", ExperimentState.ACCOMPLISHED),
    ]
    assert total == 2
    assert [len(job.attempts) for job in ledger.page("finished-gpydfw").jobs] == [1, 2, 1]
    assert ledger.release("unfinished-7hganl") == ["n3"]
    claim = ledger.claim("unfinished-7hganl", "n3", container="c", node="n")
    assert claim is not None
    assert claim.token == 2


def test_an_upgrade_that_was_cut_short_is_completed_by_the_next_start(client: StoreClient) -> None:
    many_of_version_1(client, 1200)
    begun: Iterator[None] = STEPS[1](client)
    list(islice(begun, 1))
    assert versions_of_records(client) == {None, "2"}
    assert version_of(client) == 1
    upgrade(client)
    assert versions_of_records(client) == {"2"}


def test_an_experiment_that_is_deleted_meanwhile_does_not_come_back(client: StoreClient) -> None:
    client.zadd(EXPERIMENTS, {"gone": 1})
    upgrade(client)
    assert not client.exists(experiment_key("gone"))


def test_a_second_manager_waits_while_the_first_upgrades(client: StoreClient) -> None:
    many_of_version_1(client, 1)
    lock = client.lock(UPGRADING, timeout=60)
    assert lock.acquire(blocking=False)
    with pytest.raises(StoreUnavailableError, match="another manager is upgrading"):
        upgrade(client)
    assert versions_of_records(client) == {None}
    lock.release()
    upgrade(client)
    assert versions_of_records(client) == {"2"}
    assert not client.exists(UPGRADING)


def test_managers_that_start_together_upgrade_once(client: StoreClient) -> None:
    many_of_version_1(client, 2000)
    together = threading.Barrier(4)

    def start() -> None:
        together.wait()
        while version_of(client) != STORE_VERSION:
            try:
                upgrade(client)
            except StoreUnavailableError:
                continue

    with capture_logs() as logs:
        threads = [threading.Thread(target=start) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [entry["event"] for entry in logs] == ["upgrading the store", "upgraded the store"]
    assert versions_of_records(client) == {"2"}


def test_new_records_say_their_version(client: StoreClient) -> None:
    store = RedisExperimentStore(client)
    store.create(ExperimentRecord(id="new", description=Experiment(), state=ExperimentState.RECEIVING, created_at=1.0))
    assert client.hget(experiment_key("new"), "version") == str(STORE_VERSION)


def test_a_newer_store_is_refused_and_not_touched(client: StoreClient) -> None:
    client.set(VERSION, STORE_VERSION + 1)
    before = contents(client)
    for refusing in (version_of, require_current, upgrade):
        with pytest.raises(SettingsError, match=rf"the store {NEWER} \(version 3, this one knows 2\)"):
            refusing(client)
    assert contents(client) == before


def test_an_agent_waits_for_the_manager_to_upgrade(client: StoreClient) -> None:
    load_version_1(client)
    with pytest.raises(StoreUnavailableError, match=r"version 1; the manager of this JQueuer upgrades it to 2"):
        require_current(client)
    upgrade(client)
    require_current(client)


@pytest.mark.parametrize("module", ["jqueuer_manager", "jqueuer_agent"])
def test_a_process_that_finds_a_newer_store_ends_with_a_sentence(
    module: str, valkey: ValkeyServer, client: StoreClient, state_dir: Path
) -> None:
    client.set(VERSION, STORE_VERSION + 1)
    ended = start(module, valkey, state_dir)
    assert ended.returncode == 3
    assert f"{module.replace('_', ' ')}: the store {NEWER}" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_manager_that_finds_a_newer_state_directory_ends_with_a_sentence(
    valkey: ValkeyServer, client: StoreClient, state_dir: Path
) -> None:
    state_dir.mkdir()
    (state_dir / "version").write_text(f"{STATE_VERSION + 1}\n")
    ended = start("jqueuer_manager", valkey, state_dir)
    assert ended.returncode == 3
    assert f"jqueuer manager: the state directory {state_dir} {NEWER}" in ended.stderr
    assert [path.name for path in state_dir.iterdir()] == ["version"]


def test_a_new_state_directory_says_its_version(state_dir: Path) -> None:
    assert state_version(state_dir) is None
    open_state_directory(state_dir)
    open_state_directory(state_dir)
    assert state_version(state_dir) == STATE_VERSION
    assert [path.name for path in state_dir.iterdir()] == ["version"]


def test_a_state_directory_of_version_1_is_upgraded_and_the_log_tells(state_dir: Path) -> None:
    (state_dir / "experiments").mkdir(parents=True)
    assert state_version(state_dir) == 1
    with capture_logs() as logs:
        open_state_directory(state_dir)
    assert [(entry["event"], entry["version"]) for entry in logs] == [("upgrading the state directory", 1)]
    assert state_version(state_dir) == STATE_VERSION


def test_a_state_directory_with_no_number_for_a_version_is_refused(state_dir: Path) -> None:
    state_dir.mkdir()
    (state_dir / "version").write_text("two")
    with pytest.raises(SettingsError, match="holds 'two'; expected a number, such as 2"):
        open_state_directory(state_dir)


def start(module: str, valkey: ValkeyServer, state_dir: Path) -> subprocess.CompletedProcess[str]:
    environment = {
        "JQUEUER_STORE_URL": valkey.store_url,
        "JQUEUER_BROKER_URL": valkey.broker_url,
        "JQUEUER_STATE_DIR": str(state_dir),
        "JQUEUER_PORT": "0",
        "JQUEUER_ADMIN_TOKEN": "jq_of_this_test_only",
        "JQUEUER_AGENT_TOKEN": "of-this-test-only",
    }
    return subprocess.run(
        [sys.executable, "-m", module], env=os.environ | environment, capture_output=True, text=True, timeout=60
    )
