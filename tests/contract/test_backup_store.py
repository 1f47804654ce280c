"""A backup of a store, and the store that is made of it."""

from __future__ import annotations

import gzip
import io
import os
import random
import threading
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jqueuer.access import Role, TokenRecord, User
from jqueuer.adapters.redis_store import RedisContainerRegistry, RedisSessionStore, RedisTokenStore
from jqueuer.adapters.redis_store.connection import StoreClient
from jqueuer.adapters.redis_store.experiments import EXPERIMENTS, STORE_VERSION, experiment_key
from jqueuer.adapters.redis_store.versions import VERSION, upgrade
from jqueuer.backup import back_up
from jqueuer.model import POST_JOB_ID, FailurePolicy
from jqueuer.ports import Renewal
from jqueuer.records import ContainerStatus, Counts, JournalEntry
from jqueuer.states import AttemptOutcome, ContainerState, ExperimentState, JobState
from tests.contract.backup_world import World, job
from tests.store_contents import STORE_V1, contents, load_version_1

RESTORED_FROM = 1001
"""The number of the first attempt after a restore."""


@pytest.fixture
def world(client: StoreClient, tmp_path: Path) -> World:
    return World(client, tmp_path)


ENDS = st.lists(st.sampled_from(["accomplished", "failed", "requeued", "cancelled", "twice"]), min_size=1, max_size=5)
LIVES = st.lists(st.tuples(ENDS, st.booleans(), st.booleans()), max_size=3)


@given(lives=LIVES)
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_store_at_rest_comes_back_exactly(lives: list[tuple[list[str], bool, bool]], world: World) -> None:
    world.client.flushall()
    upgrade(world.client)
    for number, (ends, post, deleted) in enumerate(lives):
        experiment_id = f"sweep-{number}"
        live(world, experiment_id, ends, post)
        if deleted:
            world.experiments.delete(experiment_id)
    before = contents(world.client)
    world.back_up_and_restore()
    after = contents(world.client)
    for store in (before, after):
        store.pop("jq:clock", None)  # it goes on
        for key in [key for key in store if key.endswith(":busy_since")]:
            del store[key]  # of containers that there are no more
    assert after == before


def live(world: World, experiment_id: str, ends: list[str], post: bool) -> None:
    """An experiment from its beginning to its end."""
    world.begin(experiment_id, len(ends), hedge=True, idempotent=True, on_failure=FailurePolicy(max_attempts=2))
    world.experiments.journal(experiment_id, JournalEntry(at=1.5, action="hold", reason="größer"))
    for number, how in enumerate(ends):
        job_id = f"j{number}"
        if how == "failed":
            world.run(experiment_id, job_id, "failed", "failed")
        elif how == "requeued":
            world.run(experiment_id, job_id, "failed", "accomplished")
        elif how == "twice":
            first = world.claim(experiment_id, job_id)
            assert world.ledger.hedge(experiment_id, job_id)
            world.finish(world.claim(experiment_id, job_id, "c2"))
            assert world.finish(first) is None
        else:
            world.run(experiment_id, job_id, how)
    if post:
        world.ledger.add_post(experiment_id, job("post"))
        world.run(experiment_id, POST_JOB_ID, "accomplished")
    world.ledger.due(experiment_id)
    ended = {"failed": ExperimentState.FAILED, "cancelled": ExperimentState.CANCELLED}
    world.end(experiment_id, ended.get(ends[-1], ExperimentState.ACCOMPLISHED))


def test_what_has_a_time_to_live_keeps_it(world: World) -> None:
    world.begin("sweep", 1)
    world.begin("gone", 1)
    world.experiments.delete("gone")
    world.experiments.remember_key("key", "digest", "sweep")
    world.experiments.remember_key("key-of-gone", "digest", "gone")
    world.client.set("jq:deleted:long-ago", 1, px=1)
    user = User(name="ada", role=Role.SUBMITTER)
    token = TokenRecord(id="t", digest="d", user=user, created_at=1.0)
    RedisTokenStore(world.client).add(token)
    left = {key: world.client.pttl(key) for key in ("jq:key:key", "jq:deleted:gone")}
    world.back_up_and_restore()
    for key, before in left.items():
        assert before - 60_000 < world.client.pttl(key) <= before
    assert world.experiments.remember_key("key", "other", "other") == ("digest", "sweep")
    assert world.experiments.remember_key("key-of-gone", "other", "other") == ("other", "other")
    assert world.experiments.was_deleted("gone")
    assert not world.client.exists("jq:deleted:long-ago")
    assert RedisTokenStore(world.client).find("d") == token


