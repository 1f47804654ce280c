"""What every executor owes the container manager; run against each adapter of the port."""

from __future__ import annotations

import hashlib
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from jqueuer.records import CommandResult
from tests.contract.executors import Bench, Call, DockerBench, LocalBench, Run, processes
from tests.contract.job_images import BARE, BUSYBOX, DEBIAN

Wait = Callable[..., None]
_STANDARD_SIGNALS = (1 << 31) - 1
"""Those above are the threading library's, and `make` starts programs with one of them blocked."""
SECONDS = 20.0
KINDS = {
    "resident-dash": (DEBIAN, True),
    "resident-busybox": (BUSYBOX, True),
    "exec-busybox": (BUSYBOX, False),
    "exec-no-shell": (BARE, False),
}


@pytest.fixture(params=["local", *KINDS])
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    if request.param == "local":
        yield LocalBench(tmp_path)
        return
    image, resident = KINDS[request.param]
    node = request.getfixturevalue("job_node")
    container = image.start(node)
    yield DockerBench(request.param, node, image, container, resident)
    container.remove(force=True)


def begin(
    bench: Bench,
    script: str | list[str],
    *,
    env: dict[str, str] | None = None,
    cwd: str | None = None,
    timeout: float | None = None,
) -> Run:
    """Start a command, or a script in which ``@`` stands before the names of programs."""
    argv = [*bench.shell, script.replace("@", bench.call)] if isinstance(script, str) else script
    return bench.begin(Call(argv, env or {}, cwd, timeout))


def outcome(result: CommandResult) -> tuple[int | None, int | None, str]:
    return result.exit_code, result.signal, result.problem


OK = (0, None, "")


def test_streams_are_apart_and_the_status_is_passed_on(bench: Bench) -> None:
    run = begin(bench, "echo out; echo err >&2; exit 7")
    assert outcome(run.result()) == (7, None, "")
    assert (run.stream("stdout").kept, run.stream("stderr").kept) == (b"out\n", b"err\n")


def test_arguments_are_passed_on_as_they_are(bench: Bench) -> None:
    words = ["", "a b", "'\"$HOME`", "*", "\u00e9\n", "\\", "--", "-e"]
    run = begin(bench, [*bench.shell, 'printf "%s|" "$@"', "sh", *words])
    assert outcome(run.result()) == OK
    assert run.stream("stdout").kept.decode() == "".join(f"{word}|" for word in words)


def test_binary_output_without_a_last_newline_is_complete(bench: Bench) -> None:
    run = begin(bench, f"@cat {bench.binary}; printf '\\000\\377end'")
    assert outcome(run.result()) == OK
    expected = bench.binary_content.read_bytes() + b"\0\xffend"
    assert run.stream("stdout").digest.digest() == hashlib.sha256(expected).digest()


def test_an_endless_line_of_200_megabytes_comes_in_small_pieces(bench: Bench) -> None:
    run = begin(bench, "@head -c 200000000 /dev/zero; @head -c 1000000 /dev/zero >&2")
    assert outcome(run.result()) == OK
    assert (run.stream("stdout").size, run.stream("stderr").size) == (200_000_000, 1_000_000)
    assert run.stream("stdout").largest <= 1 << 20


def test_output_is_passed_on_while_the_command_runs(bench: Bench, token: str, eventually: Wait) -> None:
    run = begin(bench, f"printf begun; @sleep {token}")
    eventually(lambda: processes(token), SECONDS)
    eventually(lambda: run.stream("stdout").kept == b"begun", SECONDS)
    run.stop()
    assert run.result().problem == "stopped"


def test_nothing_that_is_written_can_be_taken_for_the_end(bench: Bench) -> None:
    """Not even what looks like the words that the runner itself uses."""
    marks = "".join(f"{number:032x}0 0 0 \n" for number in range(200))
    run = begin(bench, [*bench.shell, 'printf %s "$1"; printf %s "$1" >&2; exit 3', "sh", marks])
    assert outcome(run.result()) == (3, None, "")
    assert (run.stream("stdout").kept.decode(), run.stream("stderr").kept.decode()) == (marks, marks)


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_a_signal_is_told_apart_from_a_status(bench: Bench, number: signal.Signals) -> None:
    result = begin(bench, f"kill -{number.value} $$; exit 3").result()
    assert outcome(result) == (None, number, "")


def test_no_signal_is_ignored_because_of_us(bench: Bench) -> None:
    run = begin(bench, [*bench.call.split(), "grep", "-E", "Sig(Ign|Blk)", "/proc/self/status"])
    assert outcome(run.result()) == OK
    masks = [int(line.split()[1], 16) for line in run.stream("stdout").kept.decode().splitlines()]
    assert len(masks) == 2
    assert not any(mask & _STANDARD_SIGNALS for mask in masks)


def test_a_command_that_kills_its_process_group_kills_itself(bench: Bench) -> None:
    assert outcome(begin(bench, "kill -9 0").result()) == (None, signal.SIGKILL, "")
    assert outcome(begin(bench, "exit 0").result()) == OK


@pytest.mark.parametrize(
    ("argv", "status", "words"),
    [
        (["no-such-program"], 127, "command not found: 'no-such-program'"),
        (["/no/such/program"], 127, "command not found: '/no/such/program'"),
        (["/etc/passwd"], 126, "cannot run '/etc/passwd': Permission denied"),
    ],
)
def test_a_command_that_cannot_start_says_why(bench: Bench, argv: list[str], status: int, words: str) -> None:
    run = begin(bench, argv)
    assert outcome(run.result()) == (status, None, words)
    assert (run.stream("stdout").size, run.stream("stderr").size) == (0, 0)


