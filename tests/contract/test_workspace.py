"""What every working directory owes the life of a job; run against each adapter of the port."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pytest
from docker.models.containers import Container

from jqueuer.model import IMAGE_OWN, Experiment
from jqueuer.ports import Executor, Workspace
from jqueuer.settings import Settings
from jqueuer_agent.adapters.docker import DockerWorkplace
from jqueuer_agent.adapters.local_workspace import LocalWorkspace
from tests.contract.job_images import BARE, BUSYBOX, DEBIAN, JobImage
from tests.lab.node import Node

KINDS = {
    "resident-dash": (DEBIAN, "resident"),
    "resident-busybox": (BUSYBOX, "resident"),
    "exec-busybox": (BUSYBOX, "exec"),
    "exec-no-shell": (BARE, "exec"),
}
LIMIT_BYTES = 2_000_000


class Place(Protocol):
    """A container with a workspace in it, and how a job in it would behave."""

    def open(self, working_directory: str | None = None) -> Workspace: ...

    def job(self, workspace: Workspace, script: str) -> str:
        """Run a script in the directory, ``@`` before the names of programs; what it writes."""


class LocalPlace:
    """A directory of this machine."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def open(self, working_directory: str | None = None) -> Workspace:
        return LocalWorkspace(self._directory, working_directory)

    def job(self, workspace: Workspace, script: str) -> str:
        return subprocess.check_output(["sh", "-ec", script.replace("@", "")], cwd=workspace.directory, text=True)


@dataclass
class DockerPlace:
    """A container of a real engine."""

    node: Node
    image: JobImage
    runner: str
    container: Container
    state_dir: Path
    executor: Executor | None = None

    def open(self, working_directory: str | None = None, user: str | None = None) -> Workspace:
        settings = Settings(state_dir=self.state_dir, runner=self.runner, max_output_bytes=LIMIT_BYTES)
        experiment = Experiment(image=self.image.name, working_directory=working_directory, user=user)
        workplace = DockerWorkplace(str(self.container.id)[:12], self.node.docker_url)
        self.executor, workspace, _ = workplace.open(experiment, settings)
        return workspace

    def job(self, workspace: Workspace, script: str) -> str:
        assert self.executor is not None
        written = bytearray()
        result = self.executor.run(
            [*self.image.shell[:-1], "-ec", script.replace("@", self.image.call)],
            environment={}, working_directory=workspace.directory, timeout_seconds=30.0,
            write=lambda _, data: written.extend(data), keep_going=lambda: True, role="task 1",
        )  # fmt: skip
        assert (result.exit_code, result.problem) == (0, ""), bytes(written)
        return written.decode()


@pytest.fixture(params=list(KINDS))
def docker_place(request: pytest.FixtureRequest, job_node: Node, tmp_path: Path) -> Iterator[DockerPlace]:
    image, runner = KINDS[request.param]
    container = image.start(job_node, working_dir="/var")
    yield DockerPlace(job_node, image, runner, container, tmp_path)
    container.remove(force=True)


@pytest.fixture(params=["local", *KINDS])
def place(request: pytest.FixtureRequest, job_node: Node, tmp_path: Path) -> Iterator[Place]:
    if request.param == "local":
        yield LocalPlace(tmp_path)
        return
    image, runner = KINDS[request.param]
    container = image.start(job_node)
    yield DockerPlace(job_node, image, runner, container, tmp_path)
    container.remove(force=True)


def writer(content: bytes) -> Callable[[Path], None]:
    def fetch(path: Path) -> None:
        path.write_bytes(content)
        path.chmod(0o755)

    return fetch


def found(workspace: Workspace, *patterns: str) -> list[dict[str, bytes]]:
    return [{name: path.read_bytes() for name, path in matches} for matches in workspace.find(patterns)]


def names(workspace: Workspace, *patterns: str) -> list[list[str]]:
    return [[name for name, _ in matches] for matches in workspace.find(patterns)]


def test_it_is_empty_at_first_and_jobs_start_in_it(place: Place) -> None:
    workspace = place.open()
    workspace.clear()
    assert place.job(workspace, "pwd; @ls -A") == f"{workspace.directory}\n"


def test_clearing_removes_whatever_a_job_left(place: Place) -> None:
    workspace = place.open()
    workspace.clear()
    place.job(workspace, "@mkdir -p a/b .h; >a/b/c; >.h/d; >..e; @ln -s /nowhere link; >'-rf'; @chmod 500 a")
    workspace.clear()
    assert place.job(workspace, "@ls -A") == ""
    workspace.clear()
    assert place.job(workspace, "@ls -A; >again; @ls -A") == "again\n"