def test_sessions_of_browsers_are_left_out(world: World) -> None:
    """A backup outlives them; who has it need not be who was logged in then."""
    world.begin("sweep", 1)
    RedisSessionStore(world.client).open("0" * 64, "d", seconds=1000)
    assert len(world.client.keys("jq:session:*")) == 2
    world.back_up_and_restore()
    assert not world.client.keys("jq:session:*")


def test_a_running_job_is_queued_again_and_its_late_outcome_refused(world: World) -> None:
    world.begin("sweep", 3)
    world.run("sweep", "j0", "accomplished")
    running = world.claim("sweep", "j1")
    RedisContainerRegistry(world.client).request("sweep", 2)
    status = ContainerStatus(id="c1", node="n", state=ContainerState.BUSY, started_at=1.0)
    RedisContainerRegistry(world.client).observe("sweep", status)
    world.back_up()
    after_the_backup = world.claim("sweep", "j2", "c2")
    world.lose_everything()
    world.restore()
    assert world.ledger.counts("sweep") == Counts(queued=2, accomplished=1)
    assert [one.outcome for one in world.ledger.job("sweep", "j1").attempts] == [AttemptOutcome.LOST]
    assert RedisContainerRegistry(world.client).requested() == {}
    assert RedisContainerRegistry(world.client).observed("sweep") == []
    assert world.ledger.reap("sweep") == []
    assert world.finish(running) is None
    again = [world.claim("sweep", "j1", "c1"), world.claim("sweep", "j2", "c2")]
    assert [claim.token for claim in again] == [RESTORED_FROM, RESTORED_FROM]
    for zombie in (running, after_the_backup):
        assert world.ledger.renew(zombie) is Renewal.LOST
        assert world.finish(zombie) is None
    assert [world.finish(claim) for claim in again] == [JobState.ACCOMPLISHED, JobState.ACCOMPLISHED]
    assert world.experiments.active() == ["sweep"]


def test_every_queued_job_is_handed_out_once_in_its_order(world: World) -> None:
    world.begin("sweep", 12)
    world.run("sweep", "j11", "accomplished")
    world.claim("sweep", "j10")
    world.client.hset(experiment_key("sweep"), "published", 11)
    world.back_up_and_restore()
    # Those before the eleventh were handed out when the backup was made; the rest the first publication goes on with.
    assert world.due("sweep") == [*(f"j{number}" for number in range(10)), "j10"]
    assert world.ledger.requeued("sweep", ["j9", "j10"]) == {"j10"}
    assert world.experiments.get("sweep").published == 11
    assert world.due("sweep") == []


def test_a_back_off_goes_on(world: World) -> None:
    world.begin("sweep", 1, on_failure=FailurePolicy(max_attempts=2, backoff=3600.0))
    world.run("sweep", "j0", "failed")
    due = contents(world.client)["jq:x:sweep:due"]
    world.back_up_and_restore()
    assert contents(world.client)["jq:x:sweep:due"] == due
    assert world.due("sweep") == []


def test_both_copies_of_a_job_are_given_up(world: World) -> None:
    world.begin("sweep", 1, hedge=True, idempotent=True)
    first = world.claim("sweep", "j0")
    assert world.ledger.hedge("sweep", "j0")
    copy = world.claim("sweep", "j0", "c2")
    world.back_up_and_restore()
    assert world.ledger.counts("sweep") == Counts(queued=1)
    assert [one.outcome for one in world.ledger.job("sweep", "j0").attempts] == [AttemptOutcome.LOST] * 2
    assert world.finish(first) is world.finish(copy) is None
    assert world.claim("sweep", "j0").token == RESTORED_FROM


