"""``top``: the cluster in one look."""

from __future__ import annotations

import time
from collections.abc import Generator
from typing import Annotated, Any, Final

import typer
from rich.live import Live

from jqueuer.cli.clustering import Observer
from jqueuer.cli.display.cluster import cluster_picture
from jqueuer.cli.display.looks import Cluster
from jqueuer.cli.exits import Exit
from jqueuer.cli.live import can_draw, drawable, fitting, with_ticks
from jqueuer.cli.options import DEFAULT_URL, AsJson, Url, examples
from jqueuer.cli.output import out, tell_json
from jqueuer.client import Client, ClientError

PERIOD_SECONDS: Final = 2.0
_TIMES_ITS_COST: Final = 4
"""Looking takes a fifth of the time at most: where that is long it is looked at less often."""


def add_commands(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command(epilog=examples("jqueuer top", "jqueuer top --once", "jqueuer top --json | jq .nodes"))(top)


def top(
    once: Annotated[bool, typer.Option("--once", help="Show it once, as is done away from a terminal.")] = False,
    url: Url = DEFAULT_URL,
    as_json: AsJson = False,
) -> None:
    """Show the cluster: its nodes, the experiments that have not ended, whether store and broker answer.

    On a terminal it is drawn anew every two seconds, until Ctrl-C.
    """
    with Client(url) as client:
        observer = Observer(client)
        if not once and not as_json and can_draw(out):
            _watch(client, observer)
            return
        cluster = observer.look()
        if cluster.store_problem is None:
            raise ClientError(cluster.trouble)
        if as_json:
            tell_json(_document(cluster))
        else:
            out.print(drawable(out, cluster_picture(cluster, client.now(), out.width)))
        if cluster.store_problem:
            raise typer.Exit(Exit.REFUSED)


def _watch(client: Client, observer: Observer) -> None:
    with Live(console=out, auto_refresh=False, screen=True) as live:
        cluster = None
        try:
            for look in with_ticks(_looks(observer)):
                cluster = look or cluster
                if cluster is None:
                    continue
                ever_less = (
                    cluster_picture(cluster, client.now(), out.width, experiments=most)
                    for most in range(min(len(cluster.experiments), out.height), -1, -1)
                )
                live.update(drawable(out, fitting(out, ever_less)), refresh=True)
        except KeyboardInterrupt:
            return  # it has no other end


def _looks(observer: Observer) -> Generator[Cluster, None, None]:
    while True:
        began = time.monotonic()
        yield observer.look()
        time.sleep(max(PERIOD_SECONDS, (time.monotonic() - began) * _TIMES_ITS_COST))


def _document(cluster: Cluster) -> dict[str, Any]:
    return {
        "url": cluster.url,
        "at": cluster.at,
        "store": {"up": not cluster.store_problem, "problem": cluster.store_problem or ""},
        "broker": {"up": cluster.broker_up},
        "nodes": [*cluster.nodes],
        "containers_on": cluster.containers_on,
        "experiments": [*cluster.experiments],
        "total": cluster.total,
    }