@pytest.mark.parametrize("directory", ["sub", "deep/down/below"])
def test_a_relative_directory_lies_within_it(place: Place, directory: str) -> None:
    workspace = place.open(directory)
    workspace.clear()
    place.job(workspace, ">mine; >../beside")
    assert workspace.directory.endswith(f"/{directory}")
    assert names(workspace, "*") == [["mine"]]
    workspace.clear()
    assert place.job(workspace, "@ls -A . ..") == f".:\n\n..:\n{directory.rpartition('/')[2]}\n"


def test_a_directory_that_became_a_link_is_not_emptied_by_way_of_it(place: Place) -> None:
    workspace = place.open("sub")
    workspace.clear()
    place.job(workspace, "@mkdir -p /tmp/precious; >/tmp/precious/file; cd ..; @rmdir sub; @ln -s /tmp/precious sub")
    workspace.clear()
    assert place.job(workspace, "@ls -A; @ls /tmp/precious") == "file\n"


def test_an_absolute_directory_is_used_as_it_is_and_never_emptied(place: Place, tmp_path: Path) -> None:
    directory = "/tmp" if isinstance(place, DockerPlace) else str(tmp_path)
    workspace = place.open(directory)
    workspace.clear()
    place.job(workspace, "@mkdir mine; >mine/file")
    workspace.clear()
    assert workspace.directory == directory
    assert names(workspace, "mine/*", "min*/*") == [["mine/file"], ["mine/file"]]


def test_an_input_is_a_file_that_jobs_can_run_and_change(place: Place) -> None:
    workspace = place.open()
    workspace.clear()
    content = b"\0\xff binary\n" * 100_000
    workspace.put("big", writer(content))
    workspace.put("deep/down/empty", writer(b""))
    workspace.put("deep/list", writer(b"text"))
    workspace.placed()
    assert found(workspace, "big", "deep/**") == [{"big": content}, {"deep/down/empty": b"", "deep/list": b"text"}]
    assert place.job(workspace, "[ -x big ]; echo more >>big; >deep/down/another; @cat deep/list") == "text"


def test_many_inputs_lie_in_their_places(place: Place) -> None:
    """More than travel at once, and some that share their directories."""
    workspace = place.open()
    workspace.clear()
    for number in range(450):
        workspace.put(f"outputs/job-{number % 300}/{number}", writer(str(number).encode()))
    workspace.placed()
    [files] = found(workspace, "outputs/*/*")
    assert files == {f"outputs/job-{number % 300}/{number}": str(number).encode() for number in range(450)}


def test_an_input_that_cannot_be_fetched_leaves_nothing(place: Place) -> None:
    workspace = place.open()
    workspace.clear()

    def fail(path: Path) -> None:
        path.write_bytes(b"half")
        raise OSError("broke off")

    with pytest.raises(OSError, match="broke off"):
        workspace.put("deep/input", fail)
    workspace.placed()
    if isinstance(place, DockerPlace):
        assert place.job(workspace, "@find . -type f") == ""


def test_globs_find_regular_files_wherever_they_lie(place: Place) -> None:
    workspace = place.open()
    workspace.clear()
    place.job(workspace, "@mkdir -p a/b .h empty 'x y'; @mkfifo a/pipe.csv")
    for name in ("1.csv", "a/2.csv", "a/b/3.csv", ".h/4.csv", "x y/[5].csv", "a/b/n"):
        place.job(workspace, f"echo {name} >'{name}'")
    assert names(workspace, "*.csv", "a/*.csv", "**/*.csv", "a/**") == [
        ["1.csv"],
        ["a/2.csv"],
        [".h/4.csv", "1.csv", "a/2.csv", "a/b/3.csv", "x y/[5].csv"],
        ["a/2.csv", "a/b/3.csv", "a/b/n"],
    ]
    assert names(workspace, "a", "nothing", "no/thing.csv", "empty/*", "?.csv", "x y/[[]5].csv", "./a//b/n") == [
        [], [], [], [], ["1.csv"], ["x y/[5].csv"], ["a/b/n"],
    ]  # fmt: skip
    assert found(workspace, "a/b/3.csv") == [{"a/b/3.csv": b"a/b/3.csv\n"}]


def test_nothing_asked_for_is_nothing_found(place: Place) -> None:
    workspace = place.open()
    workspace.clear()
    assert workspace.find(()) == []


