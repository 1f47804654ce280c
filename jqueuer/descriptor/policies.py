"""The policies a description may name."""

from __future__ import annotations

from typing import Any

from cautoscaler import policies
from jqueuer.descriptor.faults import FaultList, Path, suggestion
from jqueuer.units import shown

REST = "rest"
"""The policy behind a URL; chosen by ``url``, never by its name."""


def known_policies() -> tuple[str, ...]:
    """The names a description may use."""
    return tuple(name for name in policies.names() if name != REST)


def check_policy(raw: Any, faults: FaultList) -> None:
    """Whether the policies named exist, and name and URL exclude each other; their kinds are checked elsewhere."""
    if isinstance(raw, str):
        _check_name(("policy",), raw, faults)
    if not isinstance(raw, dict):
        return
    if "name" in raw and raw.get("url") is not None:
        faults.add(("policy",), "give the name of a policy or the url of a service, not both")
    for key in ("name", "fallback"):
        _check_name(("policy", key), raw.get(key), faults)


def _check_name(path: Path, name: Any, faults: FaultList) -> None:
    if isinstance(name, str) and name not in known_policies():
        hint = "; give its url instead" if name == REST else suggestion(name, known_policies())
        listing = ", ".join(known_policies())
        faults.add(path, f"there is no policy {shown(name)}{hint}; there are {listing}")
