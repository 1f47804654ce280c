"""A browser logs in with a token, which stays in a cookie; only the manager's own pages can use that."""

from __future__ import annotations

from dataclasses import replace
from http.cookies import Morsel, SimpleCookie

import pytest
from flask import Flask
from pydantic import SecretStr
from structlog.testing import capture_logs
from werkzeug.test import Client as AppClient
from werkzeug.test import TestResponse

from jqueuer_manager.api import create_app
from jqueuer_manager.api.gate import COOKIE
from jqueuer_manager.services import Services
from tests.embedded.api_manager import ADMIN, AS_ADMIN

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


def test_the_cookie_ends_with_its_token(browser: AppClient) -> None:
    asked = {"name": "alice", "role": "viewer", "expires": "1h"}
    token = browser.post("/api/v1/tokens", headers=AS_ADMIN, json=asked).get_json()["token"]
    assert cookie(log_in(browser, token))["expires"]
    assert browser.get("/api/v1/me").get_json()["name"] == "alice"
    assert browser.post("/api/v1/tokens", json=asked, headers={"Origin": HERE}).status_code == 403


def test_who_logs_out_is_forgotten(browser: AppClient) -> None:
    log_in(browser)
    assert browser.delete(SESSION, headers={"Origin": HERE}).status_code == 204
    assert browser.get_cookie(COOKIE) is None
    assert browser.get("/api/v1/me").status_code == 401


def test_a_token_that_was_removed_is_worth_nothing_in_a_cookie_either(browser: AppClient) -> None:
    made = browser.post("/api/v1/tokens", headers=AS_ADMIN, json={"name": "alice", "role": "viewer"}).get_json()
    log_in(browser, made["token"])
    browser.delete(f"/api/v1/tokens/{made['id']}", headers=AS_ADMIN)
    assert browser.get("/api/v1/me").status_code == 401


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
    assert [answer.status_code for answer in answers] == [401, 401, 401, 429, 429]
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


def test_where_no_token_is_needed_none_is_kept(services: Services) -> None:
    browser = create_app(with_settings(services, authentication="none")).test_client()
    response = log_in(browser, "whatever")
    assert (response.status_code, "Set-Cookie" in response.headers) == (204, False)
