"""What every executor owes the container manager; run against each adapter of the port."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

Wait = Callable[[Callable[[], object], float], None]

PROGRAM = textwrap.dedent(
    """
    import json, sys, pathlib
    from jqueuer.adapters.processes import adopt_orphans
    from jqueuer_agent.adapters.local_executor import LocalExecutor

    adopt_orphans()
    call = json.loads(sys.argv[1])
    out = pathlib.Path(sys.argv[2])
    streams = {"stdout": (out / "stdout").open("wb"), "stderr": (out / "stderr").open("wb")}
    stop = out / "stop"
    result = LocalExecutor(heartbeat_seconds=0.05, grace_seconds=call.pop("grace", 0.3)).run(
        call["argv"], environment=call["env"], working_directory=call.get("cwd"), timeout_seconds=call.get("timeout"),
        write=lambda name, data: streams[name].write(data), keep_going=lambda: not stop.exists(), role="task 1")
    for stream in streams.values():
        stream.close()
    print(result.model_dump_json())
    """
)


class Run:
    """A command run by an executor in a process of its own, as in a container manager."""

    def __init__(self, directory: Path, argv: list[str], **call: object) -> None:
        import json

        self.directory = directory
        call = {"argv": argv, "env": {"PATH": os.environ["PATH"]}, **call}
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, json.dumps(call), str(directory)], stdout=subprocess.PIPE, text=True
        )

    def stop(self) -> None:
        (self.directory / "stop").touch()

    @property
    def result(self) -> dict[str, object]:
        import json

        output, _ = self.process.communicate(timeout=60)
        return dict(json.loads(output))

    def stream(self, name: str) -> bytes:
        return (self.directory / name).read_bytes()


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., Run]:
    return lambda argv, **call: Run(tmp_path, argv, **call)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"


def test_streams_are_apart_and_the_status_is_passed_on(run: Callable[..., Run]) -> None:
    command = run(["sh", "-c", "echo out; echo err >&2; exit 7"])
    result = command.result
    assert (result["exit_code"], result["signal"], result["problem"]) == (7, None, "")
    assert (command.stream("stdout"), command.stream("stderr")) == (b"out\n", b"err\n")


def test_arguments_are_passed_on_as_they_are(run: Callable[..., Run]) -> None:
    words = ["", "a b", "'\"$HOME`", "*", "\u00e9\n"]
    command = run(["printf", "%s|", *words])
    assert command.result["exit_code"] == 0
    assert command.stream("stdout").decode() == "".join(f"{word}|" for word in words)


def test_binary_output_without_a_last_newline_is_complete(run: Callable[..., Run]) -> None:
    program = "import sys; sys.stdout.buffer.write(bytes(range(256)) * 40_000)"
    command = run([sys.executable, "-c", program])
    assert command.result["exit_code"] == 0
    assert command.stream("stdout") == bytes(range(256)) * 40_000


def test_an_endless_line_of_100_megabytes_is_complete(run: Callable[..., Run]) -> None:
    command = run(["sh", "-c", "head -c 100000000 /dev/zero; head -c 1000000 /dev/zero >&2"])
    assert command.result["exit_code"] == 0
    assert (len(command.stream("stdout")), len(command.stream("stderr"))) == (100_000_000, 1_000_000)


def test_a_signal_is_told_apart_from_a_status(run: Callable[..., Run]) -> None:
    result = run(["sh", "-c", "kill -SEGV $$"]).result
    assert (result["exit_code"], result["signal"]) == (None, signal.SIGSEGV)


@pytest.mark.parametrize(
    ("argv", "status", "words"),
    [
        (["no-such-program"], 127, "command not found: 'no-such-program'"),
        (["/etc/passwd"], 126, "cannot run '/etc/passwd': Permission denied"),
    ],
)
def test_a_command_that_cannot_start_says_why(
    run: Callable[..., Run], argv: list[str], status: int, words: str
) -> None:
    result = run(argv).result
    assert (result["exit_code"], result["problem"]) == (status, words)


def test_a_missing_working_directory_is_named(run: Callable[..., Run], tmp_path: Path) -> None:
    result = run(["true"], cwd=str(tmp_path / "nowhere")).result
    assert result["problem"] == f"there is no working directory '{tmp_path}/nowhere'"


def test_environment_and_working_directory_are_the_commands_own(run: Callable[..., Run], tmp_path: Path) -> None:
    command = run(["sh", "-c", "pwd; echo $COLOUR"], env={"PATH": os.environ["PATH"], "COLOUR": "red"}, cwd="/usr")
    assert command.result["exit_code"] == 0
    assert command.stream("stdout") == b"/usr\nred\n"


def test_stdin_is_empty(run: Callable[..., Run]) -> None:
    command = run(["cat"])
    assert (command.result["exit_code"], command.stream("stdout")) == (0, b"")


def test_a_time_out_ends_the_whole_tree(run: Callable[..., Run], tmp_path: Path, eventually: Wait) -> None:
    """Children in sessions of their own and ones that ignore SIGTERM are ended, too."""
    script = f"trap '' TERM; setsid sleep 1000 & echo $! >{tmp_path}/child; sleep 1000"
    result = run(["sh", "-c", script], timeout=0.4).result
    assert result["problem"] == "timed out after 0.4 s"
    child = int((tmp_path / "child").read_text())
    eventually(lambda: not alive(child), 5)


def test_what_it_wrote_before_the_time_out_is_kept(run: Callable[..., Run]) -> None:
    command = run(["sh", "-c", "echo begun; sleep 1000"], timeout=0.4)
    assert command.result["signal"] == signal.SIGTERM
    assert command.stream("stdout") == b"begun\n"


def test_stopping_ends_the_whole_tree(run: Callable[..., Run], tmp_path: Path, eventually: Wait) -> None:
    command = run(["sh", "-c", f"sleep 1000 & echo $! >{tmp_path}/child; wait"])
    eventually(lambda: (tmp_path / "child").exists() and (tmp_path / "child").read_text(), 10)
    command.stop()
    assert command.result["problem"] == "stopped"
    child = int((tmp_path / "child").read_text())
    eventually(lambda: not alive(child), 5)


def test_a_background_child_neither_delays_the_end_nor_outlives_it(
    run: Callable[..., Run], tmp_path: Path, eventually: Wait
) -> None:
    command = run(["sh", "-c", f"(setsid sleep 1000 & echo $! >{tmp_path}/child); echo done"])
    assert command.result["exit_code"] == 0
    assert command.stream("stdout") == b"done\n"
    child = int((tmp_path / "child").read_text())
    eventually(lambda: not alive(child), 5)
