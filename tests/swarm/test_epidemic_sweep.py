"""The demo's sweep on the Swarm, posted as a user posts it."""

from __future__ import annotations

import csv
import json
import subprocess
import time
from pathlib import Path
from typing import Any

from tests.swarm.conftest import Cluster

DESCRIPTION = Path(__file__).parents[2] / "experiments" / "epidemic-swarm.yaml"


def test_the_epidemic_sweep_runs_on_all_nodes_and_leaves_its_table_and_picture(
    cluster: Cluster, tmp_path: Path
) -> None:
    posted = subprocess.run(
        [
            *("curl", "-sS", "--fail-with-body", "-X", "POST", "-H", "Content-Type: application/yaml"),
            *("-H", f"Authorization: Bearer {cluster.token_file.read_text()}"),
            *("--data-binary", f"@{DESCRIPTION}", f"{cluster.url}/api/v1/experiments"),
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    api, experiment_id = cluster.api, json.loads(posted.stdout)["id"]
    while api.experiment(experiment_id)["jobs"]["accomplished"] < 250:
        time.sleep(1.0)  # looking more often would take from the jobs what they need
    api.change_deadline(experiment_id, "1h")  # fewer containers do from here on, however slow the machine is
    api.wait(experiment_id)
    ended = api.experiment(experiment_id)
    assert ended["state"] == "accomplished", ended["reason"]
    summary = api.summary(experiment_id)
    print(json.dumps(summary))  # noqa: T201
    jobs = list(api.jobs(experiment_id))
    assert len(jobs) == 320
    details = [api.job(experiment_id, job["id"]) for job in jobs[::8]]
    nodes = {attempt["node"] for job in details for attempt in job["attempts"]}
    assert nodes == {node.name for node in cluster.nodes}
    assert summary["scale_ups"] >= 1
    assert summary["scale_downs"] >= 1
    acted = [entry for entry in api.journal(experiment_id) if entry["action"] in ("scale-up", "scale-down")]
    assert all(entry["reason"] for entry in acted)
    printed = b"".join(api.log(experiment_id, jobs[0]["id"], 1, "stdout")).decode()
    assert "people infected" in printed
    files = list(
        api.download(experiment_id, tmp_path, place=lambda output: (output["path"],) if is_report(output) else None)
    )
    assert {file.name for file in files} == {"final_size.csv", "final_size.png"}
    with (tmp_path / "final_size.csv").open() as table:
        assert len(list(csv.DictReader(table))) == 320
    assert (tmp_path / "final_size.png").read_bytes().startswith(b"\x89PNG")


def is_report(output: dict[str, Any]) -> bool:
    return str(output["path"]).startswith("final_size")
