"""Experiments belong to who submitted them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
import requests

from jqueuer.access import Role
from jqueuer.client import Client, ClientError
from jqueuer.model import Experiment
from jqueuer.records import ExperimentRecord
from jqueuer.states import ExperimentState
from jqueuer_manager.services import Services
from tests.embedded.api_manager import Manager, served

ONE_JOB = b"name: sweep\njobs: [{id: a, command: ['true']}]\n"
LINES = ['{"name": "lines"}', '{"id": "a", "command": ["true"]}']
COMMANDS: dict[str, Callable[[Client, str], object]] = {
    "pause": lambda client, name: client.pause(name),
    "resume": lambda client, name: client.resume(name),
    "cancel": lambda client, name: client.cancel(name),
    "retry": lambda client, name: client.retry(name),
    "change": lambda client, name: client.change_deadline(name, "2h"),
    "delete": lambda client, name: client.delete(name),
}


@pytest.fixture
def alice(manager: Manager) -> Iterator[Client]:
    with manager.client_of("alice") as client:
        yield client


@pytest.fixture
def bob(manager: Manager) -> Iterator[Client]:
    with manager.client_of("bob") as client:
        yield client


def refusal(call: Callable[[], object]) -> ClientError:
    with pytest.raises(ClientError) as caught:
        call()
    return caught.value


def end(manager: Manager, experiment_id: str) -> None:
    manager.run(experiment_id, "a")
    manager.end(experiment_id, ExperimentState.FAILED)


@pytest.mark.parametrize("action", COMMANDS)
def test_nobody_changes_what_is_somebody_elses(manager: Manager, alice: Client, bob: Client, action: str) -> None:
    experiment_id = alice.submit_bytes(ONE_JOB)["id"]
    if action in {"retry", "delete"}:
        end(manager, experiment_id)
    before = bob.experiment(experiment_id)
    error = refusal(lambda: COMMANDS[action](bob, experiment_id))
    assert (error.status, error.kind) == (403, "forbidden")
    assert error.detail == (
        f"the experiment {experiment_id} belongs to alice: only alice or an administrator may {action} it, "
        "and this token is bob's"
    )
    after = bob.experiment(experiment_id)
    assert (before["state"], before["deadline_at"], before["owner"]) == (
        *(after["state"], after["deadline_at"], "alice"),
    )


def test_owners_and_administrators_change_it_and_the_journal_says_who(manager: Manager, alice: Client) -> None:
    experiment_id = alice.submit_bytes(ONE_JOB)["id"]
    alice.pause(experiment_id)
    manager.api.resume(experiment_id)
    alice.change_deadline(experiment_id, "2h")
    manager.api.cancel(experiment_id)
    said = [(entry["action"], entry["reason"]) for entry in alice.journal(experiment_id)]
    assert said == [
        ("pause", "by the user"),
        ("resume", "by admin"),
        ("amend", "the user changed the deadline to 2h after the start"),
        ("cancel", "by admin"),
    ]
    assert alice.experiment(experiment_id)["reason"] == "cancelled by admin"
    manager.end(experiment_id, ExperimentState.CANCELLED)
    alice.delete(experiment_id)


def test_what_nobody_owns_is_the_administrators(manager: Manager, alice: Client) -> None:
    """Experiments that were here before there were users."""
    store = manager.services.experiments
    store.create(
        ExperimentRecord(
            id="old-aaaaaa", description=Experiment(), state=ExperimentState.RECEIVING, created_at=store.now()
        )
    )
    store.accept("old-aaaaaa")
    assert "belongs to nobody: only an administrator may" in refusal(lambda: alice.cancel("old-aaaaaa")).detail
    assert manager.api.cancel("old-aaaaaa")["state"] == "cancelled"


def test_an_unknown_experiment_is_not_found_whoever_asks(alice: Client) -> None:
    assert [refusal(lambda act=act: act(alice, "none-aaaaaa")).status for act in COMMANDS.values()] == [404] * 6


def test_lists_can_be_of_one_owner(manager: Manager, alice: Client, bob: Client) -> None:
    of_alice = [alice.submit_bytes(ONE_JOB)["id"] for _ in range(2)]
    of_bob = bob.submit_bytes(ONE_JOB)["id"]
    bob.cancel(of_bob)
    assert {one["id"] for one in bob.experiments(owner="alice")} == set(of_alice)
    assert [one["id"] for one in alice.experiments(owner="bob", states=["cancelled"])] == [of_bob]
    assert [*alice.experiments(owner="bob", states=["running"]), *alice.experiments(owner="nobody")] == []
    page = manager.http.get(f"{manager.url}/api/v1/experiments?owner=alice&limit=1", timeout=10).json()
    assert (page["total"], page["next"]) == (2, "/api/v1/experiments?owner=alice&limit=1&offset=1")
    assert manager.http.get(f"{manager.url}/api/v1/experiments?owner=a%20b", timeout=10).status_code == 422


@pytest.mark.parametrize(
    "submit",
    [
        lambda client: client.submit_bytes(ONE_JOB, idempotency_key="k"),
        lambda client: client.submit_stream(LINES, idempotency_key="k"),
    ],
)
def test_keys_are_each_users_own(alice: Client, bob: Client, submit: Callable[[Client], dict[str, str]]) -> None:
    """A key that was guessed neither shows another user's experiment nor keeps one's own from being made."""
    first = submit(alice)["id"]
    assert submit(bob)["id"] != first
    assert submit(alice)["id"] == first
    other_body = refusal(lambda: alice.submit_bytes(ONE_JOB + b"deadline: 1h\n", idempotency_key="k"))
    assert (other_body.status, other_body.detail) == (
        *(409, "the Idempotency-Key 'k' was used before, with another body"),
    )


def test_the_2018_path_cancels_ones_own_and_refuses_what_is_anothers(manager: Manager, alice: Client) -> None:
    def cancel(token: str, name: str) -> requests.Response:
        headers = {"Authorization": f"Bearer {token}"}
        url = f"{manager.url}/experiment/del"
        return requests.post(url, json={"service_name": name}, headers=headers, timeout=10)

    of_bob = manager.api.make_token("bob", "submitter")["token"]
    theirs = alice.submit_bytes(ONE_JOB)["id"]
    assert cancel(of_bob, "sweep").status_code == cancel(of_bob, theirs).status_code == 403
    headers = {"Authorization": f"Bearer {of_bob}"}
    own = requests.post(f"{manager.url}/experiment/add", data=ONE_JOB, headers=headers, timeout=10).text
    assert cancel(of_bob, "sweep").text == own, "one's own, where several have the name"
    assert alice.experiment(theirs)["state"] == "running"


@pytest.mark.parametrize(
    "submit",
    [
        lambda client: client.submit_bytes(ONE_JOB, idempotency_key="k"),
        lambda client: client.submit_stream(LINES, idempotency_key="k"),
        lambda client: client.submit_stream(LINES),
    ],
)
def test_who_has_enough_under_way_has_to_wait(services: Services, submit: Callable[[Client], dict[str, str]]) -> None:
    few = replace(services, settings=services.settings.model_copy(update={"max_experiments_per_user": 2}))
    with served(few) as manager, manager.client_of("alice") as alice, manager.client_of("bob") as bob:
        made = [alice.submit_bytes(ONE_JOB)["id"] for _ in range(2)]
        error = refusal(lambda: submit(alice))
        assert (error.status, error.kind) == (409, "too-many-experiments")
        assert error.detail.startswith("alice has 2 experiments that have not ended, and may have 2: wait until one")
        assert not services.experiments.unfinished_receipts()
        assert submit(bob)["state"] == "running", "another user's do not count"
        alice.cancel(made[0])
        again = submit(alice)["id"]
        assert refusal(lambda: alice.submit_bytes(ONE_JOB)).status == 409
        end(manager, made[1])
        assert alice.experiment(again)["state"] == "running"


def test_repeating_a_submission_is_no_further_experiment(services: Services) -> None:
    few = replace(services, settings=services.settings.model_copy(update={"max_experiments_per_user": 1}))
    with served(few) as manager, manager.client_of("alice") as alice:
        first = alice.submit_stream(LINES, idempotency_key="k")["id"]
        assert alice.submit_stream(LINES, idempotency_key="k")["id"] == first
        alice.cancel(first)
        manager.end(first, ExperimentState.CANCELLED)
        alice.submit_bytes(ONE_JOB)
        assert refusal(lambda: alice.retry(first)).kind == "too-many-experiments"


def test_viewers_read_everything_of_everybody(manager: Manager, alice: Client) -> None:
    experiment_id = alice.submit_bytes(ONE_JOB)["id"]
    with manager.client_of("wallboard", Role.VIEWER) as viewer:
        assert viewer.experiment(experiment_id)["owner"] == "alice"
        assert [job["id"] for job in viewer.jobs(experiment_id)] == ["a"]
