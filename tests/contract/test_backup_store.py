"""A backup of a store, and the store that is made of it."""

from __future__ import annotations

import gzip
import io
import json
import os
import random
import tarfile
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jqueuer.access import Role, TokenRecord, User
from jqueuer.adapters.redis_store import RedisContainerRegistry, RedisExperimentStore, RedisJobLedger, RedisTokenStore
from jqueuer.adapters.redis_store.connection import StoreClient
from jqueuer.adapters.redis_store.experiments import EXPERIMENTS, RECEIVING, STORE_VERSION, experiment_key
from jqueuer.adapters.redis_store.versions import VERSION, upgrade
from jqueuer.backup import Archive, back_up, restore
from jqueuer.backup.archive import ArchiveWriter, Member
from jqueuer.errors import BackupError, ConflictError, SettingsError
from jqueuer.model import POST_JOB_ID, Experiment, FailurePolicy, Job, Task
from jqueuer.ports import Renewal
from jqueuer.records import Attempt, Claim, ContainerStatus, Counts, ExperimentRecord, JournalEntry
from jqueuer.states import AttemptOutcome, ContainerState, ExperimentState, JobState
from tests.store_contents import STORE_V1, contents, load_version_1

RESTORED_FROM = 1001
"""The number of the first attempt after a restore."""


class World:
    """A store in use."""

    def __init__(self, client: StoreClient, directory: Path) -> None:
        self.client, self.directory = client, directory
        self.experiments, self.ledger = RedisExperimentStore(client), RedisJobLedger(client)
        self.archive = directory / "backup.tar.gz"
        self.artifacts = directory / "artifacts"
        upgrade(client)

    def begin(self, experiment_id: str, jobs: int, **description: Any) -> None:
        record = ExperimentRecord(
            id=experiment_id,
            description=Experiment(name="sweep", **description),
            state=ExperimentState.RECEIVING,
            created_at=self.experiments.now(),
            owner="ada",
        )
        self.experiments.create(record)
        self.ledger.add(experiment_id, [job(f"j{number}") for number in range(jobs)])
        self.experiments.accept(experiment_id)
        self.experiments.set_published(experiment_id, jobs)

    def claim(self, experiment_id: str, job_id: str, container: str = "c1") -> Claim:
        claim = self.ledger.claim(experiment_id, job_id, container=container, node="n")
        assert claim is not None
        return claim

    def finish(self, claim: Claim, outcome: str = "accomplished") -> JobState | None:
        attempt = Attempt(
            number=claim.token,
            container=claim.container,
            node=claim.node,
            started_at=claim.started_at,
            finished_at=claim.started_at + 1.5,
            outcome=AttemptOutcome(outcome),
        )
        return self.ledger.finish(claim, attempt)

    def run(self, experiment_id: str, job_id: str, *outcomes: str) -> None:
        for outcome in outcomes:
            self.finish(self.claim(experiment_id, job_id), outcome)

    def end(self, experiment_id: str, state: ExperimentState) -> None:
        assert self.experiments.move(experiment_id, [ExperimentState.RUNNING], state, reason="it ended")
        self.experiments.settle(experiment_id)

    def state(self, experiment_id: str, job_id: str) -> JobState:
        return self.ledger.job(experiment_id, job_id).state

    def back_up(self) -> None:
        with self.archive.open("wb") as file:
            back_up(self.client, self.artifacts, file)

    def lose_everything(self) -> None:
        self.client.flushall()
        self.artifacts = self.directory / "restored"

    def restore(self) -> None:
        restore(Archive(self.archive), self.client, self.artifacts)

    def back_up_and_restore(self) -> None:
        self.back_up()
        self.lose_everything()
        self.restore()

    def due(self, experiment_id: str) -> list[str]:
        return self.ledger.due(experiment_id)


def job(job_id: str, **fields: Any) -> Job:
    return Job(id=job_id, tasks=(Task(command=("/bin/true",)),), **fields)


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


def test_a_store_in_use_is_not_restored_into(world: World) -> None:
    world.begin("sweep", 1)
    world.back_up()
    before = contents(world.client)
    with pytest.raises(ConflictError, match="the store holds experiments already"):
        restore(Archive(world.archive), world.client, world.directory / "new")
    assert contents(world.client) == before
    assert not (world.directory / "new").exists()