def test_links_that_stay_inside_count(place: Place) -> None:
    workspace = place.open()
    workspace.clear()
    place.job(workspace, "@mkdir out data; echo 1 >data/one; echo 2 >two; @ln two out/second-name")
    place.job(workspace, "@ln -s ../data/one out/a; @ln -s ../two out/b; @ln -s a out/chain; @ln -s data shortcut")
    place.job(workspace, "@ln -s $PWD/two out/absolute")
    assert found(workspace, "out/*", "shortcut/*", "out/chain", "*/one") == [
        {"out/a": b"1\n", "out/absolute": b"2\n", "out/b": b"2\n", "out/chain": b"1\n", "out/second-name": b"2\n"},
        {"shortcut/one": b"1\n"},
        {"out/chain": b"1\n"},
        {"data/one": b"1\n", "shortcut/one": b"1\n"},
    ]


def test_links_that_lead_out_do_not(place: Place) -> None:
    workspace = place.open()
    workspace.clear()
    place.job(workspace, "@mkdir d; @ln -s /etc/passwd stolen; @ln -s ../../../../../../../../etc/passwd d/stolen;"
              " @ln -s /etc etc; @ln -s .. up; @ln -s nowhere dangling; @ln -s me me")  # fmt: skip
    assert names(workspace, "stolen", "d/*", "etc/passwd", "*/passwd", "up/*", "dangling", "me", "*") == [[]] * 8


def test_files_that_were_found_may_be_taken_away(place: Place, tmp_path: Path) -> None:
    workspace = place.open()
    workspace.clear()
    place.job(workspace, "echo 1 >one")
    [[(name, path)]] = workspace.find(["one"])
    path.rename(tmp_path / "taken")
    assert (name, (tmp_path / "taken").read_bytes()) == ("one", b"1\n")
    workspace.clear()
    assert workspace.find(["one"]) == [[]]


def test_files_belong_to_the_user_of_the_commands(docker_place: DockerPlace) -> None:
    workspace = docker_place.open("sub", user="1000:1001")
    workspace.clear()
    workspace.put("deep/input", writer(b""))
    workspace.placed()
    owners = docker_place.job(workspace, "@stat -c '%u:%g %a' . deep deep/input; >deep/mine; >mine; >../beside")
    assert owners.splitlines()[1:] == ["1000:1001 755", "1000:1001 755"]
    assert owners.startswith("1000:1001 ")
    workspace.clear()
    assert docker_place.job(workspace, "@ls -A") == ""


def test_a_users_name_is_looked_up_in_the_image(docker_place: DockerPlace) -> None:
    workspace = docker_place.open(user="jobs")
    workspace.clear()
    workspace.put("input", writer(b""))
    workspace.placed()
    ids = docker_place.job(workspace, "echo $(@id -u):$(@id -g)")
    assert ids.startswith("1000:")
    assert docker_place.job(workspace, "@stat -c %u:%g input") == ids


def test_the_directory_of_another_user_is_not_taken(docker_place: DockerPlace) -> None:
    docker_place.open().clear()
    workspace = docker_place.open(user="1000:1000")
    workspace.clear()
    docker_place.job(workspace, ">mine")
    assert names(workspace, "*") == [["mine"]]


def test_the_images_own_directory_is_never_emptied(docker_place: DockerPlace) -> None:
    workspace = docker_place.open(IMAGE_OWN)
    workspace.clear()
    docker_place.job(workspace, ">file")
    workspace.clear()
    assert workspace.directory == "/var"
    assert names(workspace, "fi*") == [["file"]]


def test_a_directory_that_is_not_there_takes_no_inputs(docker_place: DockerPlace) -> None:
    workspace = docker_place.open("/no/where")
    workspace.clear()
    workspace.put("input", writer(b""))
    with pytest.raises(OSError, match="/no/where"):
        workspace.placed()


def test_of_more_outputs_than_may_be_kept_only_the_sizes_are_copied(docker_place: DockerPlace) -> None:
    workspace = docker_place.open()
    workspace.clear()
    docker_place.job(workspace, f"@head -c {3 * LIMIT_BYTES} /dev/urandom >big; @head -c 1000 /dev/urandom >small")
    [matches] = workspace.find(["*"])
    sizes = {name: path.stat() for name, path in matches}
    assert {name: stat.st_size for name, stat in sizes.items()} == {"big": 3 * LIMIT_BYTES, "small": 1000}
    assert sizes["big"].st_blocks == 0


def test_what_a_dead_agent_left_on_its_side_is_removed(docker_place: DockerPlace, tmp_path: Path) -> None:
    left = tmp_path / "scratch" / "0123456789ab-00000000"
    left.mkdir(parents=True)
    (left / "output").touch()
    workspace = docker_place.open()
    workspace.clear()
    docker_place.job(workspace, ">file")
    [[(_, copy)]] = workspace.find(["file"])
    docker_place.open()
    assert not left.exists()
    assert copy.exists()
