"""What is drawn of the cluster, as text."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from rich.cells import cell_len

from jqueuer.cli.display.bars import Part, bar
from jqueuer.cli.display.cluster import cluster_picture
from jqueuer.cli.display.looks import Cluster
from tests.unit.test_cli_display import EXPERIMENT, NOW, printed

GIB = 1024**3
NODE: dict[str, Any] = {
    "name": "node.1",
    "ready": True,
    "condition": "",
    "cpu_cores": 8.0,
    "memory_bytes": 16 * GIB,
    "reserved_cpu_cores": 2.0,
    "reserved_memory_bytes": 3 * GIB / 2,
    "containers": 5,
}
ITEM = {key: EXPERIMENT[key] for key in ("id", "state", "deadline_at", "finished_at", "jobs")}
CLUSTER = Cluster(
    url="http://manager:8081",
    at=NOW,
    store_problem="",
    broker_up=True,
    nodes=(NODE, {**NODE, "name": "node-2", "ready": False, "condition": "down", "containers": 1}),
    containers_on={"node_1": {"busy": 3, "idle": 2, "starting": 0}},
    experiments=(
        {**ITEM, "id": "fresh-1", "state": "paused", "deadline_at": None},
        EXPERIMENT,
        {**EXPERIMENT, "id": "waiting-with-a-very-long-name-7k2m9x", "waits_for": "room on a node", "forecast": None},
    ),
    total=3,
)


def lines_of(cluster: Cluster, width: int = 80, experiments: int | None = None) -> list[str]:
    picture = cluster_picture(cluster, NOW, width, experiments=experiments)
    return [line.rstrip() for line in printed(picture, width).splitlines()]


def test_the_cluster_is_drawn_in_one_picture() -> None:
    head, *drawn = lines_of(CLUSTER)
    assert head.startswith("http://manager:8081  ")
    assert head.endswith("store answers  broker answers")
    assert drawn == [
        "",
        "node    state      cores reserved  memory reserved     containers",
        "node.1  ready      ██░░░░ 2/8      █░░░░░ 1.5/16 GiB   3 busy, 2 idle",
        "node-2  down       ██░░░░ 2/8      █░░░░░ 1.5/16 GiB   1 container",
        "",
        "experiment        outlook            deadline   ends in cont.  jobs",
        "fresh-1           paused                                       ████▓✗░░░  53 %",
        "sweep-7k2m9x      on time 97 %            40s       20s   2/4  ████▓✗░░░  53 %",
        "waiting-with-a-very-long-name-7k2m9x",
        "                  waits                   40s             2/4  ████▓✗░░░  53 %",
        "  waits for: room on a node",
    ]


@pytest.mark.parametrize("width", [40, 60, 76, 80, 100, 120, 200])
def test_no_line_is_wider_than_the_terminal_and_nothing_is_left_out(width: int) -> None:
    drawn = lines_of(CLUSTER, width)
    assert max(map(cell_len, drawn)) <= width
    text = " ".join(" ".join(drawn).split())
    for words in ("store answers", "node.1", "2/8", "1.5/16", "3 busy", "down", "paused", "on time 97 %", "2/4"):
        assert words in text
    assert "room on a node" in text


def test_what_finds_no_room_is_counted() -> None:
    assert lines_of(CLUSTER, experiments=1)[-1] == "2 more, older ones: `jqueuer list`"
    assert "fresh-1" in lines_of(CLUSTER, experiments=1)[-2]


def test_where_nothing_runs_it_says_so() -> None:
    assert lines_of(replace(CLUSTER, experiments=(), total=0))[-1] == "No experiment runs or waits."


def test_what_does_not_answer_is_named() -> None:
    away = replace(CLUSTER, store_problem="the store does not answer: gone", broker_up=False)
    drawn = lines_of(away)
    assert drawn[0].endswith("store does not answer  broker does not answer")
    assert drawn[1] == "the store does not answer: gone"
    unknown = replace(CLUSTER, store_problem=None, broker_up=None, trouble="no answer from the manager")
    drawn = lines_of(unknown)
    assert drawn[0].endswith("store unknown  broker unknown")
    assert drawn[1] == "no answer from the manager"


@pytest.mark.parametrize(
    ("counts", "width", "drawn"),
    [
        ((1, 0, 1), 10, "aaaaaccccc"),
        ((1, 0, 999), 10, "accccccccc"),
        ((999, 1, 0), 10, "aaaaaaaaab"),
        ((1, 1, 1), 10, "aaaabbbccc"),
        ((0, 0, 0), 10, ""),
        ((5, 5, 5), 2, "abc"),
        ((100_000, 1, 1), 4, "aabc"),
    ],
)
def test_bars_are_as_wide_as_wanted_and_show_whatever_is_there(counts: tuple[int, ...], width: int, drawn: str) -> None:
    parts = [Part(count, sign, sign, "") for count, sign in zip(counts, "abc", strict=True)]
    assert bar(parts, width).plain == drawn