def test_what_a_restore_left_that_was_cut_short_is_named(world: World) -> None:
    world.back_up()
    world.client.sadd("jq:receiving", "half")
    with pytest.raises(ConflictError, match="a restore that was cut short"):
        world.restore()


def test_artifacts_that_are_there_already_are_not_mixed_with_others(world: World) -> None:
    world.back_up()
    (world.artifacts / "experiments" / "other").mkdir(parents=True)
    with pytest.raises(ConflictError, match="holds files already: move it away"):
        world.restore()


def test_a_newer_store_is_neither_backed_up_nor_restored_into(world: World) -> None:
    world.back_up()
    world.client.set(VERSION, STORE_VERSION + 1)
    for attempt in (world.restore, world.back_up):
        with pytest.raises(SettingsError, match="newer JQueuer"):
            attempt()


def test_a_restore_that_fails_on_the_way_leaves_nothing(world: World) -> None:
    world.begin("sweep", 3)
    world.run("sweep", "j0", "accomplished")
    path = world.artifacts / "experiments/sweep/j0/1/stdout"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"out")
    world.client.zadd("jq:x:sweep:order", {"lost": 3})  # a job of which the store has nothing
    world.back_up()
    world.lose_everything()
    with pytest.raises(BackupError, match="lacks the job 'lost'"):
        world.restore()
    assert {key for key in contents(world.client) if key.startswith(("jq:x", "jq:e", "jq:r"))} == set()
    assert [path.name for path in world.artifacts.iterdir()] == ["version"]


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


Change = Callable[[bytes], bytes]


def repacked(change: Callable[[list[tuple[tarfile.TarInfo, bytes]]], None]) -> Change:
    """An archive with other members, whose checksums nobody has mended."""

    def apply(data: bytes) -> bytes:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:gz") as tar:
            members = [(member, tar.extractfile(member).read()) for member in tar]  # type: ignore[union-attr]
        change(members)
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w:gz") as tar:
            for member, content in members:
                member.size = len(content) if member.isreg() else 0
                tar.addfile(member, io.BytesIO(content))
        return packed.getvalue()

    return apply


def with_member(name: str, kind: bytes = tarfile.REGTYPE) -> Change:
    member = tarfile.TarInfo(name)
    member.type = kind
    member.linkname = "/etc/passwd" if kind != tarfile.REGTYPE else ""
    return repacked(lambda members: members.insert(1, (member, b"mischief")))


def with_header(**fields: object) -> Change:
    def change(members: list[tuple[tarfile.TarInfo, bytes]]) -> None:
        members[0] = (members[0][0], json.dumps(json.loads(members[0][1]) | fields).encode())

    return repacked(change)


def other_job(members: list[tuple[tarfile.TarInfo, bytes]]) -> None:
    members[1] = (members[1][0], members[1][1].replace(b"accomplished", b"accomplishes"))


