"""No word of a description is ever taken for shell: not as an argument, a variable, a directory, a file or an id."""

from __future__ import annotations

import glob
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jqueuer.descriptor import read_description
from jqueuer.errors import DescriptionError
from jqueuer_agent.adapters.docker import shell
from jqueuer_agent.adapters.local_workspace import LocalWorkspace
from tests.contract.executors import Call, LocalBench

WORDS = (
    *("$(touch pwned)", "`touch pwned`", "; touch pwned;", "&& touch pwned", "| touch pwned", "> pwned"),
    *("\ntouch pwned\n", "'; touch pwned; '", '"; touch pwned; "', "$HOME", "${IFS}", "~", "*", "?", "[a-z]", "{a,b}"),
    *("!!", "#", "\\", "\\'", "-", "--", "-rf", "--help", "-c", "a=b", "=", "", " ", "\t", "\r\n", "é", "日本"),
    *("\x01", "\x7f", "%s%n", "A" * 10_000),
)
NAMES = tuple(word for word in WORDS if word and len(word) < 200)
SHOW = "import json, os, sys; print(json.dumps([sys.argv[1:], dict(os.environ), os.getcwd()]))"
VARIABLES = {f"V{number}": word for number, word in enumerate(WORDS)}
MEANT_BY_SHELLS = {"IFS": "; ", "PS4": "$(touch pwned)", "ENV": "pwned", "BASH_ENV": "pwned", "OPTIND": "1;touch pwned"}
SHELLS = [["dash"], ["bash", "--posix"], ["busybox", "sh"]]


@pytest.fixture(params=range(len(NAMES)))
def directory(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """One with such a name."""
    place = tmp_path / f"d{NAMES[request.param]}"
    place.mkdir()
    return place


def test_local_commands_get_every_word_and_variable_as_it_is(tmp_path: Path) -> None:
    run = LocalBench(tmp_path).begin(Call([sys.executable, "-c", SHOW, *WORDS], VARIABLES, str(tmp_path), None))
    assert run.result().exit_code == 0
    arguments, environment, place = json.loads(bytes(run.stream("stdout").kept))
    assert arguments == list(WORDS)
    assert {name: environment[name] for name in VARIABLES} == VARIABLES
    assert place == str(tmp_path)
    assert not list(tmp_path.rglob("pwned"))


def run_in(sh: list[str], text: bytes, directory: Path) -> list[Any]:
    """What the runner's own words do in this shell; what comes after a command is left out."""
    if shutil.which(sh[0]) is None:
        pytest.skip(f"there is no {sh[0]} here")
    start = f"exec 3>&2\n{shell.FUNCTIONS}\njq_setsid= jq_env=$(command -v env)\njq_end() {{ :; }}\n"
    done = subprocess.run(sh, input=start.encode() + text, capture_output=True, cwd=directory, check=True, timeout=60)
    assert not list(directory.rglob("pwned"))
    return list(json.loads(done.stdout))


@pytest.mark.parametrize("sh", SHELLS, ids=lambda sh: sh[0])
def test_shells_in_containers_get_every_word_and_variable_as_it_is(sh: list[str], tmp_path: Path) -> None:
    wanted = {**VARIABLES, **MEANT_BY_SHELLS, "PATH": os.environ["PATH"]}
    text = shell.command(
        [sys.executable, "-c", SHOW, *WORDS], environment=wanted, working_directory=None, nonces=("n1", "n2")
    )
    arguments, environment, _ = run_in(sh, text, tmp_path)
    assert arguments == list(WORDS)
    assert {name: environment.get(name) for name in wanted} == wanted


@pytest.mark.parametrize("sh", SHELLS, ids=lambda sh: sh[0])
def test_shells_in_containers_change_to_directories_of_any_name(sh: list[str], directory: Path, tmp_path: Path) -> None:
    text = shell.command(
        [sys.executable, "-c", SHOW], environment={}, working_directory=str(directory), nonces=("n1", "n2")
    )
    assert run_in(sh, text, tmp_path)[2] == str(directory)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",))), min_size=1, max_size=50))
def test_any_text_that_is_quoted_stays_what_it_is(words: list[str]) -> None:
    text = b"printf '%s\\0' " + b" ".join(shell.quoted(word) for word in words)
    said = subprocess.run(["sh"], input=text, capture_output=True, check=True).stdout
    assert said == b"".join(word.encode() + b"\0" for word in words)


def test_what_comes_out_of_a_container_is_not_repeated_to_a_shell_in_it() -> None:
    """A job may read the nonces in the runner's memory and speak for it; the answer may be run as root."""
    forged = "/proc/1 /proc/2'; touch pwned; ' /proc/3$(id) x/proc/4 /proc/5"
    text = shell.round_of("KILL", runner_pid=7, baseline=forged, own=True)
    assert "jq_own=1 jq_b='/proc/1 /proc/5'\n" in text
    assert "pwned" not in text


def test_input_and_output_files_of_any_name_lie_below_the_working_directory(tmp_path: Path) -> None:
    workspace = LocalWorkspace(tmp_path / "container")
    workspace.clear()
    names = [f"sub {number}/{name.replace('/', '')}" for number, name in enumerate(NAMES)]
    for name in names:
        workspace.put(name, lambda path: path.write_text("content") and None)
    workspace.placed()
    found = workspace.find([glob.escape(name) for name in names])
    assert [[name for name, _ in files] for files in found] == [[name] for name in names]
    assert {path.name for path in tmp_path.iterdir()} == {"container"}


def refusal(**values: Any) -> str:
    description = {"jobs": [{"id": "a", "command": ["true"], **values.pop("job", {})}], **values}
    with pytest.raises(DescriptionError) as refused:
        read_description(json.dumps(description).encode(), source="x").jobs.__iter__()
    return str(refused.value)


@pytest.mark.parametrize("identity", [name for name in NAMES if name not in {"A"}] + ["..", ".", "a/b", "a\n", "@post"])
def test_no_such_word_is_an_id(identity: str) -> None:
    assert "jobs[0].id" in refusal(job={"id": identity})


@pytest.mark.parametrize(
    "values",
    [
        {"job": {"command": ["a\0b"]}},
        {"job": {"command": {"shell": "a\0b"}}},
        {"environment": {"A": "a\0b"}},
        {"environment": {"A\0": "b"}},
        {"working_directory": "a\0b"},
        {"inputs": ["a\0b"]},
        {"outputs": ["a\0b"]},
        {"user": "a\0b"},
    ],
    ids=str,
)
def test_a_nul_is_refused_everywhere(values: dict[str, Any]) -> None:
    assert "NUL" in refusal(**values) or "expected" in refusal(**values)


@pytest.mark.parametrize("name", ["A=B", "A B", "A;B", "$(A)", "1A", "", "-A", "A\n", "JQUEUER_TOKEN"])
def test_variables_have_names_that_are_names(name: str) -> None:
    assert "environment" in refusal(environment={name: "x"})


@pytest.mark.parametrize("path", ["..", "../x", "a/../../x", "./../x"])
def test_a_relative_working_directory_does_not_lead_out_of_the_container_s_own(path: str) -> None:
    assert "without '..'" in refusal(working_directory=path)


@pytest.mark.parametrize(
    "key",
    ["privileged", "devices", "cap_add", "capabilities", "security_opt", "sysctls", "pid", "ipc", "userns", "ports"],
)
def test_the_language_has_no_word_for_more_power_than_a_container_has(key: str) -> None:
    assert f"unknown key '{key}'" in refusal(image="i", **{key: True})
    assert f"unknown key '{key}'" in refusal(image="i", job={key: True})
