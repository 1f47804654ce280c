"""Placement constraints as Swarm reads them: ``node.labels.gpu == yes``, ``node.role != manager``.

Values are compared without regard to case, names of labels with it, and a label that a node does not have is empty.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

KEYS: Final = ("node.id", "node.hostname", "node.ip", "node.role", "node.platform.os", "node.platform.arch")
LABEL_PREFIXES: Final = ("node.labels.", "engine.labels.")

_OPERATORS: Final = ("==", "!=")
_VALUE: Final = re.compile(r"[a-zA-Z0-9:\-_\s.*()?+\[\]\\^$|/]+")
_LABEL: Final = re.compile(r"[a-zA-Z0-9\-_.]+")


@dataclass(frozen=True, slots=True)
class Constraint:
    """One condition on an attribute of a node."""

    key: str
    equal: bool
    """``==``, else ``!=``."""
    value: str

    def holds(self, attributes: Mapping[str, str]) -> bool:
        """Whether a node with these attributes satisfies it."""
        found = attributes.get(self.key, "")
        return (_in_network(found, self.value) if self.key == "node.ip" else _same(found, self.value)) == self.equal

    def __str__(self) -> str:
        return f"{self.key} {_OPERATORS[not self.equal]} {self.value}"


def parse_constraint(text: str) -> Constraint:
    """Read one constraint; :class:`ValueError` says what is wrong with it and what was expected."""
    operator = next((operator for operator in _OPERATORS if operator in text), None)
    if operator is None:
        raise ValueError(f"expected a key, == or !=, and a value, such as node.labels.gpu == yes, got {text!r}")
    key, value = (part.strip() for part in text.split(operator, 1))
    if not value:
        raise ValueError(f"there is no value after {operator} in {text!r}")
    if not _VALUE.fullmatch(value):
        raise ValueError(
            f"Swarm does not take the value {value!r} in {text!r}: letters, digits and :-_.*()?+[]\\^$|/ do"
        )
    constraint = Constraint(_known(key, text), operator == "==", value)
    if constraint.key == "node.ip":
        _network(value, text)
    return constraint


def matches(constraints: Iterable[Constraint], attributes: Mapping[str, str]) -> bool:
    """Whether a node with these attributes satisfies all of them."""
    return all(constraint.holds(attributes) for constraint in constraints)


def _known(key: str, text: str) -> str:
    folded = key.lower()
    if folded in KEYS:
        return folded
    for prefix in LABEL_PREFIXES:
        if folded.startswith(prefix) and _LABEL.fullmatch(key, len(prefix)):
            return prefix + key[len(prefix) :]
    raise ValueError(
        f"nodes have no {key!r}, which {text!r} asks for: expected {', '.join(KEYS)}, node.labels.NAME or "
        "engine.labels.NAME"
    )


def _network(value: str, text: str) -> None:
    try:
        ipaddress.ip_network(value, strict=False)
    except ValueError:
        raise ValueError(f"expected an address or a network such as 10.0.0.0/8 in {text!r}") from None


def _in_network(address: str, network: str) -> bool:
    try:
        return ipaddress.ip_address(address) in ipaddress.ip_network(network, strict=False)
    except ValueError:
        return False


def _same(one: str, other: str) -> bool:
    return one.casefold() == other.casefold()
