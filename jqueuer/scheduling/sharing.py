"""Sharing the cluster: who may have how many containers where there is not room for all that are wanted.

::

    containers in place ─┐
    being started ───────┼─► room per node ─► minimums, in order of rank ─► wishes, in order of rank ─► shares
    draining ────────────┘

Each claim is met with what its experiment has in place; else with free room; else with room that drains anyway; else
others give way: those above their minimum first, and those of the lowest rank first. Containers never move. Room that
is not free yet is held for whom it was promised, so that it is not taken, and given up, again and again; and nobody
starts what Swarm might put into room that another is about to take.
"""

from __future__ import annotations

from collections.abc import Sequence

from jqueuer.scheduling.cluster import Node
from jqueuer.scheduling.demand import Demand, Share
from jqueuer.scheduling.policies import SharingPolicy, get
from jqueuer.scheduling.room import Claim, Room
from jqueuer.scheduling.wording import cause, no_node_matches

DEFAULT_POLICY = "earliest-deadline"


def share(nodes: Sequence[Node], demands: Sequence[Demand], *, policy: str = DEFAULT_POLICY) -> dict[str, Share]:
    """The share of each demand by its experiment's id."""
    ranking, nodes = get(policy), sorted(nodes, key=lambda node: node.name)
    claims = [Claim.of(demand, nodes) for demand in sorted(demands, key=ranking.rank)]
    limited = [claim for claim in claims if any(claim.size)]
    room = Room(nodes)
    _look_around(room, limited)
    for minimum in (True, False):
        for rank, claim in enumerate(limited):
            _grant(room, limited, rank, claim.minimum if minimum else claim.demand.wanted)
    shares = {claim.demand.experiment_id: _limited_share(room, limited, claim, ranking) for claim in limited}
    for claim in claims:
        shares.setdefault(claim.demand.experiment_id, _unlimited_share(claim))
    return shares


def _look_around(room: Room, claims: list[Claim]) -> None:
    """Enter what stands on the nodes, what goes by itself, and what is being started."""
    for claim in claims:
        for node, count in claim.demand.draining.items():
            room.drain(claim, node, count)
        for node, count in claim.demand.in_place.items():
            claim.placed[node] += count
            room.stand(claim, node, count)
        for _ in range(claim.containers - min(claim.demand.wanted, claim.demand.requested)):
            _give_way(room, claim, claim.victims()[0])
    for claim in claims:
        for _ in range(min(claim.demand.wanted, claim.demand.requested) - claim.containers):
            if (free := room.place_started(claim)) is not None:
                _place(room, claim, free)


def _grant(room: Room, claims: list[Claim], rank: int, aim: int) -> None:
    """Meet one claim as far as possible; what others were granted stays theirs."""
    claim = claims[rank]
    while claim.granted < aim:
        if claim.granted - claim.later < claim.containers:
            pass
        elif (node := room.place_now(claim)) is not None:
            _place(room, claim, node)
        elif (node := room.place_later(claim) or _make_room(room, claims, rank)) is not None:
            room.promise(claim, node)
            claim.later += 1
        else:
            return
        claim.granted += 1


def _place(room: Room, claim: Claim, node: str) -> None:
    claim.placed[node] += 1
    room.hold(claim, node)


def _give_way(room: Room, claim: Claim, node: str) -> None:
    claim.placed[node] -= 1
    room.leave(claim, node)


def _make_room(room: Room, claims: list[Claim], rank: int) -> str | None:
    """Let containers that nobody was granted give way until one more fits; where, or None and all as it was."""
    claim, gone = claims[rank], list[tuple[Claim, str]]()
    for keep_minimum in (True, False):
        for other in reversed(claims):
            if other is claim:
                continue
            kept = max(other.granted - other.later, other.minimum if keep_minimum else 0)
            while other.containers > kept:
                gone.append((other, room.least_use(claim, other)))
                _give_way(room, *gone[-1])
                if room.place_later(claim) is not None:
                    _take_back_the_needless(room, claim, gone)
                    return room.place_later(claim)
    _take_back(room, gone)
    return None


def _take_back_the_needless(room: Room, claim: Claim, gone: list[tuple[Claim, str]]) -> None:
    """Nobody gives way in vain; of one experiment the last goes back first, since which ones go is Swarm's choice."""
    needed = set[str]()
    for other, node in reversed(gone):
        if other.demand.experiment_id not in needed:
            _take_back(room, [(other, node)])
            if room.place_later(claim) is None:
                _give_way(room, other, node)
                needed.add(other.demand.experiment_id)


def _take_back(room: Room, gone: list[tuple[Claim, str]]) -> None:
    for other, node in reversed(gone):
        other.placed[node] += 1
        room.leave(other, node, -1)


def _limited_share(room: Room, claims: list[Claim], claim: Claim, ranking: SharingPolicy) -> Share:
    wanted = claim.demand.wanted
    why = cause(room, claims, claim, ranking) if claim.granted < wanted else ""
    return Share(claim.containers, wanted, claim.later, why, {node: n for node, n in claim.placed.items() if n})


def _unlimited_share(claim: Claim) -> Share:
    demand = claim.demand
    if claim.nodes:
        return Share(demand.wanted, demand.wanted)
    there = min(demand.wanted, sum(demand.in_place.values()))
    return Share(there, demand.wanted, cause=no_node_matches(demand) if there < demand.wanted else "")
