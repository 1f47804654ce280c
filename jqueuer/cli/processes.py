"""``manager`` and ``agent``: become that process."""

from __future__ import annotations

import os
import sys

import typer

from jqueuer.cli.options import examples

_PASS_ON = {"allow_extra_args": True, "ignore_unknown_options": True}


def add_commands(app: typer.Typer) -> None:
    """Add the commands of this module."""
    manager_example = examples("JQUEUER_STORE_URL=redis://store:6379/0 jqueuer manager")
    agent_example = examples("JQUEUER_NODE=node-7 jqueuer agent")
    app.command(epilog=manager_example, context_settings=_PASS_ON)(manager)
    app.command(epilog=agent_example, context_settings=_PASS_ON)(agent)


def manager(ctx: typer.Context) -> None:
    """Run the manager alone; JQUEUER_… variables are its settings."""
    _become("jqueuer_manager", ctx.args)


def agent(ctx: typer.Context) -> None:
    """Run the agent alone; JQUEUER_… variables are its settings."""
    _become("jqueuer_agent", ctx.args)


def _become(module: str, arguments: list[str]) -> None:
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, [sys.executable, "-m", module, *arguments])  # noqa: S606 - no shell, on purpose
