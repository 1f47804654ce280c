"""What every store of sessions owes the manager; run against each adapter of the port."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from jqueuer.access import Role, TokenRecord, User, digest_of, id_of, new_session_id, new_token
from jqueuer.adapters.redis_store import RedisExperimentStore, RedisSessionStore, RedisTokenStore, connect
from jqueuer.adapters.redis_store.connection import StoreClient
from jqueuer.adapters.redis_store.sessions import MOST_OF_A_TOKEN
from jqueuer.errors import StoreUnavailableError
from jqueuer.ports import SessionStore

Wait = Callable[..., None]
SETTING = digest_of("the administrator's")
"""A token that is none of the store's."""


@pytest.fixture
def store(client: StoreClient) -> SessionStore:
    return RedisSessionStore(client)


def token(client: StoreClient, *, expires_at: float | None = None) -> TokenRecord:
    digest = digest_of(new_token())
    user = User(name="alice", role=Role.SUBMITTER)
    record = TokenRecord(id=id_of(digest), digest=digest, user=user, created_at=1000.0, expires_at=expires_at)
    RedisTokenStore(client).add(record)
    return record


def opened(store: SessionStore, token_digest: str = SETTING, seconds: float = 60.0) -> str:
    digest = digest_of(new_session_id())
    store.open(digest, token_digest, seconds=seconds)
    return digest


def test_a_session_is_found_with_its_token(store: SessionStore, client: StoreClient) -> None:
    alices = token(client)
    digest = opened(store, alices.digest)
    found = store.find(digest)
    assert found is not None
    assert (found.digest, found.token_digest, found.token) == (digest, alices.digest, alices)
    assert 50 < found.seconds_left <= 60
    assert store.find(digest_of("another")) is None
    assert store.find("") is None


def test_a_session_of_a_token_that_is_none_of_the_stores_says_whose_it_is(store: SessionStore) -> None:
    found = store.find(opened(store))
    assert found is not None
    assert (found.token_digest, found.token) == (SETTING, None)


def test_a_token_that_is_removed_or_expires_is_none_any_more(
    store: SessionStore, client: StoreClient, eventually: Wait
) -> None:
    def has_token(digest: str) -> bool:
        found = store.find(digest)
        return found is not None and found.token is not None

    removed, brief = token(client), token(client, expires_at=RedisExperimentStore(client).now() + 0.3)
    of_removed, of_brief = opened(store, removed.digest), opened(store, brief.digest)
    RedisTokenStore(client).remove(removed.id)
    assert not has_token(of_removed)
    eventually(lambda: not has_token(of_brief), 10)


def test_a_session_ends_by_itself_and_nothing_of_it_is_kept(
    store: SessionStore, client: StoreClient, eventually: Wait
) -> None:
    digest = opened(store, seconds=0.2)
    eventually(lambda: store.find(digest) is None, 10)
    eventually(lambda: not client.keys("jq:session*"), 10)


def test_a_session_that_was_ended_is_gone_and_others_stay(store: SessionStore, client: StoreClient) -> None:
    ended, other = opened(store), opened(store)
    store.end(ended)
    store.end(ended)
    assert store.find(ended) is None
    assert store.find(other) is not None
    assert not any(ended in client.zrange(key, 0, -1) for key in client.keys("jq:session:of:*"))


def test_a_session_can_be_renewed_while_it_lasts_and_only_then(store: SessionStore) -> None:
    going_on, ended = (store.find(opened(store, seconds=30)) for _ in range(2))
    assert going_on is not None
    assert ended is not None
    store.renew(going_on, seconds=600)
    found = store.find(going_on.digest)
    assert found is not None
    assert found.seconds_left > 500
    store.end(ended.digest)
    store.renew(ended, seconds=600)
    assert store.find(ended.digest) is None


def test_a_token_has_a_bounded_number_and_those_used_longest_ago_go(store: SessionStore, client: StoreClient) -> None:
    others = opened(store, digest_of("another token"))
    sessions = [opened(store, seconds=100 + number) for number in range(MOST_OF_A_TOKEN)]
    first = store.find(sessions[0])
    assert first is not None
    store.renew(first, seconds=1000)
    late = [opened(store, seconds=500) for _ in range(2)]
    gone = [digest for digest in sessions if store.find(digest) is None]
    assert gone == sessions[1:3]
    assert all(store.find(digest) for digest in late)
    assert store.find(others) is not None
    assert len(client.keys("jq:session:*")) == MOST_OF_A_TOKEN + 1 + 2


def test_a_store_that_is_away_says_so() -> None:
    away = RedisSessionStore(connect("redis://127.0.0.1:1/0"))
    with pytest.raises(StoreUnavailableError):
        away.find("0" * 64)
