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
JOB_SECONDS = 20.0
JOBS = 100


def test_thirty_scale_downs_kill_no_job_and_restart_no_container(cluster: Cluster, eventually: Wait) -> None:
    """Three nodes, two and more containers on each, every one in the midst of a job, up to eight draining at once."""
    witness = Witness(cluster.shared, "scale-down")
    api = cluster.api

    def containers() -> dict[str, int]:
        return dict(api.experiment(experiment_id)["containers"])

    def all_in_the_midst_of_a_job() -> bool:
        """So many hold a job as are requested, and none is about to end."""
        ages = witness.busy_containers().values()
        now = containers()
        return (
            now["busy"] == now["running"] == now["requested"] == MOST
            and now["starting"] == 0
            and all(age < JOB_SECONDS - 3 for age in ages)
        )

    experiment_id = api.submit_bytes(
        json.dumps(witness.describe(jobs=JOBS, seconds=JOB_SECONDS, containers=MOST)).encode(), "application/json"
    )["id"]
    with EngineEvents(cluster.nodes, experiment_id) as events:
        eventually(all_in_the_midst_of_a_job, 60)
        per_node = Counter(started.node for started in events.of("start"))
        assert min(per_node[node.name] for node in cluster.nodes) >= 2, per_node
        scale_downs = draining = 0
        while scale_downs < 30:
            eventually(all_in_the_midst_of_a_job, 60)
            for most in range(MOST - 1, FEWEST - 1, -1):
                asked = len(events.asked_to_stop())
                busy = witness.busy_containers().keys()
                api.change_limits(experiment_id, maximum=most)
                eventually(lambda asked=asked: len(events.asked_to_stop()) > asked, 30)
                assert events.asked_to_stop()[-1] in busy
                scale_downs += 1
            draining = max(draining, containers()["draining"])
            api.change_limits(experiment_id, maximum=MOST)  # while others drain
        api.wait(experiment_id)
        lost = {line.container for line in witness.unfinished()}
        killed = [event for event in events.of("die") if event.container in lost]
        restarted = events.died_unasked()
    ended = api.experiment(experiment_id)
    print(json.dumps({"scale_downs": scale_downs, "killed": len(killed), "restarted": len(restarted)}))  # noqa: T201
    assert (killed, restarted, lost) == ([], [], set())
    assert draining >= 3
    assert (ended["jobs"]["accomplished"], ended["statistics"]["attempts"]) == (JOBS, JOBS), ended["reason"]
    assert set(witness.begun().values()) == {1}
