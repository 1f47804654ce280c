"""Nobody gets in without a token, and nobody does more than the token's role says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest
import requests
from flask import Flask
from pydantic import SecretStr
from structlog.testing import capture_logs
from werkzeug.test import Client as AppClient

from jqueuer.access import ADMINISTRATOR, ANYBODY, Role, User
from jqueuer.adapters.redis_store import RedisTokenStore
from jqueuer.adapters.redis_store.connection import StoreClient
from jqueuer.settings import Settings
from jqueuer_manager.api import create_app
from jqueuer_manager.openness import is_loopback, warn_of_openness
from jqueuer_manager.services import Services
from tests.embedded.api_manager import ADMIN, AS_ADMIN, Manager, served

PAGES = {"/", "/login", "/submit", "/tokens", "/experiments/1", "/experiments/1/jobs/1"}
OPEN = {"/healthz", "/readyz", "/api/v1/openapi.json", *PAGES}
SESSION = "/api/v1/session"
OPEN_TO_WHAT_IS_RIGHT = {SESSION, "/static/1"}
"""Open as well, though what is asked for here is not there, or not said."""
METRICS = "jq_for-prometheus-alone"
AGENTS = "jq_the-agents-own"


def operations(app: Flask) -> Iterator[tuple[str, str]]:
    """Every method of every route, with something in the place of its parameters."""
    for rule in app.url_map.iter_rules():
        for method in sorted(rule.methods or ()):
            path = re.sub(r"<any\((\w+)[^>]*>", r"\1", rule.rule)
            yield method, re.sub(r"<[^>]*>", "1", path)


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def with_settings(services: Services, **changes: object) -> Services:
    return replace(services, settings=services.settings.model_copy(update=changes))


@pytest.fixture
def app(services: Services) -> Flask:
    return create_app(with_settings(services, agent_token=SecretStr(AGENTS), metrics_token=SecretStr(METRICS)))


@pytest.mark.parametrize(
    "shown",
    [
        {},
        bearer("jq_nobodys"),
        bearer(""),
        bearer(ADMIN + "x"),
        bearer(ADMIN[:-1]),
        {"Authorization": ADMIN},
        {"Authorization": f"Basic {ADMIN}"},
        {"Authorization": "Bearer"},
        {"Cookie": f"token={ADMIN}"},
        {"Cookie": "jqueuer_session=nobodys"},
        {"X-Forwarded-User": ADMINISTRATOR, "X-Real-Ip": "127.0.0.1"},
    ],
)
def test_every_operation_but_health_and_document_asks_for_a_token(app: Flask, shown: dict[str, str]) -> None:
    """Also those that no one thought of: what declares nothing is refused to everybody."""
    asked = set()
    for method, path in operations(app):
        response = app.test_client().open(path, method=method, headers=shown)
        if path in OPEN:
            assert response.status_code == 200, path
            continue
        if path in OPEN_TO_WHAT_IS_RIGHT:
            assert response.status_code not in {401, 403, 429}, path
            continue
        asked.add((method, path))
        assert (response.status_code in {401, 429}, response.content_type) == (True, "application/problem+json"), path
        if response.status_code == 401:
            assert response.headers["WWW-Authenticate"].startswith('Bearer realm="jqueuer"')
        else:
            assert int(response.headers["Retry-After"]) > 0
    assert len(asked) > 50


def test_an_operation_that_declares_nothing_is_refused_even_to_administrators(services: Services) -> None:
    app = create_app(services)

    @app.route("/forgotten")
    def forgotten() -> str:
        return "secret"

    assert app.test_client().get("/forgotten").status_code == 401
    response = app.test_client().get("/forgotten", headers=AS_ADMIN)
    assert (response.status_code, response.content_type) == (403, "application/problem+json")


def test_the_document_says_what_every_operation_takes_and_how_it_refuses(app: Flask) -> None:
    document = app.test_client().get("/api/v1/openapi.json").get_json()
    assert set(document["components"]["securitySchemes"]) == {"token", "agentToken"}
    for path, item in document["paths"].items():
        for method, operation in item.items():
            where = f"{method} {path}"
            if path in OPEN | {SESSION}:
                assert operation["security"] == [], where
                continue
            scheme = "agentToken" if path.startswith("/api/v1/agents") else "token"
            (security,) = operation["security"]
            (roles,) = security.values()
            assert set(security) == {scheme}, where
            assert len(roles) == (1 if scheme == "token" else 0), where
            assert set(roles) <= set(Role), where
            refusals = {"401", "403"} if scheme == "agentToken" else {"401", "403", "429"}
            assert refusals <= operation["responses"].keys(), where


@pytest.mark.parametrize("role", list(Role))
def test_a_role_opens_what_it_is_for_and_nothing_else(app: Flask, services: Services, role: Role) -> None:
    """What is refused is refused before anything of the request is looked at, so 403 is all there is to it."""
    api = app.test_client()
    made = api.post("/api/v1/tokens", headers=AS_ADMIN, json={"name": "alice", "role": role.value}).get_json()
    refused = {
        f"{method} {path}"
        for method, path in operations(app)
        if method != "OPTIONS" and path not in OPEN and not path.startswith("/api/v1/agents")
        if _status(api, method, path, made["token"]) == 403
    }
    admins = {"GET /api/v1/tokens", "HEAD /api/v1/tokens", "POST /api/v1/tokens", "DELETE /api/v1/tokens/1"}
    submitters = {
        "POST /api/v1/experiments",
        "POST /api/v1/quotes",
        "PUT /api/v1/files/1",
        "PATCH /api/v1/experiments/1",
    }
    submitters |= {"DELETE /api/v1/experiments/1", "POST /experiment/add", "POST /experiment/del"}
    submitters |= {f"POST /api/v1/experiments/1/{command}" for command in ("pause", "resume", "cancel", "retry")}
    expected = {Role.VIEWER: admins | submitters, Role.SUBMITTER: admins, Role.ADMIN: set()}
    assert refused == expected[role]


def _status(api: AppClient, method: str, path: str, token: str) -> int:
    return api.open(path, method=method, headers=bearer(token)).status_code


def test_a_refusal_says_what_role_is_needed_and_whose_token_it_was(manager: Manager) -> None:
    token = manager.api.make_token("wallboard", "viewer")["token"]
    response = requests.post(f"{manager.url}/api/v1/experiments", headers=bearer(token), data=b"x", timeout=10)
    body = response.json()
    assert (response.status_code, body["type"]) == (403, "urn:jqueuer:problem:forbidden")
    assert body["detail"] == (
        "this takes the role submitter, and the token of wallboard has the role viewer: "
        "ask an administrator for another token"
    )


def test_the_metrics_token_opens_the_metrics_alone(app: Flask) -> None:
    api = app.test_client()
    assert _status(api, "GET", "/metrics", METRICS) == 200
    assert _status(api, "GET", "/api/v1/experiments", METRICS) == 401
    assert _status(api, "GET", "/api/v1/agents/limits", METRICS) == 401


def test_the_agents_token_opens_the_agents_routes_alone_and_no_other_opens_them(app: Flask) -> None:
    api = app.test_client()
    assert _status(api, "GET", "/api/v1/agents/limits", AGENTS) == 200
    assert _status(api, "GET", "/api/v1/experiments", AGENTS) == 401
    assert _status(api, "GET", "/metrics", AGENTS) == 401
    assert _status(api, "GET", "/api/v1/agents/limits", ADMIN) == 401


@pytest.mark.parametrize("setting", ["admin_token", "metrics_token", "agent_token"])
def test_a_secret_that_is_not_set_is_not_the_empty_one(services: Services, setting: str) -> None:
    settings = Settings(**{setting: SecretStr("")})
    api = create_app(replace(services, settings=settings)).test_client()
    for path in ("/api/v1/experiments", "/metrics", "/api/v1/agents/limits"):
        for shown in ("Bearer ", "Bearer  ", "bearer\t"):
            assert api.get(path, headers={"Authorization": shown}).status_code in {401, 403}


def test_the_scheme_is_read_in_any_case_as_http_says(manager: Manager) -> None:
    response = requests.get(f"{manager.url}/api/v1/me", headers={"Authorization": f"bEARER   {ADMIN} "}, timeout=10)
    assert response.json() == {"name": ADMINISTRATOR, "role": "admin", "token": None}


def test_wrong_tokens_make_their_address_wait_and_right_ones_still_work(services: Services) -> None:
    with served(with_settings(services, max_refused_logins=3)) as manager, capture_logs() as logged:
        url = f"{manager.url}/api/v1/experiments"
        wrong = [requests.get(url, headers=bearer(f"jq_guess{number}"), timeout=10) for number in range(5)]
        assert [response.status_code for response in wrong] == [401, 401, 401, 429, 429]
        assert wrong[0].headers["WWW-Authenticate"] == 'Bearer realm="jqueuer", error="invalid_token"'
        assert 0 < int(wrong[-1].headers["Retry-After"]) <= 60
        assert wrong[-1].json()["type"] == "urn:jqueuer:problem:too-many-requests"
        assert requests.get(url, timeout=10).status_code == 401, "no token is no wrong one"
        assert manager.http.get(url, timeout=10).status_code == 200
    said = [entry for entry in logged if entry["event"] == "a wrong token was shown"]
    assert [entry["address"] for entry in said] == ["127.0.0.1"] * 3
    assert "guess" not in str(logged)


def test_where_no_token_is_needed_everybody_is_an_administrator(services: Services) -> None:
    with served(with_settings(services, authentication="none")) as manager:
        assert requests.get(f"{manager.url}/api/v1/me", timeout=10).json()["role"] == "admin"
        manager.submit_jobs(1)
        (experiment,) = manager.api.experiments(owner=ANYBODY)
        assert manager.api.cancel(experiment["id"])["state"] == "cancelled"
        assert requests.get(f"{manager.url}/api/v1/agents/limits", timeout=10).status_code == 403


@pytest.mark.parametrize(
    ("settings", "warning"),
    [
        ({"authentication": "none", "host": "0.0.0.0"}, "whoever reaches the port may do everything"),
        ({"authentication": "none", "host": "127.0.0.1"}, None),
        ({"authentication": "tokens", "host": "0.0.0.0"}, "nobody can use the API: there is no token yet"),
        ({"authentication": "tokens", "admin_token": SecretStr(ADMIN)}, None),
    ],
)
def test_a_manager_that_lets_in_everybody_or_nobody_says_so(
    client: StoreClient, settings: dict[str, object], warning: str | None
) -> None:
    with capture_logs() as logged:
        warn_of_openness(Settings().model_copy(update=settings), RedisTokenStore(client))
    assert [entry["event"].startswith(warning or "") for entry in logged] == ([True] if warning else [])


def test_loopback_is_what_only_this_machine_reaches() -> None:
    assert [is_loopback(host) for host in ("127.0.0.1", "127.9.9.9", "::1", "localhost")] == [True] * 4
    assert [is_loopback(host) for host in ("0.0.0.0", "::", "10.0.0.1", "manager")] == [False] * 4


def test_roles_include_those_before_them() -> None:
    assert [[role.includes(other) for other in Role] for role in Role] == [
        [True, False, False],
        [True, True, False],
        [True, True, True],
    ]
    assert not User(name="a", role=Role.VIEWER).may_change("a")


@pytest.mark.parametrize(
    "name", ["evil.example", "evil.example:8081", "localhost.evil.example", "127.0.0.1.evil.example"]
)
def test_a_name_that_another_site_gave_this_machine_opens_nothing_where_no_token_is_needed(
    services: Services, name: str
) -> None:
    """To a browser that page and the manager are one site then, so it may read, and its requests look like our own."""
    api = create_app(with_settings(services, authentication="none")).test_client()
    for method, path in (("GET", "/api/v1/experiments"), ("POST", "/api/v1/quotes"), ("GET", "/metrics")):
        response = api.open(path, method=method, headers={"Host": name, "Origin": f"http://{name}"})
        assert (response.status_code, response.content_type) == (403, "application/problem+json")
        assert "localhost" in response.get_json()["detail"]


@pytest.mark.parametrize(
    "name", ["localhost:8081", "127.0.0.1", "[::1]:8081", "10.1.2.3:80", "manager", "jq.localhost"]
)
def test_names_of_this_machine_are_answered_where_no_token_is_needed(services: Services, name: str) -> None:
    api = create_app(with_settings(services, authentication="none")).test_client()
    assert api.get("/api/v1/me", headers={"Host": name}).status_code == 200


def test_a_manager_that_asks_for_tokens_or_listens_elsewhere_answers_to_any_name(services: Services) -> None:
    shown = {"Host": "jobs.example", **AS_ADMIN}
    assert create_app(services).test_client().get("/api/v1/me", headers=shown).status_code == 200
    abroad = create_app(with_settings(services, authentication="none", host="0.0.0.0")).test_client()
    assert abroad.get("/api/v1/me", headers=shown).status_code == 200


def test_wrong_tokens_of_agents_are_logged_with_their_address_and_not_without_end(services: Services) -> None:
    """They are not told to wait: an agent takes that for a refusal of what it brings."""
    settings = {"agent_token": SecretStr(AGENTS), "max_refused_logins": 3}
    with capture_logs() as logged:
        api = create_app(with_settings(services, **settings)).test_client()
        assert {_status(api, "GET", "/api/v1/agents/limits", f"jq_guess{number}") for number in range(9)} == {401}
    said = [entry for entry in logged if entry["event"] == "a wrong agents' token was shown"]
    assert [entry["address"] for entry in said] == ["127.0.0.1"] * 3
    assert "guess" not in str(logged)


@pytest.mark.parametrize("name", ["admin_token", "agent_token", "metrics_token"])
def test_a_secret_that_can_be_guessed_is_warned_of_but_for_what_it_is(services: Services, name: str) -> None:
    with capture_logs() as logged:
        warn_of_openness(Settings(admin_token=SecretStr(ADMIN)), services.tokens)
        assert logged == []
        warn_of_openness(Settings(**{"admin_token": SecretStr(ADMIN), name: SecretStr("swordfish")}), services.tokens)
    assert [entry["event"].partition(":")[0] for entry in logged] == [f"JQUEUER_{name.upper()} can be guessed"]
    assert "swordfish" not in str(logged)
