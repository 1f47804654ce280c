"""The picture of the cluster: its nodes, the experiments that have not ended, and whether all parts answer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from jqueuer.cli.display.bars import bar, share, states_of_containers
from jqueuer.cli.display.frame import NARROW, cut
from jqueuer.cli.display.looks import Cluster
from jqueuer.cli.display.rows import experiment_rows
from jqueuer.cli.display.words import clock, one_line
from jqueuer.cli.output import counted

_GIB = 1024**3
_WIDE = 100
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")
"""What metrics write as an underscore in the name of a node."""


def cluster_picture(cluster: Cluster, now: float, width: int, *, experiments: int | None = None) -> RenderableType:
    """Everything about the cluster at this moment, in so many columns; so many of its experiments at most."""
    shown = cluster.experiments[:experiments]
    parts: list[RenderableType] = [_head(cluster, now), Text(), *_nodes(cluster, width), Text()]
    parts += experiment_rows(shown, now, width) or [Text("No experiment runs or waits.", "dim")]
    if cluster.total > len(shown):
        parts.append(Text(f"{cluster.total - len(shown)} more, older ones: `jqueuer list`", "dim"))
    return Group(*parts)


def _head(cluster: Cluster, now: float) -> Text:
    head = Text.assemble((cluster.url, "bold"), "  ", (clock(cluster.at, now), "dim"), "  ")
    head.append_text(_answers("store", None if cluster.store_problem is None else not cluster.store_problem))
    head.append("  ").append_text(_answers("broker", cluster.broker_up))
    if cluster.store_problem:
        head.append(f"\n{one_line(cluster.store_problem)}", "red")
    if cluster.trouble:
        head.append(f"\n{one_line(cluster.trouble)}", "yellow")
    return head


def _answers(name: str, up: bool | None) -> Text:
    if up is None:
        return Text(f"{name} unknown", "yellow")
    return Text(f"{name} answers", "green") if up else Text(f"{name} does not answer", "bold red")


def _nodes(cluster: Cluster, width: int) -> list[Text]:
    names = [cut(one_line(node["name"]), width // 4) for node in cluster.nodes]
    name_width = max([4, *map(len, names)])
    lines = []
    if cluster.nodes and width >= NARROW:
        columns = ("state".ljust(9), "cores reserved".ljust(14), "memory reserved".ljust(18), "containers")
        lines.append(Text("  ".join(("node".ljust(name_width), *columns)), "dim"))
    for name, node in zip(names, cluster.nodes, strict=True):
        on_it = cluster.containers_on.get(_UNSAFE.sub("_", node["name"]), {})
        lines += _node(name, node, _containers(node, on_it, drawn=width >= _WIDE), name_width, width)
    return lines


def _node(name: str, node: dict[str, Any], containers: Text, name_width: int, width: int) -> list[Text]:
    state = Text("ready", "green") if node["ready"] else Text(one_line(node["condition"]) or "not ready", "red")
    cores = f"{node['reserved_cpu_cores']:g}/{node['cpu_cores']:g}"
    memory = f"{_gib(node['reserved_memory_bytes'])}/{_gib(node['memory_bytes'])} GiB"
    if width < NARROW:
        head = Text.assemble((name, "bold"), "  ", state)
        return [head, Text(f"  {cores} cores, {memory} reserved"), Text("  ").append_text(containers)]
    state.pad_right(max(0, 9 - state.cell_len))
    cores_used = share(node["reserved_cpu_cores"], node["cpu_cores"], 6, "cyan")
    memory_used = share(node["reserved_memory_bytes"], node["memory_bytes"], 6, "cyan")
    joined = Text.assemble(
        (name.ljust(name_width), "bold"), "  ", state, "  ", cores_used, f" {cores:<7}", "  ", memory_used
    )
    joined.append(f" {memory:<11}").append("  ").append_text(containers)
    return [joined]


def _containers(node: dict[str, Any], by_state: Mapping[str, int], *, drawn: bool) -> Text:
    """Their number, and their states where these are known."""
    parts = [part for part in states_of_containers(dict(by_state)) if part.amount]
    if not parts:
        return Text(counted(node["containers"], "container"))
    line = bar(parts, min(10, sum(part.amount for part in parts))).append(" ") if drawn else Text()
    return line.append_text(Text(", ").join(Text(f"{part.amount} {part.name}", part.style) for part in parts))


def _gib(size_bytes: float) -> str:
    return f"{size_bytes / _GIB:.1f}".removesuffix(".0")
