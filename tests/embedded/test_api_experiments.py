"""Looking at experiments, and the commands that change them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import requests

from jqueuer.client import Client, ClientError
from jqueuer.records import ContainerStatus, HistoryPoint, JournalEntry
from jqueuer.states import AttemptOutcome, ContainerState, ExperimentState, JobState
from tests.embedded.api_manager import Manager

State = ExperimentState
COMMANDS: dict[str, Callable[[Client, str], object]] = {
    "pause": Client.pause,
    "resume": Client.resume,
    "cancel": Client.cancel,
    "retry": Client.retry,
    "delete": Client.delete,
    "deadline": lambda api, one: api.change_deadline(one, "2h"),
}
ALLOWED = {
    "pause": {State.RUNNING, State.PAUSED},
    "resume": {State.PAUSED, State.RUNNING},
    "cancel": {State.RUNNING, State.PAUSED, State.FINISHING, State.CANCELLED},
    "retry": {State.FAILED, State.CANCELLED},
    "delete": {State.ACCOMPLISHED, State.FAILED, State.CANCELLED},
    "deadline": {State.RUNNING, State.PAUSED, State.FINISHING},
}


def conflict(call: Callable[[], object]) -> str:
    with pytest.raises(ClientError) as caught:
        call()
    assert caught.value.status == 409
    return caught.value.detail


@pytest.mark.parametrize("state", [state for state in State if state is not State.RECEIVING])
@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_is_allowed_in_its_states_and_a_conflict_in_others(
    manager: Manager, command: str, state: State
) -> None:
    experiment_id = manager.submit_jobs(2)
    manager.run(experiment_id, "j0", outcome=AttemptOutcome.FAILED)
    if state.terminal:
        manager.end(experiment_id, state)
    else:
        manager.services.experiments.move(experiment_id, (State.RUNNING,), state)
    if state in ALLOWED[command]:
        COMMANDS[command](manager.api, experiment_id)
    else:
        detail = conflict(lambda: COMMANDS[command](manager.api, experiment_id))
        assert state.value in detail
        assert manager.api.experiment(experiment_id)["state"] == state.value


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_to_an_experiment_that_is_not_there_are_not_found(manager: Manager, command: str) -> None:
    with pytest.raises(ClientError) as caught:
        COMMANDS[command](manager.api, "nobody-aaaaaa")
    assert caught.value.status == 404


def test_a_paused_experiment_starts_no_job_until_it_is_resumed(manager: Manager) -> None:
    experiment_id = manager.submit_jobs(1)
    assert manager.api.pause(experiment_id)["state"] == "paused"
    assert manager.services.ledger.claim(experiment_id, "j0", container="c", node="n") is None
    assert manager.api.resume(experiment_id)["state"] == "running"
    manager.run(experiment_id, "j0")


def test_cancelling_cancels_queued_jobs_and_says_who_did_it(manager: Manager) -> None:
    experiment_id = manager.submit_jobs(3)
    manager.run(experiment_id, "j0")
    manager.api.cancel(experiment_id)
    experiment = manager.api.experiment(experiment_id)
    assert (experiment["state"], experiment["reason"]) == ("cancelled", "cancelled by the user")
    assert (experiment["jobs"]["accomplished"], experiment["jobs"]["cancelled"]) == (1, 2)
    assert not experiment["settled"], "its controller has still to end the containers"
    assert "ending" in conflict(lambda: manager.api.delete(experiment_id))
    assert "ending" in conflict(lambda: manager.api.retry(experiment_id))


def test_retried_jobs_are_due_and_run_again(manager: Manager) -> None:
    experiment_id = manager.submit_jobs(3)
    manager.run(experiment_id, "j0")
    manager.run(experiment_id, "j1", outcome=AttemptOutcome.FAILED)
    manager.run(experiment_id, "j2", outcome=AttemptOutcome.TIMED_OUT)
    manager.end(experiment_id, State.FAILED)
    assert manager.api.retry(experiment_id) == {"id": experiment_id, "state": "running", "jobs": 2}
    record = manager.services.experiments.get(experiment_id)
    assert (record.state, record.finished_at, record.published) == (State.RUNNING, None, 3)
    assert sorted(manager.services.ledger.due(experiment_id)) == ["j1", "j2"]
    manager.run(experiment_id, "j1")
    assert [attempt["outcome"] for attempt in manager.api.job(experiment_id, "j1")["attempts"]] == [
        "failed",
        "accomplished",
    ]


def test_there_must_be_something_to_retry(manager: Manager) -> None:
    experiment_id = manager.submit_jobs(1)
    manager.run(experiment_id, "j0")
    manager.end(experiment_id, State.FAILED)
    assert "no failed" in conflict(lambda: manager.api.retry(experiment_id))
    assert manager.api.experiment(experiment_id)["state"] == "failed"


def test_deleting_removes_record_jobs_logs_and_queue(manager: Manager) -> None:
    experiment_id = manager.submit_jobs(1)
    artifacts = manager.services.artifacts
    artifacts.write_log(experiment_id, "j0", 1, "stdout", 0, b"hello")
    manager.services.queue.publish(experiment_id, ["j0"])
    manager.end(experiment_id, State.ACCOMPLISHED)
    manager.api.delete(experiment_id)
    assert artifacts.read_log(experiment_id, "j0", 1, "stdout", 0, 10) == (b"", 0)
    assert manager.services.queue.length(experiment_id) == 0
    assert manager.nothing_remains()


def test_experiments_are_listed_newest_first_by_state_and_page_by_page(manager: Manager) -> None:
    ids = [manager.submit_jobs(1) for _ in range(5)]
    for one in ids[:2]:
        manager.end(one, State.FAILED)
    manager.api.pause(ids[2])
    assert [one["id"] for one in manager.api.experiments()] == ids[::-1]
    assert [one["id"] for one in manager.api.experiments(states=["failed", "paused"])] == ids[2::-1]
    page = manager.http.get(f"{manager.url}/api/v1/experiments?state=running&limit=1", timeout=10).json()
    assert (page["total"], len(page["experiments"])) == (2, 1)
    following = manager.http.get(manager.url + page["next"], timeout=10).json()
    assert [one["id"] for one in following["experiments"]] == [ids[3]]
    assert following["next"] is None


def test_an_experiment_shows_wanted_requested_and_observed_containers(manager: Manager, client: object) -> None:
    from jqueuer.adapters.redis_store import RedisContainerRegistry

    experiment_id = manager.submit_jobs(4, "name: t\ncontainers: {min: 1, max: 8}")
    registry = RedisContainerRegistry(client)
    registry.request(experiment_id, 4)
    states = [ContainerState.STARTING, ContainerState.IDLE, ContainerState.BUSY, ContainerState.DRAINING]
    for number, state in enumerate(states):
        status = ContainerStatus(id=f"c{number}", node="n1", state=state, started_at=1.0)
        registry.observe(experiment_id, status)
    limited = {"wanted": 5, "limit": "4 of 5 wanted fit"}
    up = JournalEntry(at=1.0, action="scale-up", containers=4, inputs=limited)
    for entry in (up, JournalEntry(at=2.0, action="drain")):
        manager.services.experiments.journal(experiment_id, entry)
    busy = sum(one.state is ContainerState.BUSY for one in registry.observed(experiment_id))
    idle = sum(one.state is ContainerState.IDLE for one in registry.observed(experiment_id))
    assert manager.api.experiment(experiment_id)["containers"] == {
        "minimum": 1,
        "maximum": 8,
        "wanted": 5,
        "requested": 4,
        "starting": 1,
        "running": busy + idle,
        "busy": busy,
        "draining": 1,
        "waiting": "4 of 5 wanted fit",
        "problem": "",
        "note": "",
    }


def test_the_phase_follows_the_first_accomplished_job(manager: Manager) -> None:
    experiment_id = manager.submit_jobs(3)
    assert manager.api.experiment(experiment_id)["phase"] == "initial"
    manager.run(experiment_id, "j0")
    assert manager.api.experiment(experiment_id)["phase"] == "monitored"


def test_the_forecast_is_a_distribution_for_the_containers_requested(manager: Manager) -> None:
    """From the estimate at first, then from what the jobs took."""
    experiment_id = manager.submit_jobs(30, "name: t\nestimate: 10m\ndeadline: 1h\ncontainers: {max: 8}")
    experiment = manager.api.experiment(experiment_id)
    estimated = experiment["forecast"]
    assert experiment["created_at"] < estimated["finish_at"] < estimated["p80_at"] < estimated["p95_at"]
    assert estimated["probability"] < 0.2
    assert estimated["containers"] == 1
    basis = "30 jobs left on 1 container, by the estimate of 600 s a task: no job has been measured"
    assert estimated["basis"] == basis
    for number in range(10):
        manager.run(experiment_id, f"j{number}")
    manager.services.orchestrator.scale(experiment_id, 4)
    measured = manager.api.experiment(experiment_id)["forecast"]
    assert measured["finish_at"] < experiment["created_at"] + 600 < estimated["finish_at"]
    assert measured["containers"] == 4
    assert measured["probability"] > 0.9
    assert measured["basis"] == "20 jobs left on 4 containers, by 10 measured jobs"


def test_the_list_has_the_forecasts_that_were_kept_last(manager: Manager) -> None:
    """Of what runs; nothing is worked out for it."""
    with_deadline, without, unseen, paused, ended = (manager.submit_jobs(1) for _ in range(5))
    store = manager.services.experiments
    forecast = HistoryPoint(at=1.0, p50_at=100.0, p80_at=150.0, p95_at=200.0, probability=0.9)
    for experiment_id in (with_deadline, paused, ended):
        store.record_point(experiment_id, forecast)
    store.record_point(without, forecast.model_copy(update={"probability": None}))
    manager.api.pause(paused)
    manager.end(ended, ExperimentState.FAILED)
    times = {"finish_at": 100.0, "p80_at": 150.0, "p95_at": 200.0}
    found = {one["id"]: one["forecast"] for one in manager.api.experiments()}
    assert found == {
        with_deadline: {**times, "probability": 0.9},
        without: {**times, "probability": None},
        unseen: None,
        paused: None,
        ended: None,
    }
    store.record_point(without, HistoryPoint(at=2.0), at_once=True)
    assert {one["id"]: one["forecast"] for one in manager.api.experiments()}[without] is None


def test_the_probability_is_that_of_the_deadline_as_it_is_now(manager: Manager) -> None:
    experiment_id = manager.submit_jobs(30, "name: t\nestimate: 10m")
    assert manager.api.experiment(experiment_id)["forecast"]["probability"] is None
    assert manager.api.change_deadline(experiment_id, "1h")["forecast"]["probability"] < 0.2
    assert manager.api.change_deadline(experiment_id, "300d")["forecast"]["probability"] == 1.0


def test_earlier_experiments_of_the_same_name_are_part_of_the_forecast(manager: Manager) -> None:
    earlier = manager.submit_jobs(5, "name: sweep")
    for number in range(5):
        manager.run(earlier, f"j{number}")
    manager.end(earlier, State.ACCOMPLISHED)
    forecast = manager.api.experiment(manager.submit_jobs(5, "name: sweep"))["forecast"]
    assert forecast["basis"] == "5 jobs left on 1 container, by 5 jobs of earlier experiments of its kind"


@pytest.mark.parametrize("state", [State.PAUSED, State.FINISHING, State.CANCELLED, State.ACCOMPLISHED])
def test_nothing_is_forecast_while_no_jobs_are_run(manager: Manager, state: State) -> None:
    """Nobody knows how long a pause will be, or the post command will take."""
    experiment_id = manager.submit_jobs(3)
    assert manager.services.experiments.move(experiment_id, tuple(State), state)
    assert manager.api.experiment(experiment_id)["forecast"] is None


def test_nothing_is_forecast_once_the_last_job_has_its_outcome(manager: Manager) -> None:
    experiment_id = manager.submit_jobs(1)
    manager.run(experiment_id, "j0")
    assert manager.api.experiment(experiment_id)["forecast"] is None


def test_the_summary_says_what_was_done_against_what_was_asked(manager: Manager) -> None:
    experiment_id = manager.submit_jobs(2, "name: t\ndeadline: 1h")
    manager.run(experiment_id, "j0")
    manager.run(experiment_id, "j1")
    manager.end(experiment_id, State.ACCOMPLISHED)
    summary = manager.api.summary(experiment_id)
    finished = summary.pop("finished_seconds")
    assert 0 <= finished < 60
    assert summary == {
        "experiment_id": experiment_id,
        "state": "accomplished",
        "jobs": {"total": 2, "accomplished": 2, "failed": 0, "cancelled": 0},
        "attempts": 2,
        "killed": 0,
        "deadline_seconds": 3600.0,
        "deadline_met": True,
        "container_seconds": 0.0,
        "job_seconds": pytest.approx(4.0, abs=0.01),
        "peak_containers": 0,
        "scale_ups": 0,
        "scale_downs": 0,
    }


def test_deadline_and_limits_change_and_the_journal_remembers_who_did_it(manager: Manager) -> None:
    experiment_id = manager.submit_jobs(1, "name: t\ncontainers: {min: 1, max: 4}")
    created_at = manager.api.experiment(experiment_id)["created_at"]
    assert manager.api.change_deadline(experiment_id, "90m")["deadline_at"] == pytest.approx(created_at + 5400)
    moment = manager.api.change_deadline(experiment_id, "2100-01-01T00:00:00+00:00")
    assert moment["deadline_at"] == 4102444800.0
    assert manager.api.change_limits(experiment_id, maximum=9)["containers"]["maximum"] == 9
    assert manager.api.change_limits(experiment_id, minimum=0)["containers"]["minimum"] == 0
    reasons = [entry["reason"] for entry in manager.api.journal(experiment_id)]
    assert reasons[0] == "the user changed the deadline to 1h30m after the start"
    assert reasons[-1] == "the user changed the containers to 0..9"


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"containers": {"min": 5}}, "containers"),
        ({"containers": {"max": 0}}, "containers.max"),
        ({"containers": {"max": "many"}}, "containers.max"),
        ({"containers": {"max": 10**9}}, "containers.max"),
        ({"containers": {"most": 3}}, "containers.most"),
        ({"deadline": "soon"}, "deadline"),
        ({"deadline": -5}, "deadline"),
        ({"deadline": True}, "deadline"),
        ({"deadline": "2100-01-01T00:00:00"}, "deadline"),
        ({"deadline": "2001-01-01T00:00:00Z"}, "deadline"),
        ({"deadline": 0}, "deadline"),
        ({"priority": 1}, "priority"),
        ({}, ""),
        ([], ""),
    ],
)
def test_a_change_that_makes_no_sense_names_its_fault(manager: Manager, change: object, path: str) -> None:
    experiment_id = manager.submit_jobs(1, "name: t\ncontainers: {min: 1, max: 4}")
    before = manager.services.experiments.get(experiment_id)
    response = manager.http.patch(f"{manager.url}/api/v1/experiments/{experiment_id}", json=change, timeout=10)
    assert response.status_code == 422
    assert [fault["path"] for fault in response.json()["faults"]] == [path]
    assert manager.services.experiments.get(experiment_id) == before


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b"[" * 100_000])
def test_a_change_that_is_no_json_is_refused(manager: Manager, body: bytes) -> None:
    experiment_id = manager.submit_jobs(1)
    url = f"{manager.url}/api/v1/experiments/{experiment_id}"
    response = manager.http.patch(url, data=body, headers={"Content-Type": "application/json"}, timeout=10)
    assert response.status_code == 422
    assert manager.http.patch(url, data=b"{}", timeout=10).status_code == 415


def test_the_2018_paths_submit_and_cancel(manager: Manager) -> None:
    """The body as its clients wrote it: a Python literal, single quotes, trailing commas."""
    body = (
        "{'image_url': 'me/worker', 'experiment_deadline': '1#h', 'single_task_duration': '5#s', 'replica_min': '1',"
        " 'replica_max': '2', 'params': [], 'command': ['echo'],"
        " 'jobs': [{'id': 'a', 'params': [], 'tasks': [{'id': 't', 'data': ['1'],}]}],}"
    )
    added = manager.http.post(f"{manager.url}/experiment/add", data=body, timeout=10)
    assert (added.status_code, added.headers["Content-Type"]) == (200, "text/plain; charset=utf-8")
    assert manager.services.ledger.counts(added.text).total == 1
    ended = manager.http.post(f"{manager.url}/experiment/del", json={"service_name": added.text}, timeout=10)
    assert (ended.status_code, ended.text) == (200, added.text)
    assert manager.api.experiment(added.text)["state"] == "cancelled"


def test_the_2018_deletion_knows_names_and_says_when_they_are_ambiguous(manager: Manager) -> None:
    def delete(body: object) -> requests.Response:
        return manager.http.post(f"{manager.url}/experiment/del", json=body, timeout=10)

    first = manager.submit_jobs(1, "name: sweep")
    assert delete({"container": "sweep"}).text == first
    manager.end(first, State.CANCELLED)
    assert delete({"container": "sweep"}).status_code == 404
    manager.submit_jobs(1, "name: twin")
    manager.submit_jobs(1, "name: twin")
    assert delete({"service_name": "twin"}).status_code == 409
    for nonsense in ({}, [], {"service_name": 3}, "x"):
        assert delete(nonsense).status_code == 422


def test_jobs_are_listed_in_order_by_state_and_by_a_part_of_the_id(manager: Manager) -> None:
    experiment_id = manager.submit_jobs(12)
    manager.run(experiment_id, "j3", outcome=AttemptOutcome.FAILED)
    assert [job["id"] for job in manager.api.jobs(experiment_id)] == [f"j{number}" for number in range(12)]
    (failed,) = manager.api.jobs(experiment_id, state=JobState.FAILED.value)
    assert (failed["id"], failed["attempts"], failed["exit_code"], failed["reason"]) == ("j3", 1, 1, "it broke")
    assert [job["id"] for job in manager.api.jobs(experiment_id, search="j1")] == ["j1", "j10", "j11"]
    url = f"{manager.url}/api/v1/experiments/{experiment_id}/jobs?state=queued&search=j1&limit=2"
    page = manager.http.get(url, timeout=10).json()
    assert (page["total"], [job["id"] for job in page["jobs"]]) == (3, ["j1", "j10"])
    following = manager.http.get(manager.url + page["next"], timeout=10).json()
    assert [job["id"] for job in following["jobs"]] == ["j11"]
