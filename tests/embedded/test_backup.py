"""A backup of a running system, and the system that is made of it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from jqueuer.adapters.redis_store import connect
from jqueuer.adapters.valkey import ValkeyServer
from jqueuer.client import Client
from jqueuer.embedded import Embedded
from jqueuer.errors import SettingsError
from tests.embedded.running import QUICK, System, sweep_of
from tests.store_contents import STORE_V1, contents, load_version_1

Wait = Callable[..., None]
Start = Callable[[str], System]


def jqueuer(*arguments: str | Path, stdin: bytes = b"", **environment: str) -> subprocess.CompletedProcess[bytes]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("JQUEUER_")}
    return subprocess.run(
        [sys.executable, "-c", "from jqueuer.cli import main; main()", *map(str, arguments)],
        env=clean | environment,
        input=stdin,
        capture_output=True,
        timeout=60,
    )


def done(*arguments: str | Path, **environment: str) -> str:
    """What a command said that ended well."""
    ended = jqueuer(*arguments, **environment)
    assert ended.returncode == 0, ended.stderr.decode()
    return ended.stderr.decode()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Systems in directories of these names; all that still run are ended."""
    running: list[Embedded] = []

    def started(name: str, **settings: str) -> System:
        embedded = Embedded(tmp_path / name, settings=QUICK | settings)
        running.append(embedded)
        embedded.start()
        return System(embedded, Client(embedded.url, token=embedded.token))

    yield started
    for embedded in running:
        embedded.stop(force=True)


def sweep(tmp_path: Path, jobs: int, seconds: float) -> str:
    """Each job also leaves its id as an output."""
    command = f"sleep {seconds}; echo n{{{{n}}}} | tee result >> {tmp_path}/trace"
    return sweep_of(jobs, command, outputs=["result"], post=f"echo n-post >> {tmp_path}/trace")


def outputs(system: System, experiment_id: str, directory: Path) -> dict[str, str]:
    return {path.parent.name: path.read_text() for path in system.api.download(experiment_id, directory)}


def test_a_restored_system_finishes_what_the_lost_one_had_begun(start: Start, tmp_path: Path, eventually: Wait) -> None:
    jobs, archive = 40, tmp_path / "kept" / "backup.tar.gz"
    archive.parent.mkdir()
    lost = start("lost")
    ended = lost.submit(sweep(tmp_path / "kept", 2, 0))
    lost.api.wait(ended, poll_seconds=0.05)
    begun = lost.submit(sweep(tmp_path, jobs, 0.2))
    eventually(lambda: lost.counts(begun)["accomplished"] >= 8)
    before = {job["id"] for job in lost.api.jobs(begun, state="accomplished")}
    said = done("backup", archive, "--state", lost.embedded.state_dir)
    assert said.startswith("backed up 2 experiments with 42 jobs and ")
    assert archive.stat().st_mode & 0o777 == 0o600
    at_backup = lost.counts(begun)["accomplished"]
    eventually(lambda: lost.counts(begun)["accomplished"] > at_backup)
    for pid in lost.embedded.pids.values():
        os.kill(pid, signal.SIGKILL)
    lost.embedded.stop(force=True)
    shutil.rmtree(lost.embedded.state_dir)

    assert done("restore", archive, "--state", tmp_path / "restored").startswith("restored 2 experiments with 42 jobs")
    assert {path.name for path in archive.parent.iterdir()} == {"backup.tar.gz", "trace"}
    again = start("restored")
    finished = again.api.wait(begun, poll_seconds=0.05)
    assert finished["state"] == "accomplished"
    assert finished["jobs"] == {"queued": 0, "running": 0, "accomplished": jobs, "failed": 0, "cancelled": 0} | {
        "total": jobs
    }
    for number in range(1, jobs + 1):
        outcomes = Counter(attempt["outcome"] for attempt in again.attempts(begun, f"n{number}"))
        assert outcomes["accomplished"] == 1
        assert set(outcomes) <= {"accomplished", "lost"}
    ran = Counter((tmp_path / "trace").read_text().split())
    assert set(ran) == {f"n{number}" for number in range(1, jobs + 1)} | {"n-post"}
    assert {job_id: ran[job_id] for job_id in before} == dict.fromkeys(before, 1)
    assert again.api.experiment(ended)["state"] == "accomplished"
    assert outputs(again, ended, tmp_path / "results") == {"n1": "n1\n", "n2": "n2\n"}
    assert set(ran.values()) <= {1, 2}


