"""What is not backed up, not restored, or not restored into; and that nothing is left of the attempt."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from jqueuer.adapters.redis_store.connection import StoreClient
from jqueuer.adapters.redis_store.experiments import RECEIVING, STORE_VERSION
from jqueuer.adapters.redis_store.versions import VERSION
from jqueuer.backup import Archive, restore
from jqueuer.backup.archive import ArchiveWriter, Member
from jqueuer.errors import BackupError, ConflictError, SettingsError
from tests.contract.backup_world import World
from tests.store_contents import contents


@pytest.fixture
def world(client: StoreClient, tmp_path: Path) -> World:
    return World(client, tmp_path)


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
