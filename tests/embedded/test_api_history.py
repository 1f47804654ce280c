"""What pictures of an experiment are drawn of: its history, its attempts, their durations, and the nodes."""

from __future__ import annotations

import os
import socket
from typing import Any

import pytest
import requests
from structlog.testing import capture_logs

from cautoscaler import Durations
from jqueuer.adapters.redis_store import RedisContainerRegistry, RedisExperimentStore, connect
from jqueuer.adapters.redis_store.connection import StoreClient
from jqueuer.controller import ControllerState, Observation
from jqueuer.model import Experiment
from jqueuer.records import ContainerStatus, Counts, ExperimentRecord, HistoryPoint
from jqueuer.states import AttemptOutcome, ContainerState, ExperimentState
from jqueuer_manager.api.history import durations_model
from jqueuer_manager.recorder import Recorder
from tests.embedded.api_manager import Manager
from tests.embedded.running import System


def look(manager: Manager, path: str) -> Any:
    response = manager.http.get(f"{manager.url}/api/v1{path}", timeout=10)
    assert response.status_code == 200, response.text
    return response.json()


@pytest.mark.parametrize("what", ["history", "timeline", "durations"])
def test_there_is_nothing_to_draw_of_an_experiment_that_is_not_there(manager: Manager, what: str) -> None:
    url = f"{manager.url}/api/v1/experiments/nobody-aaaaaa/{what}"
    assert manager.http.get(url, timeout=10).status_code == 404


def test_history_is_what_was_recorded(manager: Manager) -> None:
    experiment_id = manager.submit_jobs(3)
    point = HistoryPoint(at=1000.0, queued=2, running=1, wanted=2, requested=2, busy=1, p50_at=1100.0)
    manager.services.experiments.record_point(experiment_id, point)
    assert look(manager, f"/experiments/{experiment_id}/history") == {"points": [point.model_dump()]}


def test_the_timeline_shows_who_worked_on_what(manager: Manager) -> None:
    experiment_id = manager.submit_jobs(3)
    manager.run(experiment_id, "j0")
    manager.run(experiment_id, "j1", outcome=AttemptOutcome.FAILED)
    claim = manager.services.ledger.claim(experiment_id, "j2", container="c2", node="n2")
    assert claim is not None
    spans = {span["job"]: span for span in look(manager, f"/experiments/{experiment_id}/timeline")["spans"]}
    assert [(span["container"], span["outcome"]) for _, span in sorted(spans.items())] == [
        ("c1", "accomplished"),
        ("c1", "failed"),
        ("c2", None),
    ]
    ended = spans["j0"]
    assert ended["finished_at"] == pytest.approx(ended["started_at"] + 2.0)
    after = f"/experiments/{experiment_id}/timeline?since={ended['finished_at'] + 60}"
    assert [span["job"] for span in look(manager, after)["spans"]] == ["j2"], "what runs may still end"


def test_durations_are_a_histogram(manager: Manager) -> None:
    experiment_id = manager.submit_jobs(2)
    empty = {"buckets": [], "count": 0, "p50_seconds": None, "p95_seconds": None, "mean_seconds": None}
    assert look(manager, f"/experiments/{experiment_id}/durations") == empty
    manager.run(experiment_id, "j0")
    manager.run(experiment_id, "j1")
    found = look(manager, f"/experiments/{experiment_id}/durations")
    (bucket,) = found["buckets"]
    assert bucket["from_seconds"] <= 2.0 <= bucket["to_seconds"]
    assert (bucket["count"], found["count"]) == (2, 2)
    assert found["p50_seconds"] == found["p95_seconds"] == found["mean_seconds"] == pytest.approx(2.0)


def test_every_duration_is_between_the_borders_of_its_bucket() -> None:
    durations = [0.0, 0.0005, 0.001, 0.0011, 0.5, 1.0, 1.5, 60.0, 3600.0, 86_400.0]
    for seconds in durations:
        (bucket,) = durations_model(Durations.of([seconds])).buckets
        assert bucket.from_seconds <= seconds <= bucket.to_seconds
        assert bucket.to_seconds <= max(0.001, 1.0906 * bucket.from_seconds)
    model = durations_model(Durations.of(durations))
    borders = [(bucket.from_seconds, bucket.to_seconds) for bucket in model.buckets]
    assert borders == sorted(borders)
    assert sum(bucket.count for bucket in model.buckets) == model.count == len(durations)


