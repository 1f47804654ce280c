"""A browser logs in with a token, and is known by a session from then on; only the manager's own pages can use that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from http.cookies import Morsel, SimpleCookie

import pytest
from flask import Flask
from pydantic import SecretStr
from structlog.testing import capture_logs
from werkzeug.test import Client as AppClient
from werkzeug.test import TestResponse

from jqueuer.access import digest_of
from jqueuer.adapters.redis_store.connection import StoreClient
from jqueuer_manager.api import create_app
from jqueuer_manager.api.gate import COOKIE
from jqueuer_manager.services import Services
from tests.embedded.api_manager import ADMIN, AS_ADMIN

Wait = Callable[..., None]
AGENTS = "jq_the-agents-own"
HERE = "http://localhost"
SESSION = "/api/v1/session"
LIST = "/api/v1/experiments"
CANCEL = "/api/v1/experiments/nobody-aaaaaa/cancel"


@pytest.fixture
def app(services: Services) -> Flask:
    return create_app(with_settings(services, agent_token=SecretStr(AGENTS), max_refused_logins=3))


@pytest.fixture
def browser(app: Flask) -> AppClient:
    return app.test_client()


def with_settings(services: Services, **changes: object) -> Services:
    return replace(services, settings=services.settings.model_copy(update=changes))


def log_in(browser: AppClient, token: str = ADMIN, base_url: str = HERE) -> TestResponse:
    return browser.post(SESSION, json={"token": token}, headers={"Origin": base_url}, base_url=base_url)


def cookie(response: TestResponse) -> Morsel[str]:
    return SimpleCookie(response.headers["Set-Cookie"])[COOKIE]


def test_who_shows_a_token_once_is_known_from_then_on(browser: AppClient) -> None:
    assert browser.get("/api/v1/me").status_code == 401
    assert log_in(browser).status_code == 204
    assert browser.get("/api/v1/me").get_json() == {"name": "admin", "role": "admin", "token": None}


@pytest.mark.parametrize(("base_url", "secure"), [("http://localhost", ""), ("https://jqueuer.example", True)])
def test_no_script_and_no_other_site_gets_at_the_cookie(browser: AppClient, base_url: str, secure: object) -> None:
    found = cookie(log_in(browser, base_url=base_url))
    assert (found["httponly"], found["samesite"], found["path"], found["domain"]) == (True, "Strict", "/", "")
    assert (found["secure"], found["expires"]) == (secure, ""), "it goes with the browser"


def test_neither_the_cookie_nor_the_store_tells_the_token(browser: AppClient, client: StoreClient) -> None:
    """Nor can anybody who reads the store make a cookie of what is there."""
    session = cookie(log_in(browser)).value
    assert ADMIN not in session
    assert len(session) == 43
    there = " ".join([*client.keys("*"), *(client.get(key) or "" for key in client.keys("jq:session:[0-9a-f]*"))])
    assert digest_of(session) in there
    assert session not in there
    assert ADMIN not in there
    for shown in (ADMIN, digest_of(session)):
        browser.set_cookie(COOKIE, shown)
        assert browser.get("/api/v1/me").status_code == 401


def test_a_session_is_no_token(browser: AppClient) -> None:
    session = cookie(log_in(browser)).value
    assert browser.get("/api/v1/me", headers={"Authorization": f"Bearer {session}"}).status_code == 401


def test_who_logs_in_with_a_token_may_do_what_the_token_may(browser: AppClient) -> None:
    asked = {"name": "alice", "role": "viewer"}
    log_in(browser, made_token(browser, **asked)["token"])
    assert browser.get("/api/v1/me").get_json()["name"] == "alice"
    assert browser.post("/api/v1/tokens", json=asked, headers={"Origin": HERE}).status_code == 403


def test_who_logs_out_is_forgotten_wherever_the_cookie_went(browser: AppClient, app: Flask) -> None:
    stolen = cookie(log_in(browser)).value
    assert browser.delete(SESSION, headers={"Origin": HERE}).status_code == 204
    assert browser.get_cookie(COOKIE) is None
    assert browser.get("/api/v1/me").status_code == 401
    thief = app.test_client()
    thief.set_cookie(COOKIE, stolen)
    assert thief.get("/api/v1/me").status_code == 401
    assert browser.delete(SESSION, headers={"Origin": HERE}).status_code == 204, "twice is no error"


def test_who_logs_in_again_leaves_the_session_before(browser: AppClient, client: StoreClient) -> None:
    first = cookie(log_in(browser)).value
    second = cookie(log_in(browser)).value
    assert first != second
    assert client.exists(f"jq:session:{digest_of(first)}", f"jq:session:{digest_of(second)}") == 1
    assert browser.get("/api/v1/me").status_code == 200


def test_a_token_that_is_removed_takes_its_sessions_with_it(browser: AppClient) -> None:
    made = made_token(browser, name="alice", role="viewer")
    log_in(browser, made["token"])
    browser.delete(f"/api/v1/tokens/{made['id']}", headers=AS_ADMIN)
    assert browser.get("/api/v1/me").status_code == 401


def test_a_token_that_expires_takes_its_sessions_with_it(browser: AppClient, eventually: Wait) -> None:
    made = made_token(browser, name="alice", role="viewer", expires="1s")
    log_in(browser, made["token"])
    eventually(lambda: browser.get("/api/v1/me").status_code == 401, 10)


def test_an_administrators_token_that_is_changed_takes_its_sessions_with_it(
    browser: AppClient, services: Services
) -> None:
    session = cookie(log_in(browser)).value
    elsewhere = create_app(with_settings(services, admin_token=SecretStr("jq_another-one"))).test_client()
    elsewhere.set_cookie(COOKIE, session)
    assert browser.get("/api/v1/me").status_code == 200
    assert elsewhere.get("/api/v1/me").status_code == 401


def test_a_session_that_nobody_uses_ends(services: Services, client: StoreClient, eventually: Wait) -> None:
    browser = create_app(with_settings(services, session_seconds=0.5)).test_client()
    session = cookie(log_in(browser)).value
    eventually(lambda: not client.exists(f"jq:session:{digest_of(session)}"), 10)
    answer = browser.get("/api/v1/me")
    assert (answer.status_code, answer.get_json()["detail"]) == (401, "this session has ended: log in again")


def test_a_session_that_is_used_goes_on_and_is_renewed_now_and_then(services: Services, client: StoreClient) -> None:
    """Not by every request: it writes to the store."""
    browser = create_app(with_settings(services, session_seconds=1000)).test_client()
    key = f"jq:session:{digest_of(cookie(log_in(browser)).value)}"
    client.pexpire(key, 950_000)
    assert browser.get("/api/v1/me").status_code == 200
    assert client.pttl(key) <= 950_000
    client.pexpire(key, 850_000)
    assert browser.get("/api/v1/me").status_code == 200
    assert client.pttl(key) > 950_000
    client.pexpire(key, 90_000_000)
    browser.get("/api/v1/me")
    assert client.pttl(key) <= 1_000_000, "a shorter time is soon kept to"


def made_token(browser: AppClient, **asked: str) -> dict[str, str]:
    made = browser.post("/api/v1/tokens", headers=AS_ADMIN, json=asked).get_json()
    assert isinstance(made, dict)
    return made


def test_what_the_request_shows_itself_comes_before_the_cookie(browser: AppClient) -> None:
    log_in(browser)
    assert browser.get("/api/v1/me", headers={"Authorization": "Bearer jq_wrong"}).status_code == 401


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Sec-Fetch-Site": "same-origin"}, 200),
        ({"Sec-Fetch-Site": "none"}, 200),
        ({"Sec-Fetch-Site": "same-site"}, 401),
        ({"Sec-Fetch-Site": "cross-site"}, 401),
        ({"Sec-Fetch-Site": "anything"}, 401),
    ],
)
def test_pages_of_other_sites_do_not_read_with_the_cookie(
    browser: AppClient, headers: dict[str, str], status: int
) -> None:
    """Browsers that do not say from where, because the connection is not secure, let no other site read answers."""
    log_in(browser)
    assert browser.get(LIST, headers=headers).status_code == status


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": HERE}, 404),
        ({"Sec-Fetch-Site": "same-origin"}, 404),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({}, 401),
    ],
)
def test_nothing_is_done_with_the_cookie_unless_our_own_page_asks(
    browser: AppClient, headers: dict[str, str], status: int
) -> None:
    log_in(browser)
    assert browser.post(CANCEL, headers=headers).status_code == status


def test_wrong_tokens_count_and_are_said_nowhere(browser: AppClient) -> None:
    with capture_logs() as logged:
        answers = [log_in(browser, f"jq_guess{number}") for number in range(4)]
        browser.set_cookie(COOKIE, "jq_guess9")
        answers.append(browser.get(LIST))
    assert [answer.status_code for answer in answers] == [401, 401, 401, 429, 401]
    assert not any("Set-Cookie" in answer.headers for answer in answers)
    assert "guess" not in str(logged)
    assert log_in(browser).status_code == 204, "a right one still works"


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 422),
        ({"token": ""}, 422),
        ({"token": "a b"}, 422),
        ({"token": "\ud800"}, 422),
        ({"token": "x" * 600}, 422),
        ({"token": "x" * 5000}, 413),
        ({"token": ADMIN, "user": "admin"}, 422),
        ({"token": AGENTS}, 401),
    ],
)
def test_what_is_no_token_of_a_user_is_refused_without_being_repeated(
    browser: AppClient, body: dict[str, str], status: int
) -> None:
    response = browser.post(SESSION, json=body, headers={"Origin": HERE})
    assert (response.status_code, response.content_type) == (status, "application/problem+json")
    assert "xxxx" not in response.get_data(as_text=True)


def test_the_cookie_is_no_way_in_for_agents(browser: AppClient) -> None:
    browser.set_cookie(COOKIE, AGENTS)
    assert browser.get("/api/v1/agents/limits").status_code == 401


def test_where_no_token_is_needed_no_session_is_kept(services: Services, client: StoreClient) -> None:
    browser = create_app(with_settings(services, authentication="none")).test_client()
    response = log_in(browser, "whatever")
    assert (response.status_code, "Set-Cookie" in response.headers) == (204, False)
    assert not client.keys("jq:session:*")
    assert browser.get("/api/v1/me").get_json()["name"] == "anybody"
    assert browser.delete(SESSION, headers={"Origin": HERE}).status_code == 204
