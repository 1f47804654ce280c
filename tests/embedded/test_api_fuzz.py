"""The whole API fuzzed from its own document: what the document says is what the manager does, and who may not, cannot.

Examples are drawn the same way each time. Where a check cannot hold for an operation, that one is excluded, with why.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle
from typing import Any, Final

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from jqueuer.client import Client
from tests.embedded.fuzzing import (
    AGENTS,
    AS_SUBMITTER,
    AS_VIEWER,
    DESCRIPTION,
    DOCUMENT,
    Fuzzed,
    configuration,
    document,
    exact,
    fuzzed_manager,
    strangers,
)
from tests.embedded.own_manager import Eventually

SCHEMA: Final = schemathesis.openapi.from_dict(exact(), config=configuration(examples=12))
STRANGERS: Final = schemathesis.openapi.from_dict(strangers(), config=configuration(examples=5, shows_tokens=False))
SUBMIT: Final = "POST /api/v1/experiments"
FOR_ADMINISTRATORS: Final = frozenset({"listTokens", "makeToken", "removeToken"})


@pytest.fixture(scope="module")
def manager(tmp_path_factory: pytest.TempPathFactory, eventually: Eventually) -> Iterator[Fuzzed]:
    with fuzzed_manager(tmp_path_factory.mktemp("fuzzed"), eventually) as manager:
        yield manager


@SCHEMA.parametrize()
def test_every_operation_does_what_the_document_says(case: schemathesis.Case, manager: Fuzzed) -> None:
    case.call_and_validate(base_url=manager.url)


@pytest.fixture
def places(manager: Fuzzed) -> Iterator[dict[str, Any]]:
    """Paths that lead somewhere, one after the other; made anew for each operation, which may change all of it."""
    return cycle(manager.places())


@SCHEMA.include(path_regex=r"\{").parametrize()
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_and_where_there_is_something_to_do(
    case: schemathesis.Case, manager: Fuzzed, places: Iterator[dict[str, Any]]
) -> None:
    place = next(places)
    case.path_parameters = {name: place.get(name, drawn) for name, drawn in case.path_parameters.items()}
    case.call_and_validate(base_url=manager.url)


def test_in_any_order_too(manager: Fuzzed) -> None:
    """What was made is there, what was deleted is not, whatever is done in between."""

    class AnyOrder(SCHEMA.as_state_machine()):  # type: ignore[misc] # made at run time
        def before_call(self, case: schemathesis.Case) -> None:
            if case.operation.label == SUBMIT:  # drawn ones are hardly ever accepted
                case.body, case.media_type, case.query = DESCRIPTION, "application/json", {}
                case.headers.pop("Idempotency-Key", None)

        def get_call_kwargs(self, case: schemathesis.Case) -> dict[str, Any]:
            return {"base_url": manager.url}

    run_state_machine_as_test(
        AnyOrder,
        settings=settings(
            max_examples=25,
            stateful_step_count=8,
            derandomize=True,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


@pytest.fixture(scope="module")
def tokens(manager: Fuzzed) -> dict[str, str]:
    """A viewer's token and a submitter's, by role."""
    with Client(manager.url, token=manager.admin) as api:
        return {role: str(api.make_token(f"a-{role}", role)["token"]) for role in (AS_VIEWER, AS_SUBMITTER)}


@STRANGERS.parametrize()
def test_no_operation_is_open_to_who_may_not(case: schemathesis.Case, manager: Fuzzed, tokens: dict[str, str]) -> None:
    """Without a token, with a wrong one, with one of too small a role: refused, whatever else was sent."""
    operation = case.operation.definition.raw
    takes, name = operation["x-takes"], operation["operationId"]
    if not takes:
        pytest.skip("needs no token")
    shown: list[tuple[str | None, int]] = [(None, 401), ("jq_wrong", 401), ("", 401)]
    if takes == [{AGENTS: []}]:
        shown += [(manager.admin, 401), (tokens[AS_VIEWER], 401)]
    else:
        shown += [(manager.agents, 401)]
        if case.operation.method not in {"get", "head"} or name in FOR_ADMINISTRATORS:
            shown.append((tokens[AS_VIEWER], 403))
        if name in FOR_ADMINISTRATORS:
            shown.append((tokens[AS_SUBMITTER], 403))
    if case.method.lower() != case.operation.method:
        shown = shown[:1]  # another operation's method, or nobody's: the roles above are not about it
    for token, status in shown:
        response = case.call(
            base_url=manager.url, headers={} if token is None else {"Authorization": f"Bearer {token}"}
        )
        if response.status_code != status:
            assert never_came_to_an_operation(response), (token, response.status_code, response.text[:300])


def never_came_to_an_operation(response: schemathesis.Response) -> bool:
    """Whether the HTTP server could not read it, or there is no such path, or no such method."""
    if response.status_code in {400, 414}:
        return "<title>" in response.text
    return response.status_code == 405 or "The requested URL was not found" in response.text


def test_the_manager_shows_this_document(manager: Fuzzed) -> None:
    assert requests.get(manager.url + DOCUMENT, timeout=30).json() == document()


def test_the_manager_met_no_error_of_its_own(manager: Fuzzed) -> None:
    assert "Traceback" not in manager.words()