def test_a_stopped_system_is_backed_up_and_comes_back_the_same(start: Start, tmp_path: Path) -> None:
    first = start("first")
    ended = first.run(sweep(tmp_path, 3, 0))["experiment_id"]
    first.embedded.stop()
    done("backup", tmp_path / "backup.tar.gz", "--state", first.embedded.state_dir)
    done("restore", tmp_path / "backup.tar.gz", "--state", tmp_path / "second")
    stores = []
    for name in ("first", "second"):
        with ValkeyServer(tmp_path / name / "store") as server, connect(server.store_url) as client:
            stores.append(contents(client))
            del stores[-1]["jq:clock"]  # it goes on
    assert stores[0] == stores[1]
    assert start("second").api.experiment(ended)["jobs"]["accomplished"] == 3
    assert done("backup", tmp_path / "again.tar.gz", "--state", tmp_path / "first").startswith("backed up 1 experiment")


def test_a_running_system_in_a_directory_with_a_long_name_is_backed_up(start: Start, tmp_path: Path) -> None:
    system = start("d" * 120)
    system.run(sweep(tmp_path, 1, 0))
    said = done("backup", tmp_path / "backup.tar.gz", "--state", system.embedded.state_dir)
    assert said.startswith("backed up 1 experiment with 1 job")


def test_the_store_of_the_settings_is_backed_up_through_streams(start: Start, tmp_path: Path) -> None:
    """As in a container of the manager: the settings say where everything is."""
    system = start("system")
    ended = system.run(sweep(tmp_path, 2, 0))["experiment_id"]
    store = system.embedded.state_dir / "store" / "valkey.sock"
    here = {"JQUEUER_STORE_URL": f"unix://{store}?db=0", "JQUEUER_STATE_DIR": str(system.embedded.state_dir)}
    written = jqueuer("backup", "-", **here)
    assert (written.returncode, written.stderr[:9]) == (0, b"backed up")
    refused = jqueuer("restore", "-", stdin=written.stdout, **here)
    assert (refused.returncode, refused.stdout) == (3, b"")
    assert b"the store holds experiments already: a backup is restored into an empty one only" in refused.stderr
    with ValkeyServer(tmp_path / "store") as server, connect(server.store_url) as client:
        there = {"JQUEUER_STORE_URL": server.store_url, "JQUEUER_STATE_DIR": str(tmp_path / "there")}
        restored = jqueuer("restore", "-", stdin=written.stdout, **there)
        assert restored.returncode == 0, restored.stderr
        assert client.zrange("jq:experiments", 0, -1) == [ended]
    artifacts = tmp_path / "there" / "experiments" / ended
    assert (artifacts / "n2" / "1" / "outputs" / "result").read_text() == "n2\n"


def test_a_manager_that_runs_takes_a_restored_experiment_up_at_once(start: Start, tmp_path: Path) -> None:
    lost = start("lost")
    begun = lost.submit(sweep(tmp_path, 4, 0))
    lost.api.wait(begun, poll_seconds=0.05)
    lost.api.pause(lost.submit(sweep(tmp_path, 4, 30)))
    unfinished = next(one["id"] for one in lost.api.experiments(states=("paused",)))
    lost.embedded.stop(force=True)
    done("backup", tmp_path / "backup.tar.gz", "--state", tmp_path / "lost")
    running = start("running")
    store = tmp_path / "running" / "store" / "valkey.sock"
    here = {"JQUEUER_STORE_URL": f"unix://{store}?db=0", "JQUEUER_STATE_DIR": str(tmp_path / "running")}
    done("restore", tmp_path / "backup.tar.gz", **here)
    assert {one["id"]: one["state"] for one in running.api.experiments()} == {
        begun: "accomplished",
        unfinished: "paused",
    }
    running.api.cancel(unfinished)
    assert running.api.wait(unfinished, poll_seconds=0.05)["state"] == "cancelled"


