"""Single cases: who gets what, and in which words the others are told."""

import pytest
from sharing_cases import GIB, demand, got, node

from jqueuer.scheduling import Demand, Share, share


def why(shares: dict[str, Share], name: str) -> str:
    return shares[name].reason(shares[name].wanted)


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        ({"priority": 5}, {"deadline_at": 10.0}, "priority 5 over 0"),
        ({"deadline_at": 600.0, "created_at": 9.0}, {"deadline_at": 1200.0}, "its deadline is 10m earlier"),
        ({"deadline_at": 600.0, "created_at": 9.0}, {}, "it has a deadline"),
        ({"created_at": 1.0}, {"created_at": 2.0}, "received earlier"),
    ],
)
def test_priority_then_deadline_then_receipt(first: dict[str, float], second: dict[str, float], reason: str) -> None:
    shares = share([node("n1")], [demand("b", **second), demand("a", **first)])
    assert got(shares) == {"a": 3, "b": 1}
    assert why(shares, "b") == f"1 of 4 wanted fit: a ({reason}) goes first"
    assert why(shares, "a") == "3 of 4 wanted fit: b (its minimum of 1) goes first"


def test_a_container_needs_one_node_with_room_for_all_of_it() -> None:
    there = [node(f"n{number}", cores=1) for number in range(4)]
    shares = share(there, [demand("wide", cpu_cores=4.0), demand("narrow")])
    assert got(shares) == {"wide": 0, "narrow": 4}
    assert why(shares, "wide") == "0 of 4 wanted fit: no node has room for a container of 4 cores"


def test_memory_limits_as_cores_do() -> None:
    shares = share([node("n1", gib=5)], [demand("m", cpu_cores=0.0, memory_bytes=2 * GIB)])
    assert got(shares) == {"m": 2}
    assert why(shares, "m") == "2 of 4 wanted fit: there is no more room for containers of 2GiB"


def test_what_others_reserve_is_not_there() -> None:
    assert got(share([node("n1", foreign_cpu_cores=2.5)], [demand("a")])) == {"a": 1}


def test_constraints_choose_the_nodes() -> None:
    there = [node("n1", attributes={"node.role": "manager"}), node("n2", attributes={"node.role": "worker"})]
    shares = share(there, [demand("a", wanted=9, placement=("node.role == worker",))])
    assert shares["a"].placed == {"n2": 4}
    nowhere = share(there, [demand("a", cpu_cores=0.0, placement=("node.labels.gpu == yes",))])
    assert why(nowhere, "a") == "0 of 4 wanted fit: no node that satisfies node.labels.gpu == yes takes containers"


def test_containers_spread() -> None:
    assert share([node("n1"), node("n2")], [demand("a")])["a"].placed == {"n1": 2, "n2": 2}


def test_what_stands_on_a_node_that_is_gone_stays_and_takes_no_room() -> None:
    shares = share([node("n1", cores=1)], [demand("a", requested=2, in_place={"gone": 2})])
    assert got(shares) == {"a": 3}


def test_draining_containers_hold_their_room_and_it_is_kept_for_the_first_in_rank() -> None:
    """b leaves n1 with two containers: a will have their room, c may not take what is free besides."""
    b = demand("b", wanted=0, minimum=0, draining={"n1": 2})
    a = demand("a", wanted=1, cpu_cores=4.0, priority=1)
    shares = share([node("n1")], [b, a, demand("c", minimum=0, wanted=2)])
    assert (shares["a"].containers, shares["a"].later) == (0, 1)
    assert why(shares, "a") == "0 of 1 wanted fit now, 1 more as others leave or have found their places"
    assert why(shares, "c") == "0 of 2 wanted fit: a (priority 1 over 0) goes first"


def test_who_gives_way_gives_no_more_than_is_needed() -> None:
    low = demand("low", wanted=8, requested=8, in_place={"n1": 4, "n2": 4})
    shares = share([node("n1"), node("n2")], [low, demand("high", wanted=2, priority=1)])
    assert (shares["low"].containers, shares["high"].later) == (6, 2)


def test_nobody_gives_way_where_it_would_be_in_vain() -> None:
    """Swarm ends containers on the node with most of them: with a minimum of two, neither node is ever empty."""
    low = demand("low", wanted=8, minimum=2, requested=8, in_place={"n1": 4, "n2": 4})
    shares = share([node("n1"), node("n2")], [low, demand("high", minimum=0, wanted=1, cpu_cores=4.0, priority=1)])
    assert got(shares) == {"low": 8, "high": 0}


def test_lower_ranks_lose_what_is_above_their_minimum_before_anybody_loses_that() -> None:
    def standing(name: str, count: int, received: float) -> Demand:
        return demand(name, wanted=count, requested=count, in_place={"n1": count}, created_at=received)

    shares = share(
        [node("n1")], [demand("new", wanted=1, priority=1), standing("two", 3, 1.0), standing("one", 1, 2.0)]
    )
    assert got(shares) == {"new": 0, "two": 2, "one": 1}


def test_nobody_starts_what_swarm_might_put_where_another_is_about_to_go() -> None:
    """Swarm would put the small one on n2, where it has none yet, and there the large one would not fit any more."""
    small = demand("small", wanted=8, requested=1, in_place={"n1": 1})
    large = demand("large", wanted=1, requested=1, cpu_cores=4.0, priority=1)
    starting = share([node("n1"), node("n2")], [small, large])
    assert (starting["small"].containers, starting["small"].later) == (1, 3)
    started = share(
        [node("n1"), node("n2")],
        [small, demand("large", wanted=1, requested=1, cpu_cores=4.0, priority=1, in_place={"n2": 1})],
    )
    assert got(started) == {"small": 4, "large": 1}


def test_only_some_are_named() -> None:
    many = [demand(f"e{number}", created_at=float(number), wanted=1) for number in range(5)]
    assert why(share([node("n1")], many), "e4") == (
        "0 of 1 wanted fit: e0 (received earlier), e1 (received earlier) and 2 more go first"
    )


def test_an_unknown_policy_is_refused_with_those_there_are() -> None:
    with pytest.raises(LookupError, match="there is no sharing policy 'lottery'; there are earliest-deadline"):
        share([], [], policy="lottery")
