"""The policies a description may name, and what each reads of what the description says to it."""

from __future__ import annotations

import re
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

from cautoscaler import policies
from jqueuer.descriptor.faults import FaultList, Path, suggestion
from jqueuer.kinds import TIME_ZONE_PATTERN
from jqueuer.model import Policy
from jqueuer.units import shown

REST = "rest"
"""The policy behind a URL; chosen by ``url``, never by its name."""
_DEFAULT = Policy.model_fields["name"].default
_OF_EVERY_POLICY = frozenset({"name", "period"})
_OF_COOL_DOWNS = frozenset({"up_cooldown", "down_cooldown"})
_EXAMPLES = {
    "budget": "budget: {container_hours: 12}, or budget: {money: 30} and price: 0.5",
    "schedule": 'schedule: [{from: "08:00", to: "18:00", containers: 4}]',
    "target": "target: 2h",
}


def known_policies() -> tuple[str, ...]:
    """The names a description may use."""
    return tuple(name for name in policies.names() if name != REST)


def needed_key(name: str) -> str:
    """The key of ``policy`` without which this policy can decide nothing; empty where there is none."""
    return policies.get(name).needs


def check_policy(raw: Any, faults: FaultList) -> None:
    """Whether the policies named exist and have what they need, and name and URL exclude each other.

    Also whether the time zone exists; the kinds of all values are checked elsewhere.
    """
    if isinstance(raw, str):
        _check_name(("policy",), raw, raw, faults, {})
    if not isinstance(raw, dict):
        return
    by_url = raw.get("url") is not None
    if "name" in raw and by_url:
        faults.add(("policy",), "give the name of a policy or the url of a service, not both")
    for key in ("name", "fallback"):
        decides = key == "fallback" if by_url else key == "name"
        _check_name(("policy", key), raw.get(key), raw.get(key, _DEFAULT) if decides else None, faults, raw)
    _check_time_zone(raw.get("timezone"), faults)


def policy_notices(policy: Policy) -> tuple[str, ...]:
    """What the author should know: which of the keys given the policy does not read."""
    given = {key for key in policy.model_fields_set if getattr(policy, key) is not None}
    by_url = policy.url is not None
    deciding = [name for name in ([REST, policy.fallback] if by_url else [policy.name]) if name in policies.names()]
    idle = sorted(given.difference(*map(_keys_of, deciding)))
    if not idle or not deciding:
        return ()
    who = "the policy service and its fallback do" if by_url else f"the policy {shown(policy.name)} does"
    return (f"{who} not read {', '.join(f'policy.{key}' for key in idle)}: without effect here",)


def _keys_of(name: str) -> frozenset[str]:
    policy = policies.get(name)
    return _OF_EVERY_POLICY | policy.reads | (_OF_COOL_DOWNS if policy.cools_down else frozenset())


def _check_name(path: Path, name: Any, deciding: Any, faults: FaultList, raw: dict[str, Any]) -> None:
    if isinstance(name, str) and name not in known_policies():
        hint = "; give its url instead" if name == REST else suggestion(name, known_policies())
        listing = ", ".join(known_policies())
        faults.add(path, f"there is no policy {shown(name)}{hint}; there are {listing}")
    elif isinstance(deciding, str) and (key := needed_key(deciding)) and raw.get(key) is None:
        faults.add(("policy", key), f"the policy {shown(deciding)} needs {key}, such as {_EXAMPLES.get(key, key)}")


def _check_time_zone(name: Any, faults: FaultList) -> None:
    if not isinstance(name, str) or name[:1] in ("+", "-") or not re.fullmatch(TIME_ZONE_PATTERN, name):
        return  # an offset, or no time zone at all, which is a fault already
    try:
        ZoneInfo(name)
    except (LookupError, ValueError, OSError):
        hint = suggestion(name, available_timezones()) or "; expected a name such as Europe/Vienna, or an offset"
        faults.add(("policy", "timezone"), f"there is no time zone {shown(name)}{hint}")