def test_a_running_post_command_runs_again(world: World) -> None:
    world.begin("sweep", 1)
    world.run("sweep", "j0", "accomplished")
    world.ledger.add_post("sweep", job("post"))
    assert world.experiments.move("sweep", [ExperimentState.RUNNING], ExperimentState.FINISHING)
    world.claim("sweep", POST_JOB_ID)
    world.back_up_and_restore()
    assert world.experiments.get("sweep").state is ExperimentState.FINISHING
    assert world.due("sweep") == [POST_JOB_ID]
    assert world.claim("sweep", POST_JOB_ID).token == RESTORED_FROM


def test_the_post_commands_token_is_kept_while_it_waits_for_retried_jobs(world: World) -> None:
    world.begin("sweep", 1)
    world.run("sweep", "j0", "cancelled")
    world.ledger.add_post("sweep", job("post"))
    world.run("sweep", POST_JOB_ID, "accomplished")
    world.ledger.retry_failed("sweep")
    world.back_up_and_restore()
    world.ledger.add_post("sweep", job("post"))
    assert world.claim("sweep", POST_JOB_ID).token == 2


@pytest.mark.parametrize(
    ("caught", "becomes", "counts"),
    [
        (ExperimentState.CANCELLED, ExperimentState.CANCELLED, Counts(cancelled=2)),
        (ExperimentState.FAILED, ExperimentState.RUNNING, Counts(queued=2)),
        (ExperimentState.FINISHING, ExperimentState.RUNNING, Counts(queued=2)),
        (ExperimentState.PAUSED, ExperimentState.PAUSED, Counts(queued=2)),
    ],
)
def test_a_record_older_than_its_jobs_is_brought_in_line_with_them(
    world: World, caught: ExperimentState, becomes: ExperimentState, counts: Counts
) -> None:
    """The record is read first: its user may have cancelled or retried it before the jobs were."""
    world.begin("sweep", 2)
    world.claim("sweep", "j0")
    world.experiments.move("sweep", [ExperimentState.RUNNING], caught)
    world.experiments.settle("sweep")
    world.back_up_and_restore()
    record = world.experiments.get("sweep")
    assert (record.state, world.ledger.counts("sweep")) == (becomes, counts)
    assert (record.finished_at is None) is (not becomes.terminal)
    assert ("sweep" in world.experiments.active()) is (not becomes.terminal)


def test_a_backup_of_a_store_in_full_swing_adds_up(world: World) -> None:
    jobs, stop, done = 3000, threading.Event(), set[str]()
    world.begin("sweep", jobs)
    enough = threading.Event()

    def work() -> None:
        for number in random.Random(1).sample(range(jobs), jobs):
            claim = world.claim("sweep", f"j{number}")
            if stop.is_set():
                return
            world.finish(claim)
            done.add(claim.job_id)
            if len(done) > 50:
                enough.set()

    worker = threading.Thread(target=work)
    worker.start()
    enough.wait()
    before = frozenset(done.copy())
    world.back_up()
    stop.set()
    worker.join()
    assert len(done) > len(before), "nothing ended while the backup was made"
    world.lose_everything()
    world.restore()
    counts = world.ledger.counts("sweep")
    assert (counts.total, counts.running) == (jobs, 0)
    for state in (JobState.QUEUED, JobState.ACCOMPLISHED):
        found = world.ledger.page("sweep", state=state, limit=jobs).jobs
        assert {one.state for one in found} == {state}
        if state is JobState.ACCOMPLISHED:
            assert before <= {one.spec.id for one in found} <= done
    for job_id in (
        world.due(
            "sweep",
        )
        + world.due("sweep")
        + world.due("sweep")
    ):
        world.run("sweep", job_id, "accomplished")
    assert world.ledger.counts("sweep") == Counts(accomplished=jobs)


def test_an_experiment_that_is_deleted_during_the_backup_is_left_out(world: World) -> None:
    world.begin("kept", 1)
    world.begin("deleted", 400, environment={"NOISE": "x"})

    class Meanwhile(io.BytesIO):
        """Somebody deletes an experiment of which a part is written."""

        def write(self, data: Any) -> int:
            if world.client.zscore(EXPERIMENTS, "deleted") is not None and self.tell() > 100:
                world.experiments.delete("deleted")
            return super().write(data)

    noise = random.Random(7)
    for number in range(400):
        world.client.hset(f"jq:x:deleted:job:j{number}", "a:0", noise.randbytes(4000).hex())
    stream = Meanwhile()
    summary = back_up(world.client, world.artifacts, stream)
    world.archive.write_bytes(stream.getvalue())
    assert (summary.experiments, summary.jobs) == (1, 1)
    assert b"jq:x:deleted:job:j100" in gzip.decompress(stream.getvalue())
    world.lose_everything()
    world.restore()
    assert [record.id for record in world.experiments.page()[0]] == ["kept"]
    assert not [key for key in contents(world.client) if key.startswith("jq:x:deleted")]


