"""Scaling down never kills a running job."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable

from tests.swarm.conftest import Cluster
from tests.swarm.engine_events import EngineEvents
from tests.swarm.witness import Witness

Wait = Callable[[Callable[[], object], float], None]

MOST, FEWEST = 9, 6
JOB_SECONDS = 20
JOBS = 200
"""More than are done before the last scale-down, however slow the machine; those that are left then are short."""


def test_thirty_scale_downs_kill_no_job_and_restart_no_container(cluster: Cluster, eventually: Wait) -> None:
    """Three nodes, two and more containers on each, every one in the midst of a job, up to eight draining at once."""
    witness = Witness(cluster.shared, "scale-down")
    api = cluster.api

    def containers() -> dict[str, int]:
        return dict(api.experiment(experiment_id)["containers"])

    def all_hold_a_job(working: int) -> bool:
        now = containers()
        return now["busy"] == now["running"] == now["requested"] == working and now["starting"] == 0

    quick = {"name": "fixed", "containers": 1000, "period": "1s"}
    description = witness.describe(jobs=JOBS, seconds=JOB_SECONDS, containers=MOST, policy=quick)
    experiment_id = api.submit_bytes(json.dumps(description).encode(), "application/json")["id"]
    with EngineEvents(cluster.nodes, experiment_id) as events:
        eventually(lambda: all_hold_a_job(MOST), 60)
        per_node = Counter(started.node for started in events.of("start"))
        assert min(per_node[node.name] for node in cluster.nodes) >= 2, per_node
        scale_downs = draining = 0
        asked_for = MOST
        while scale_downs < 30:
            for most in range(MOST - 1, FEWEST - 1, -1):
                eventually(lambda most=most: all_hold_a_job(most + 1), 60)
                asked = len(events.asked_to_stop())
                busy = witness.busy_containers().keys()
                api.change_limits(experiment_id, maximum=most)
                eventually(lambda asked=asked: len(events.asked_to_stop()) > asked, 30)
                scale_downs += events.asked_to_stop()[-1] in busy  # one between two jobs does not count
            draining = max(draining, containers()["draining"])
            api.change_limits(experiment_id, maximum=MOST)  # while others drain
            asked_for += MOST - FEWEST
        witness.wake()
        api.wait(experiment_id)
        lost = {line.container for line in witness.unfinished()}
        killed = [event for event in events.of("die") if event.container in lost]
        restarted = max(0, len(events.of("start")) - asked_for)
    ended = api.experiment(experiment_id)
    print(json.dumps({"scale_downs": scale_downs, "killed": len(killed), "restarted": restarted}))  # noqa: T201
    assert (killed, restarted, lost) == ([], 0, set())
    assert draining >= 2
    assert (ended["jobs"]["accomplished"], ended["statistics"]["attempts"]) == (JOBS, JOBS), ended["reason"]
    assert set(witness.begun().values()) == {1}