@pytest.mark.parametrize("status", [126, 127])
def test_a_command_may_itself_end_with_the_status_of_one_that_did_not_start(bench: Bench, status: int) -> None:
    assert outcome(begin(bench, f"exit {status}").result()) == (status, None, "")


def test_a_missing_working_directory_is_named(bench: Bench) -> None:
    result = begin(bench, "exit 0", cwd="/no/where").result()
    assert result.problem == "there is no working directory '/no/where'"


def test_environment_and_working_directory_are_the_commands_own(bench: Bench) -> None:
    environment = {"COLOUR": "it's\n$red", "IFS": "/", "jq_s": "1", "UID": "77", "S": ""}
    run = begin(bench, 'pwd; printf "%s|" "$COLOUR" "$jq_s" "${S-unset}"; @env', env=environment, cwd="/etc")
    assert outcome(run.result()) == OK
    assert run.stream("stdout").kept.startswith(b"/etc\nit's\n$red|1||")
    assert b"\nUID=77\n" in run.stream("stdout").kept
    after = begin(bench, 'pwd; printf "%s" "${COLOUR-unset}"')
    assert outcome(after.result()) == OK
    assert after.stream("stdout").kept.endswith(b"\nunset")


def test_arguments_and_environment_may_be_long(bench: Bench) -> None:
    word = "x'" * 50_000
    run = begin(bench, [*bench.shell, 'printf %s "$1"; printf %s "$LONG" >&2', "sh", word], env={"LONG": word})
    assert outcome(run.result()) == OK
    assert (run.stream("stdout").kept.decode(), run.stream("stderr").kept.decode()) == (word, word)


def test_stdin_is_empty(bench: Bench) -> None:
    run = begin(bench, "@cat")
    assert outcome(run.result()) == OK
    assert run.stream("stdout").size == 0


def test_a_time_out_ends_the_whole_tree(bench: Bench, token: str, eventually: Wait) -> None:
    """Children in sessions of their own and ones that ignore SIGTERM are ended, too."""
    result = begin(bench, f"trap '' TERM; @setsid @sleep {token} & @sleep {token}", timeout=0.4).result()
    assert outcome(result) == (None, signal.SIGKILL, "timed out after 0.4 s")
    eventually(lambda: not processes(token), SECONDS)


def test_what_it_wrote_before_the_time_out_is_kept(bench: Bench, token: str) -> None:
    run = begin(bench, f"printf begun; exec @sleep {token}", timeout=0.4)
    result = run.result()
    assert result.problem == "timed out after 0.4 s"
    assert result.signal == (signal.SIGKILL if bench.name == "exec-no-shell" else signal.SIGTERM)
    assert run.stream("stdout").kept == b"begun"


def test_a_command_that_ends_itself_when_asked_keeps_its_status(bench: Bench, token: str) -> None:
    if bench.name == "exec-no-shell":
        pytest.skip("without a shell in the image a command cannot be asked")
    run = begin(bench, f"trap 'echo bye; exit 5' TERM; @sleep {token} & wait", timeout=0.4)
    assert outcome(run.result()) == (5, None, "timed out after 0.4 s")
    assert run.stream("stdout").kept == b"bye\n"


def test_stopping_ends_the_whole_tree(bench: Bench, token: str, eventually: Wait) -> None:
    run = begin(bench, f"(@setsid @sleep {token} &); @sleep {token} & wait")
    eventually(lambda: len(processes(token)) == 2, SECONDS)
    run.stop()
    assert run.result().problem == "stopped"
    eventually(lambda: not processes(token), SECONDS)


def test_background_children_neither_delay_the_end_nor_outlive_it(bench: Bench, token: str, eventually: Wait) -> None:
    run = begin(bench, f"(@setsid @sleep {token} &); (@env -i {bench.binary} sleep {token} &); printf done")
    assert outcome(run.result()) == OK
    assert run.stream("stdout").kept == b"done"
    eventually(lambda: not processes(token), SECONDS)


def test_nothing_outlives_a_failure_of_ours(bench: Bench, token: str, eventually: Wait) -> None:
    if not isinstance(bench, DockerBench):
        pytest.skip("the local executor runs in another process")

    def fail(stream: str, data: bytes) -> None:
        raise RuntimeError("no room")

    with pytest.raises(RuntimeError, match="no room"):
        bench.executor.run(
            [*bench.shell, f"(@setsid @sleep {token} &); echo begun; @sleep {token}".replace("@", bench.call)],
            environment={}, working_directory=None, timeout_seconds=None, write=fail, keep_going=lambda: True,
            role="task 1",
        )  # fmt: skip
    eventually(lambda: not processes(token), SECONDS)


def test_hundreds_of_commands_do_not_get_mixed_up(bench: Bench) -> None:
    count = 300 if bench.name.startswith("resident") else 10
    for number in range(count):
        run = begin(bench, f"printf {number}; printf %s -{number} >&2; exit {number % 100}")
        assert outcome(run.result()) == (number % 100, None, "")
        assert run.stream("stdout").kept.decode() == f"{number}"
        assert run.stream("stderr").kept.decode() == f"-{number}"