def test_files_come_back_and_those_of_unknown_attempts_do_not(world: World) -> None:
    world.begin("sweep", 1)
    world.run("sweep", "j0", "accomplished")
    kept = {
        "experiments/sweep/j0/1/stdout": b"out\n",
        "experiments/sweep/j0/1/outputs/deep/größe.bin": random.Random(3).randbytes(3_000_000),
        f"inputs/{'a' * 64}": b"input",
    }
    left = {
        "experiments/sweep/j0/2/stdout": b"begun after the backup",
        "experiments/other/j0/1/stdout": b"nobody's",
        "experiments/sweep/j0/1/outputs/.part-x": b"arriving",
        "inputs/.part-x": b"arriving",
        "admin_token": b"secret",
    }
    for name, content in (kept | left).items():
        path = world.artifacts / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    (world.artifacts / "experiments/sweep/j0/1/outputs/link").symlink_to("/etc/passwd")
    old = world.artifacts / f"inputs/{'a' * 64}"
    mtime = old.stat().st_mtime_ns // 10**9 - 5000
    os.utime(old, (mtime, mtime))
    world.back_up_and_restore()
    found = {
        path.relative_to(world.artifacts).as_posix(): path.read_bytes()
        for path in world.artifacts.rglob("*")
        if path.is_file() and path.name != "version"
    }
    assert found == kept
    assert (world.artifacts / f"inputs/{'a' * 64}").stat().st_mtime == mtime


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_what_root_restores_belongs_to_whom_the_directory_belongs(world: World) -> None:
    """Commands in the manager's container run as root, the manager does not."""
    world.begin("sweep", 1)
    world.run("sweep", "j0", "accomplished")
    for name in ("experiments/sweep/j0/1/stdout", f"inputs/{'a' * 64}"):
        path = world.artifacts / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"content")
    world.back_up()
    world.lose_everything()
    world.artifacts.mkdir()
    os.chown(world.artifacts, 4321, 4321)
    world.restore()
    owners = {path.name: path.stat().st_uid for path in world.artifacts.rglob("*") if path.name != "version"}
    assert set(owners.values()) == {4321}
    assert {"experiments", "stdout", "inputs", "a" * 64} <= set(owners)


def test_a_backup_of_a_store_of_version_1_is_upgraded_when_it_is_restored(world: World) -> None:
    world.client.flushall()
    load_version_1(world.client)
    world.artifacts = STORE_V1
    world.back_up()
    assert not world.client.exists(VERSION)
    world.lose_everything()
    world.restore()
    assert world.client.get(VERSION) == str(STORE_VERSION)
    versions = {world.client.hget(experiment_key(one), "version") for one in world.client.zrange(EXPERIMENTS, 0, -1)}
    assert versions == {"2"}
    assert world.ledger.counts("finished-gpydfw") == Counts(accomplished=3)
    assert world.ledger.counts("unfinished-7hganl") == Counts(queued=3, accomplished=2)
    restored = world.artifacts / "experiments/finished-gpydfw/n2/2/outputs/result.txt"
    assert restored.read_text() == "2\n"


def test_a_large_store_is_never_in_memory_as_a_whole(world: World) -> None:
    noise = "x" * 4000
    world.begin("sweep", 0)
    for start in range(0, 5000, 500):
        world.ledger.add("sweep", [job(f"j{number}", environment={"N": noise}) for number in range(start, start + 500)])
    peaks = []
    for step in (world.back_up, world.lose_everything, world.restore):
        tracemalloc.start()
        step()
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert max(peaks) < 10_000_000, "of more than 20 MB"
    assert world.ledger.counts("sweep") == Counts(queued=5000)