def flipped(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 0xFF]) + data[middle + 1 :]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        pytest.param(lambda data: data[: len(data) // 2], "is damaged, or no backup", id="half of it"),
        pytest.param(lambda data: data[:-1], "is damaged, or no backup", id="without its last byte"),
        pytest.param(flipped, "is damaged", id="a byte in the middle"),
        pytest.param(lambda data: b"", "is damaged, or no backup", id="empty"),
        pytest.param(lambda data: b"PK\x03\x04 not this", "Not a gzipped file", id="something else"),
        pytest.param(lambda data: gzip.compress(b"x" * 9000), "is damaged, or no backup", id="some other gzip"),
        pytest.param(repacked(lambda members: members.pop()), "its end is missing", id="without its end"),
        pytest.param(repacked(lambda members: members.pop(1)), "its checksum is another", id="a member less"),
        pytest.param(repacked(other_job), "its checksum is another", id="another outcome"),
        pytest.param(
            repacked(lambda members: members.append(members[1])), "goes on after its end", id="more after its end"
        ),
        pytest.param(repacked(lambda members: members.pop(0)), "is no backup of JQueuer", id="without its header"),
        pytest.param(with_header(format="other"), "is no backup of JQueuer", id="another format"),
        pytest.param(
            with_header(store_version=STORE_VERSION + 1, jqueuer="9.9"),
            r"newer JQueuer \(9\.9: store version 3, this one knows 2\)",
            id="a newer store",
        ),
        pytest.param(with_header(format_version=2), "newer JQueuer .*format version 2", id="a newer format"),
        pytest.param(with_member("../../evil"), "which no backup does", id="upwards"),
        pytest.param(with_member("/tmp/evil"), "which no backup does", id="absolute"),
        pytest.param(with_member("experiments/sweep/j0/../../../../evil"), "which no backup does", id="upwards inside"),
        pytest.param(with_member("experiments/sweep/j0//x"), "which no backup does", id="an empty part"),
        pytest.param(with_member("inputs/../../../evil"), "which no backup does", id="upwards from the inputs"),
        pytest.param(with_member("lock"), "which no backup does", id="a file of ours"),
        pytest.param(
            with_member("experiments/sweep/j0/1/x", tarfile.SYMTYPE), "which no backup does", id="a symbolic link"
        ),
        pytest.param(with_member("experiments/sweep/j0/1/x", tarfile.LNKTYPE), "which no backup does", id="a link"),
        pytest.param(with_member("experiments/sweep/j0/1/x", tarfile.CHRTYPE), "which no backup does", id="a device"),
    ],
)
def test_an_archive_that_is_no_good_is_refused_and_leaves_nothing(world: World, change: Change, sentence: str) -> None:
    world.begin("sweep", 2)
    world.run("sweep", "j0", "accomplished")
    world.back_up()
    world.archive.write_bytes(change(world.archive.read_bytes()))
    world.lose_everything()
    before = sorted(world.directory.rglob("*"))
    with pytest.raises(BackupError, match=sentence):
        world.restore()
    assert contents(world.client) == {}
    assert sorted(world.directory.rglob("*")) == before


@pytest.mark.parametrize("name", ["..", "../inputs", "", "sweep:order", "Sweep"])
def test_experiments_that_could_not_be_ours_are_refused_before_anything_is_written_or_removed(
    world: World, name: str
) -> None:
    """What fails on the way is removed by these names."""
    with world.archive.open("wb") as file:
        ArchiveWriter(file, STORE_VERSION).finish(["sweep", name])
    before = contents(world.client)
    with pytest.raises(BackupError, match="names an experiment"):
        world.restore()
    assert contents(world.client) == before


def test_a_restore_that_fails_removes_nothing_that_came_meanwhile(world: World) -> None:
    """A manager that runs takes in experiments, and what their jobs print, while the archive is read."""
    with world.archive.open("wb") as file:
        writer = ArchiveWriter(file, STORE_VERSION)
        writer.add_line({"key": "jq:x:sweep:order", "type": "zset", "value": [["j0", 0]]})  # and no such job
        writer.finish(["sweep"])
    read = Archive(world.archive)
    inputs = world.artifacts / "experiments" / "newer" / "j0" / "1"

    class Meanwhile(Archive):
        def members(self) -> Iterator[Member]:
            yield from read.members()
            if world.client.sismember(RECEIVING, "sweep"):  # it was verified, and is being loaded
                inputs.mkdir(parents=True)
                (inputs / "stdout").write_text("printed")

    with pytest.raises(BackupError, match="lacks the job 'j0'"):
        restore(Meanwhile(world.archive), world.client, world.artifacts)
    assert (inputs / "stdout").read_text() == "printed"
    assert not (world.artifacts / "experiments" / "sweep").exists()
    assert not world.client.scard(RECEIVING)


@pytest.mark.parametrize("key", ["session:1", "jq:x:sweep:streams"])
def test_entries_of_no_kind_of_ours_are_refused(world: World, key: str) -> None:
    with world.archive.open("wb") as file:
        writer = ArchiveWriter(file, STORE_VERSION)
        writer.add_line({"key": key, "type": "stream" if key.endswith("streams") else "string", "value": "x"})
        writer.finish(["sweep"])
    with pytest.raises(BackupError, match=f"holds '{key}'"):
        world.restore()
    assert key not in contents(world.client)
