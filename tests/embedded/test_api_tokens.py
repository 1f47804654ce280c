"""Making, listing and withdrawing tokens."""

from __future__ import annotations

import json
from typing import Any

import pytest
from structlog.testing import capture_logs

from jqueuer.access import Role, digest_of
from jqueuer.adapters.redis_store.connection import StoreClient
from jqueuer.client import Client, ClientError
from tests.embedded.api_manager import Manager


def test_a_token_is_shown_once_and_only_its_digest_is_kept(manager: Manager, client: StoreClient) -> None:
    with capture_logs() as logged:
        made = manager.api.make_token("alice", "submitter", note="her laptop")
    (listed,) = manager.api.tokens()
    assert listed == {name: value for name, value in made.items() if name != "token"}
    assert (listed["name"], listed["role"], listed["expires_at"], listed["note"]) == (
        *("alice", "submitter", None, "her laptop"),
    )
    (kept,) = client.hgetall("jq:tokens").items()
    assert made["token"] not in str(kept)
    assert json.loads(kept[1])["digest"] == digest_of(made["token"])
    assert [(entry["event"], entry["user"], entry["by"]) for entry in logged] == [("token made", "alice", "admin")]
    assert made["token"] not in str(logged)


def test_who_shows_it_is_its_user_until_it_is_withdrawn(manager: Manager) -> None:
    made = manager.api.make_token("alice", "viewer", expires="90d")
    with Client(manager.url, token=made["token"]) as alice:
        me = alice.me()
        assert (me["name"], me["role"], me["token"]["id"]) == ("alice", "viewer", made["id"])
        assert me["token"]["expires_at"] == pytest.approx(me["token"]["created_at"] + 90 * 86_400)
        manager.api.remove_token(made["id"])
        with pytest.raises(ClientError, match="does not know the token that was given") as refused:
            alice.me()
    assert refused.value.status == 401
    assert manager.api.tokens() == []
    with pytest.raises(ClientError, match=made["id"]) as missing:
        manager.api.remove_token(made["id"])
    assert (missing.value.status, missing.value.kind) == (404, "not-found")


def test_a_user_may_have_tokens_with_different_roles(manager: Manager) -> None:
    with manager.client_of("alice", Role.SUBMITTER) as at_work, manager.client_of("alice", Role.VIEWER) as at_home:
        experiment_id = at_work.submit_bytes(b"jobs: [{id: a, command: ['true']}]")["id"]
        assert at_home.experiment(experiment_id)["owner"] == "alice"
        with pytest.raises(ClientError, match="takes the role submitter"):
            at_home.cancel(experiment_id)
        at_work.cancel(experiment_id)


def test_an_expired_token_lets_nobody_in(manager: Manager) -> None:
    made = manager.api.make_token("alice", "viewer", expires=0.001)
    with Client(manager.url, token=made["token"]) as alice, pytest.raises(ClientError) as refused:
        alice.me()
    assert refused.value.status == 401


@pytest.mark.parametrize(
    ("wish", "path"),
    [
        ({"name": "a b"}, "name"),
        ({"name": ""}, "name"),
        ({"name": "a" * 65}, "name"),
        ({"name": "alice\n"}, "name"),
        ({"role": "root"}, "role"),
        ({"role": None}, "role"),
        ({"expires": "soon"}, "expires"),
        ({"expires": 0}, "expires"),
        ({"expires": -5}, "expires"),
        ({"note": "two\nlines"}, "note"),
        ({"note": "x" * 201}, "note"),
        ({"token": "mine"}, "token"),
    ],
)
def test_a_wrong_wish_is_refused_with_its_place(manager: Manager, wish: dict[str, Any], path: str) -> None:
    body = {"name": "alice", "role": "viewer", **wish}
    response = manager.http.post(f"{manager.url}/api/v1/tokens", json=body, timeout=10)
    assert response.status_code == 422
    assert [fault["path"].split(".")[0] for fault in response.json()["faults"]][:1] == [path]
    assert manager.api.tokens() == []


@pytest.mark.parametrize("token_id", ["x", "0" * 64, "ABCDEF012345", "..%2fme"])
def test_an_id_that_can_be_none_is_refused(manager: Manager, token_id: str) -> None:
    assert manager.http.delete(f"{manager.url}/api/v1/tokens/{token_id}", timeout=10).status_code in {404, 422}
