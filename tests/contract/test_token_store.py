"""What every store of tokens owes the manager; run against each adapter of the port."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from jqueuer.access import Role, TokenRecord, User, digest_of, id_of, new_token
from jqueuer.adapters.redis_store import RedisExperimentStore, RedisTokenStore, connect
from jqueuer.adapters.redis_store.connection import StoreClient
from jqueuer.errors import NotFoundError, StoreUnavailableError
from jqueuer.ports import TokenStore

Wait = Callable[[Callable[[], object], float], None]
ALICE = User(name="alice", role=Role.SUBMITTER)


@pytest.fixture
def store(client: StoreClient) -> TokenStore:
    return RedisTokenStore(client)


def record(user: User = ALICE, *, created_at: float = 1000.0, expires_at: float | None = None) -> TokenRecord:
    digest = digest_of(new_token())
    return TokenRecord(
        id=id_of(digest), digest=digest, user=user, created_at=created_at, expires_at=expires_at, note="the lab's"
    )


def test_a_token_is_found_by_its_digest_as_it_was_added(store: TokenStore) -> None:
    added = record()
    store.add(added)
    assert store.find(added.digest) == added
    assert store.find(digest_of("another")) is None
    assert store.find("") is None


def test_tokens_are_listed_oldest_first_and_a_user_may_have_several(store: TokenStore) -> None:
    later, earlier = record(created_at=2000.0), record(User(name="alice", role=Role.VIEWER), created_at=1000.0)
    store.add(later)
    store.add(earlier)
    assert store.all() == [earlier, later]


def test_a_removed_token_is_worth_nothing_at_once_and_others_stay(store: TokenStore) -> None:
    removed, other = record(), record()
    store.add(removed)
    store.add(other)
    assert store.remove(removed.id) == removed
    assert (store.find(removed.digest), store.all()) == (None, [other])
    with pytest.raises(NotFoundError, match=removed.id):
        store.remove(removed.id)


def test_an_expired_token_is_neither_found_nor_listed_nor_kept(
    store: TokenStore, client: StoreClient, eventually: Wait
) -> None:
    """By the store's clock, to which all machines agree."""
    now = RedisExperimentStore(client).now()
    expired, brief, lasting = record(expires_at=now), record(expires_at=now + 0.3), record(expires_at=now + 3600)
    for one in (expired, brief, lasting):
        store.add(one)
    assert store.find(expired.digest) is None
    eventually(lambda: store.find(brief.digest) is None, 10)
    assert store.find(lasting.digest) == lasting
    with pytest.raises(NotFoundError):
        store.remove(expired.id)
    assert store.all() == [lasting]
    assert not any(expired.digest in str(client.hgetall(key)) for key in client.keys("jq:*token*"))


def test_a_store_that_is_away_says_so() -> None:
    away = RedisTokenStore(connect("redis://127.0.0.1:1/0"))
    with pytest.raises(StoreUnavailableError):
        away.find("0" * 64)
