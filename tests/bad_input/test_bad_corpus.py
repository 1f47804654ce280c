"""The corpus as a whole."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from tests.bad_input import commands, descriptions, http_requests, policy_answers, tokens

LEAST = 150


class Named(Protocol):
    name: str


def names(cases: Iterable[Named]) -> list[str]:
    return [case.name for case in cases]


def test_it_is_large_and_every_case_has_a_name_of_its_own() -> None:
    kinds = {
        "descriptions": [name for name, _, _ in descriptions.CASES],
        "requests": names(http_requests.CASES),
        "tokens": names(tokens.CASES),
        "policy answers": names(policy_answers.CASES),
        "outputs": names(commands.CASES),
    }
    twice = {kind: sorted({name for name in found if found.count(name) > 1}) for kind, found in kinds.items()}
    assert not any(twice.values()), twice
    assert sum(len(found) for found in kinds.values()) >= LEAST
    assert min(len(found) for found in kinds.values()) >= 50
