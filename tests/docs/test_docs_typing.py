"""A page that is wrong fails with its page, its line, the command and what that printed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.docs import machine
from tests.docs.pages import Block
from tests.docs.running import run
from tests.docs.terminal import CommandError, KeptProgram, Place
from tests.lab import available

SERVER = "python3 -m http.server --bind 127.0.0.1 8081\n"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    available.require(machine.why_not)
    with machine.one_machine(tmp_path_factory.mktemp("typing")) as place:
        yield place


def script(line: int, text: str, *, kept: bool = False) -> Block:
    return Block("page.md", line, text, kept=kept)


def test_variables_functions_and_options_live_on(place: Place) -> None:
    first = script(3, 'word=$(echo "two words")\nsay() { printf "%s\\n" "$@"; }\n')
    run([first, script(9, 'test "$(say "$word")" = "two words"\n[[ $- == *e* && $- == *u* ]]\n')], place)


def test_no_command_reads_the_next_one(place: Place) -> None:
    run([script(3, "cat\ntouch after\n"), script(9, "test -e after\nrm after\n")], place)


@pytest.mark.parametrize("wrong", ["ls nowhere.txt", "false | true", "echo $never_set", "cd nowhere.txt"])
def test_a_command_that_fails_is_named_with_its_line_and_words(place: Place, wrong: str) -> None:
    with pytest.raises(CommandError, match=r"^page\.md:8: status [1-9]") as failed:
        run([script(7, f"echo before\n{wrong}\necho after\n")], place)
    said = str(failed.value)
    assert wrong in said
    assert "before" not in said
    assert "after" not in said
    assert any(word in said for word in ("nowhere.txt", "never_set", "false"))


def test_a_server_is_awaited_and_interrupted_at_the_end(place: Place) -> None:
    """In a network where the port is free, whatever else this machine does."""
    for _ in range(2):
        run([script(3, SERVER, kept=True), script(9, "curl --fail --silent http://localhost:8081/README.md\n")], place)


def test_a_server_that_ends_at_once_is_told_with_what_it_said(place: Place) -> None:
    with pytest.raises(CommandError, match=r"^page\.md:3: ended at once: cat nowhere.txt") as failed:
        KeptProgram(place, script(3, "cat nowhere.txt\n", kept=True))
    assert "No such file" in str(failed.value)


def test_a_server_that_does_not_end_well_is_told(place: Place) -> None:
    ends_badly = script(3, f"trap 'exit 7' INT\n{SERVER}", kept=True)
    with pytest.raises(CommandError, match=r"^page\.md:3: status 7 on Ctrl-C"):
        run([ends_badly, script(9, "true\n")], place)
