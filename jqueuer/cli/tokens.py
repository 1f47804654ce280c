"""``token add``, ``token list`` and ``token remove``: who may use a manager."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import typer

from jqueuer.access import Role
from jqueuer.cli.options import DEFAULT_URL, AsJson, Url, examples
from jqueuer.cli.output import say, tell, tell_json, tell_table
from jqueuer.client import Client


def add_commands(app: typer.Typer) -> None:
    """Add the commands of this module, as commands of a command."""
    group = typer.Typer(no_args_is_help=True, help="Make, list and withdraw the tokens of a manager's users.")
    group.command(
        epilog=examples(
            "jqueuer token add alice --role submitter --expires 90d > alice.token",
            "jqueuer token add wallboard --role viewer --note 'the screen in room 3'",
        )
    )(add)
    group.command("list", epilog=examples("jqueuer token list"))(list_all)
    group.command(epilog=examples("jqueuer token remove 3f0c9a51b2de"))(remove)
    app.add_typer(group, name="token")


def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The user; may have several, with different roles.")],
    role: Annotated[
        Role,
        typer.Option("--role", help="viewer: looks; submitter: also submits, and changes what is theirs; admin: all."),
    ],
    expires: Annotated[
        str | None, typer.Option("--expires", metavar="DURATION", help="After how long it is worth nothing (90d).")
    ] = None,
    note: Annotated[str, typer.Option("--note", metavar="TEXT", help="To know it again by.")] = "",
    url: Url = DEFAULT_URL,
    as_json: AsJson = False,
) -> None:
    """Make a token and print it, this once: the manager keeps its digest only."""
    with Client(url) as client:
        made = client.make_token(name, role.value, expires=expires, note=note)
    if as_json:
        tell_json(made)
        return
    expires_at = _moment(made["expires_at"])
    say(f"a token of {made['name']} with the role {made['role']}, expires {expires_at}; its id is {made['id']}")
    tell(made["token"])


def list_all(url: Url = DEFAULT_URL, as_json: AsJson = False) -> None:
    """List the tokens, oldest first; what they are nobody can be shown."""
    with Client(url) as client:
        found = client.tokens()
    if as_json:
        tell_json({"tokens": found})
        return
    rows = [
        (one["id"], one["name"], one["role"], _moment(one["created_at"]), _moment(one["expires_at"]), one["note"])
        for one in found
    ]
    tell_table(("id", "user", "role", "made", "expires", "note"), rows)


def remove(
    token_id: Annotated[str, typer.Argument(metavar="ID", help="The token, as `jqueuer token list` shows it.")],
    url: Url = DEFAULT_URL,
    as_json: AsJson = False,
) -> None:
    """Withdraw a token: from now on it is worth nothing."""
    with Client(url) as client:
        client.remove_token(token_id)
    if as_json:
        tell_json({"id": token_id})
    else:
        tell(f"{token_id}: removed")


def _moment(seconds: float | None) -> str:
    return "never" if seconds is None else datetime.fromtimestamp(seconds).astimezone().strftime("%Y-%m-%d %H:%M:%S")
