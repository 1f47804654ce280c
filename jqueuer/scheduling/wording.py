"""Why an experiment has fewer containers than it wants, in words that stay the same while nothing changes."""

from __future__ import annotations

from cautoscaler.wording import amount
from jqueuer.scheduling.demand import Demand
from jqueuer.scheduling.policies import SharingPolicy
from jqueuer.scheduling.room import Claim, Room
from jqueuer.units import format_size

_MOST_NAMED = 3


def no_node_matches(demand: Demand) -> str:
    """Where constraints, or an empty cluster, leave no node at all."""
    return f"no node {_that_satisfies(demand)}takes containers"


def cause(room: Room, claims: list[Claim], claim: Claim, ranking: SharingPolicy) -> str:
    """Who or what takes the room; the claims in order of rank."""
    demand = claim.demand
    if not claim.nodes:
        return no_node_matches(demand)
    if not any(claim.size.fits(room.empty[node]) for node in claim.nodes):
        return f"no node {_that_satisfies(demand)}has room for a container of {_size(demand)}"
    first = _who_goes_first(claims, claim, ranking)
    if not first:
        return f"there is no more room for containers of {_size(demand)}"
    if len(first) > _MOST_NAMED:
        first = [*first[: _MOST_NAMED - 1], f"{len(first) - _MOST_NAMED + 1} more"]
    names = " and ".join([", ".join(first[:-1]), first[-1]] if len(first) > 1 else first)
    return f"{names} {'goes' if len(first) == 1 else 'go'} first"


def _who_goes_first(claims: list[Claim], claim: Claim, ranking: SharingPolicy) -> list[str]:
    rank, names = claims.index(claim), []
    for index, other in enumerate(claims):
        if other is claim or not other.granted or not set(other.nodes) & set(claim.nodes):
            continue
        if index < rank:
            names.append(f"{other.demand.experiment_id} ({ranking.why(other.demand, claim.demand)})")
        elif claim.granted >= claim.minimum and other.minimum:
            names.append(f"{other.demand.experiment_id} (its minimum of {other.minimum})")
    return names


def _that_satisfies(demand: Demand) -> str:
    constraints = " and ".join(map(str, demand.constraints))
    return f"that satisfies {constraints} " if constraints else ""


def _size(demand: Demand) -> str:
    parts = []
    if demand.cpu_cores:
        parts.append("1 core" if demand.cpu_cores == 1 else f"{amount(demand.cpu_cores)} cores")
    if demand.memory_bytes:
        parts.append(format_size(demand.memory_bytes))
    return " and ".join(parts)