@pytest.mark.parametrize(
    ("cut", "sentence"),
    [(lambda data: data[:-700], "is damaged, or no backup"), (lambda data: b"hello", "is damaged, or no backup")],
    ids=["truncated", "something else"],
)
def test_a_damaged_backup_is_refused_and_leaves_nothing(
    tmp_path: Path, cut: Callable[[bytes], bytes], sentence: str
) -> None:
    archive = tmp_path / "backup.tar.gz"
    version_1(tmp_path / "old")
    done("backup", archive, "--state", tmp_path / "old")
    archive.write_bytes(cut(archive.read_bytes()))
    before = sorted(tmp_path.rglob("*"))
    refused = jqueuer("restore", archive, "--state", tmp_path / "new")
    assert (refused.returncode, refused.stdout) == (3, b"")
    assert sentence in refused.stderr.decode()
    assert len(refused.stderr.decode().splitlines()) == 1
    assert sorted(tmp_path.rglob("*")) == before


def test_a_directory_that_is_not_empty_is_not_restored_into(tmp_path: Path) -> None:
    version_1(tmp_path / "old")
    done("backup", tmp_path / "backup.tar.gz", "--state", tmp_path / "old")
    refused = jqueuer("restore", tmp_path / "backup.tar.gz", "--state", tmp_path / "old")
    assert refused.returncode == 3
    assert b"is not empty: a backup is restored into a new or empty directory only" in refused.stderr
    (tmp_path / "empty").mkdir()
    done("restore", tmp_path / "backup.tar.gz", "--state", tmp_path / "empty")
    assert (tmp_path / "empty" / "experiments").is_dir()


def test_a_backup_that_fails_leaves_the_last_one(tmp_path: Path) -> None:
    archive = tmp_path / "backup.tar.gz"
    archive.write_bytes(b"the last one")
    for state, sentence in (("nowhere", b"holds no embedded system"), ("newer", b"was written by a newer JQueuer")):
        (tmp_path / "newer" / "store").mkdir(parents=True, exist_ok=True)
        (tmp_path / "newer" / "version").write_text("3")
        refused = jqueuer("backup", archive, "--state", tmp_path / state)
        assert refused.returncode in (2, 3)
        assert sentence in refused.stderr
        assert archive.read_bytes() == b"the last one"
        assert sorted(path.name for path in tmp_path.iterdir()) == ["backup.tar.gz", "newer"]


def test_a_state_directory_of_version_1_is_opened_and_goes_on(start: Start, tmp_path: Path) -> None:
    version_1(tmp_path / "old")
    system = start("old", JQUEUER_RETENTION_SECONDS="366d")
    assert (tmp_path / "old" / "version").read_text() == "2\n"
    assert {one["id"] for one in system.api.experiments()} == {"finished-gpydfw", "unfinished-7hganl"}
    assert system.api.experiment("finished-gpydfw")["state"] == "accomplished"
    assert outputs(system, "finished-gpydfw", tmp_path / "results") == {"n1": "1\n", "n2": "2\n", "n3": "3\n"}
    assert system.log("finished-gpydfw", "n3") == "number 3\n"
    assert [one["outcome"] for one in system.attempts("finished-gpydfw", "n2")] == ["failed", "accomplished"]
    finished = system.api.wait("unfinished-7hganl", poll_seconds=0.05)
    assert (finished["state"], finished["jobs"]["accomplished"]) == ("accomplished", 5)
    assert [one["outcome"] for one in system.attempts("unfinished-7hganl", "n3")] == ["lost", "accomplished"]
    assert len(system.attempts("unfinished-7hganl", "n1")) == 1


def test_a_newer_state_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "newer").mkdir()
    (tmp_path / "newer" / "version").write_text("3")
    with pytest.raises(SettingsError, match="was written by a newer JQueuer"):
        Embedded(tmp_path / "newer").start()


def version_1(state: Path) -> None:
    """A state directory as it was left before there were versions, yesterday."""
    with ValkeyServer(state / "store") as server, connect(server.store_url) as client:
        load_version_1(client)
        seconds, _ = client.time()
        client.hset("jq:x:finished-gpydfw", "finished_at", seconds - 86_400)
    shutil.copytree(STORE_V1 / "experiments", state / "experiments")