def test_quantiles_are_true_to_a_bucket() -> None:
    model = durations_model(Durations.of([float(number) for number in range(1, 1001)]))
    assert model.p50_seconds == pytest.approx(500, rel=0.1)
    assert model.p95_seconds == pytest.approx(950, rel=0.1)
    assert model.mean_seconds == pytest.approx(500.5)


def test_the_controller_keeps_points_while_it_looks(system: System) -> None:
    """From the first look until nothing runs any more; what was forecast is among it."""
    experiment_id = system.submit("name: t\ndeadline: 1h\njobs:\n- {id: a, command: [sleep, '0.5']}\n")
    system.api.wait(experiment_id, poll_seconds=0.05)
    url = f"{system.embedded.url}/api/v1/experiments/{experiment_id}/history"
    response = requests.get(url, headers={"Authorization": f"Bearer {system.embedded.token}"}, timeout=10)
    points = response.json()["points"]
    first, last = points[0], points[-1]
    assert (first["queued"] + first["running"], first["accomplished"]) == (1, 0)
    assert first["p50_at"] < first["p95_at"]
    assert first["probability"] == 1.0
    assert [point["at"] for point in points] == sorted(point["at"] for point in points)
    assert (last["accomplished"], last["requested"], last["busy"] + last["idle"], last["p50_at"]) == (1, 0, 0, None)


def test_a_new_deadline_has_a_point_and_a_forecast_of_its_own_at_once(client: StoreClient) -> None:
    """Points of an experiment that takes days are far apart, and lists show the last one's forecast."""
    store = RedisExperimentStore(client)
    record = ExperimentRecord(
        id="t", description=Experiment(estimate=100.0), state=ExperimentState.RECEIVING, created_at=1.0
    )
    store.create(record)
    recorder = Recorder(store, "t")
    probabilities = []
    for deadline_at in (None, 1e9, 10.5):
        running = record.model_copy(update={"state": ExperimentState.RUNNING, "deadline_at": deadline_at})
        observation = Observation(now=10.0, record=running, counts=Counts(queued=1))
        recorder.saw(observation, ControllerState(), last=False)
        recorder.saw(observation, ControllerState(), last=False)
        (point,) = store.latest_points(["t"])
        assert point is not None
        probabilities.append(point.probability)
    assert probabilities == [None, 1.0, 0.0]
    assert len(store.history("t")) == 3


def test_a_history_that_cannot_be_kept_is_in_nobodys_way() -> None:
    """It is said once, and tried again after a while."""
    record = ExperimentRecord(id="t", description=Experiment(), state=ExperimentState.RUNNING, created_at=1.0)
    observation = Observation(now=10.0, record=record, counts=Counts(queued=1))
    recorder = Recorder(RedisExperimentStore(connect("redis://127.0.0.1:1/0")), "t")
    with capture_logs() as logged:
        recorder.saw(observation, ControllerState(), last=False)
        recorder.saw(observation, ControllerState(), last=False)
    assert [entry["log_level"] for entry in logged] == ["error"]


def test_the_nodes_are_shown_as_the_engine_sees_them(manager: Manager, client: StoreClient) -> None:
    """Without a Swarm there is one."""
    registry = RedisContainerRegistry(client)
    registry.request("t-aaaaaa", 2)
    status = ContainerStatus(id="c1", node="n1", state=ContainerState.IDLE, started_at=1.0)
    for container in ("c1", "c2"):
        registry.observe("t-aaaaaa", status.model_copy(update={"id": container}))
    (node,) = look(manager, "/nodes")["nodes"]
    assert (node["name"], node["ready"], node["containers"]) == (socket.gethostname(), True, 2)
    assert (node["cpu_cores"], node["reserved_cpu_cores"]) == (os.cpu_count(), 0)
    assert node["memory_bytes"] > 2**20
