"""``jqueuer token``, and the tokens of a system on this machine."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs
from typer.testing import CliRunner, Result

from jqueuer.cli import app
from jqueuer.client import Client
from jqueuer.client.client import ClientError
from tests.embedded.api_manager import ADMIN, Manager
from tests.embedded.running import System


def jqueuer(manager: Manager, *arguments: str, token: str = ADMIN) -> Result:
    environment = {"JQUEUER_URL": manager.url, "JQUEUER_TOKEN": token}
    with capture_logs():  # the manager is in this process, too
        return CliRunner(env=environment).invoke(app, arguments, prog_name="jqueuer")


def document(ended: Result) -> dict[str, Any]:
    assert ended.exit_code == 0, ended.stderr
    found: dict[str, Any] = json.loads(ended.stdout)
    return found


def test_a_token_is_made_used_listed_and_withdrawn(manager: Manager) -> None:
    made = jqueuer(manager, "token", "add", "alice", "--role", "submitter", "--expires", "90d", "--note", "her laptop")
    assert made.exit_code == 0
    token = made.stdout.strip()
    assert made.stdout == f"{token}\n", "nothing else: it can be redirected into a file"
    assert made.stderr.startswith("a token of alice with the role submitter, expires 20")
    assert token not in made.stderr
    with Client(manager.url, token=token) as alice:
        assert alice.me()["name"] == "alice"
    listed = jqueuer(manager, "token", "list")
    columns, row = listed.stdout.splitlines()
    assert columns.split() == ["id", "user", "role", "made", "expires", "note"]
    assert row.split()[1:3] == ["alice", "submitter"]
    assert token not in listed.stdout
    (found,) = document(jqueuer(manager, "token", "list", "--json"))["tokens"]
    removed = jqueuer(manager, "token", "remove", found["id"])
    assert (removed.exit_code, removed.stdout) == (0, f"{found['id']}: removed\n")
    refused = jqueuer(manager, "list", token=token)
    assert (refused.exit_code, refused.stdout) == (3, "")
    assert refused.stderr == (
        f"the manager at {manager.url} does not know the token in JQUEUER_TOKEN: it may have expired, or been removed; "
        "ask an administrator for another\n"
    )


def test_json_has_the_token_and_its_record(manager: Manager) -> None:
    made = document(jqueuer(manager, "token", "add", "wallboard", "--role", "viewer", "--json"))
    assert (made["name"], made["role"], made["expires_at"]) == ("wallboard", "viewer", None)
    assert document(jqueuer(manager, "token", "remove", made["id"], "--json")) == {"id": made["id"]}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("add", "a b", "--role", "viewer"), "name: "),
        (("add", "alice", "--role", "viewer", "--expires", "soon"), "expires"),
        (("add", "alice", "--role", "root"), "root"),
        (("add", "alice"), "--role"),
    ],
)
def test_a_wrong_wish_is_told_in_words_with_exit_code_2(
    manager: Manager, arguments: tuple[str, ...], words: str
) -> None:
    ended = jqueuer(manager, "token", *arguments)
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert words in ended.stderr


def test_who_is_no_administrator_is_refused_in_a_sentence(manager: Manager) -> None:
    token = manager.api.make_token("alice", "submitter")["token"]
    ended = jqueuer(manager, "token", "list", token=token)
    assert (ended.exit_code, ended.stderr.count("\n")) == (3, 1)
    assert "takes the role admin, and the token of alice has the role submitter" in ended.stderr


def test_lists_show_owners_and_can_be_of_ones_own(manager: Manager) -> None:
    token = manager.api.make_token("alice", "submitter")["token"]
    theirs = manager.submit_jobs(1)
    with Client(manager.url, token=token) as alice:
        own = alice.submit_bytes(b"jobs: [{id: a, command: ['true']}]")["id"]
    listed = jqueuer(manager, "list").stdout.splitlines()
    assert {tuple(line.split()[index] for index in (0, 2)) for line in listed} == {
        *(("id", "owner"), (own, "alice"), (theirs, "admin")),
    }
    mine = document(jqueuer(manager, "list", "--mine", "--json", token=token))["experiments"]
    assert [item["id"] for item in mine] == [own]
    assert "owner: alice" in jqueuer(manager, "status", own).stdout


def test_an_embedded_systems_tokens_are_its_owners_alone(system: System) -> None:
    for name in ("token", "agent_token"):
        file = system.embedded.state_dir / name
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert len(file.read_text().strip()) > 40
    assert system.embedded.token_file.read_text() == f"{system.embedded.token}\n"


def test_what_an_embedded_system_keeps_is_its_owners_alone(own_system: Callable[[], System]) -> None:
    """Descriptions with their environment, logs and outputs are for who has a token, not for who has an account."""
    assert stat.S_IMODE(own_system().embedded.state_dir.stat().st_mode) == 0o700


def test_an_embedded_systems_tokens_are_in_no_argument_and_no_log(system: System) -> None:
    system.run("jobs: [{id: a, command: {shell: env}}]")
    tokens = [(system.embedded.state_dir / name).read_text().strip() for name in ("token", "agent_token")]
    for pid in system.embedded.pids.values():
        arguments = Path(f"/proc/{pid}/cmdline").read_text()
        assert not any(token in arguments for token in tokens)
    logs = [file for file in system.embedded.state_dir.rglob("*") if file.is_file() and file.suffix == ".log"]
    assert logs
    assert not any(token in file.read_text(errors="replace") for file in logs for token in tokens)
    agent = Path(f"/proc/{system.embedded.pids['jqueuer_agent']}/environ").read_text()
    assert (tokens[0] in agent, tokens[1] in agent) == (False, True), "agents need no administrator's token"


def test_what_jobs_print_of_their_environment_has_no_token_in_it(system: System) -> None:
    experiment_id = system.submit("jobs: [{id: a, command: {shell: env}}]")
    system.api.wait(experiment_id, poll_seconds=0.05)
    printed = system.log(experiment_id, "a")
    assert "PATH=" in printed
    assert "TOKEN" not in printed


def test_the_command_line_finds_the_token_of_the_system_it_talks_to(system: System) -> None:
    here = {"JQUEUER_STATE_DIR": str(system.embedded.state_dir), "JQUEUER_URL": system.embedded.url}
    assert CliRunner(env=here).invoke(app, ["list"]).exit_code == 0
    elsewhere = {"JQUEUER_STATE_DIR": str(system.embedded.state_dir / "none"), "JQUEUER_URL": system.embedded.url}
    refused = CliRunner(env=elsewhere).invoke(app, ["list"])
    assert refused.exit_code == 3
    assert "wants a token: set JQUEUER_TOKEN" in refused.stderr


def test_an_embedded_system_asks_for_its_token(system: System) -> None:
    with Client(system.embedded.url, token="jq_nobodys") as stranger, pytest.raises(ClientError) as refused:
        stranger.limits()
    assert refused.value.status == 401
