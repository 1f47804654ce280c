"""What holds for every cluster and all demands.

Where several start at once, some wait until the others have found their places: ``containers`` plus ``later`` counts.
"""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from sharing_cases import busy_clusters, demands, fits, got, left, node, nodes, rank, settled

from jqueuer.scheduling import Demand, Node, matches, share


@given(nodes, demands())
def test_no_node_is_given_more_than_it_has(there: list[Node], wishes: list[Demand]) -> None:
    shares = share(there, wishes)
    for one in there:
        placed = [(wish, shares[wish.experiment_id].placed.get(one.name, 0)) for wish in wishes]
        cpu_cores, memory_bytes = left(one, placed)
        assert not any(count for _, count in placed) or (cpu_cores >= 0 and memory_bytes >= 0)
        for wish, count in placed:
            assert not count or matches(wish.constraints, one.attributes)


@given(busy_clusters())
def test_what_is_started_fits_beside_all_that_still_stands_there(case: tuple[list[Node], list[Demand]]) -> None:
    there, wishes = case
    shares = share(there, wishes)
    for one in there:
        stands, starts = [], []
        for wish in wishes:
            held = wish.in_place.get(one.name, 0) + wish.draining.get(one.name, 0)
            more = shares[wish.experiment_id].placed.get(one.name, 0) - wish.in_place.get(one.name, 0)
            stands.append((wish, held + max(0, more)))
            starts += [wish] * max(0, more)
        cpu_cores, memory_bytes = left(one, stands)
        for wish in starts:
            assert not wish.cpu_cores or cpu_cores >= 0
            assert not wish.memory_bytes or memory_bytes >= 0


@given(busy_clusters())
def test_a_share_is_never_more_than_wanted_and_says_why_it_is_less(case: tuple[list[Node], list[Demand]]) -> None:
    there, wishes = case
    for wish in wishes:
        mine = share(there, wishes)[wish.experiment_id]
        assert 0 <= mine.containers <= mine.containers + mine.later <= mine.wanted == wish.wanted
        assert bool(mine.reason(wish.wanted)) == (mine.containers < mine.wanted)


@given(nodes, demands())
def test_who_is_below_its_minimum_would_not_fit_even_without_all_of_lower_rank(
    there: list[Node], wishes: list[Demand]
) -> None:
    wishes, shares = settled(there, wishes)
    for wish in wishes:
        if not (wish.cpu_cores or wish.memory_bytes):
            continue
        if shares[wish.experiment_id].containers < min(wish.minimum, wish.wanted):
            before = [one for one in wishes if rank(one) <= rank(wish)]
            for one in there:
                placed = [(other, shares[other.experiment_id].placed.get(one.name, 0)) for other in before]
                assert not matches(wish.constraints, one.attributes) or not fits(wish, *left(one, placed))


@given(nodes, demands())
def test_nothing_is_left_unused_that_somebody_wants(there: list[Node], wishes: list[Demand]) -> None:
    wishes, shares = settled(there, wishes)
    for wish in wishes:
        if shares[wish.experiment_id].containers == wish.wanted or not (wish.cpu_cores or wish.memory_bytes):
            continue
        for one in there:
            placed = [(other, shares[other.experiment_id].placed.get(one.name, 0)) for other in wishes]
            assert not matches(wish.constraints, one.attributes) or not fits(wish, *left(one, placed))


small = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5), st.integers(0, 4)), min_size=1, max_size=4)


@given(st.integers(1, 8), small)
def test_containers_of_one_size_are_dealt_out_exactly_by_rank(room: int, sizes: list[tuple[int, int, int]]) -> None:
    """Whoever has containers already: with those that are on their way out gone, minimums first and then wishes."""
    wishes, held = [], 0
    for index, (minimum, wanted, has) in enumerate(sizes):
        has = min(has, room - held)
        held += has
        wishes.append(
            replace(
                _unit(f"e{index}", index),
                minimum=minimum,
                wanted=wanted,
                requested=has,
                in_place={"n": has} if has else {},
            )
        )
    expected, rest = {}, room
    for wish in wishes:
        expected[wish.experiment_id] = min(rest, wish.minimum, wish.wanted)
        rest -= expected[wish.experiment_id]
    for wish in wishes:
        more = min(rest, wish.wanted - expected[wish.experiment_id])
        expected[wish.experiment_id] += more
        rest -= more
    shares = share([node("n", cores=room)], wishes)
    assert {name: one.containers + one.later for name, one in shares.items()} == expected


def _unit(name: str, received: int) -> Demand:
    return Demand(experiment_id=name, created_at=float(received), minimum=0, wanted=0, requested=0, cpu_cores=1.0)


@given(nodes, demands(), nodes)
def test_more_nodes_never_take_from_the_first_in_rank(
    there: list[Node], wishes: list[Demand], more: list[Node]
) -> None:
    """Of its minimum nothing, and of its wish nothing while no other has a minimum to be met before."""
    wishes = sorted(wishes, key=rank)
    larger = [*there, *(replace(one, name=f"more-{one.name}") for one in more)]
    least = [replace(one, wanted=min(one.wanted, one.minimum)) for one in wishes]
    modest = [one if one is wishes[0] else replace(one, minimum=0) for one in wishes]
    for asked in (least, modest):
        if asked:
            first = asked[0].experiment_id
            assert share(larger, asked)[first].containers >= share(there, asked)[first].containers
            assert share(there, asked)[first].later == 0


@given(busy_clusters(), st.randoms(use_true_random=False))
def test_the_order_of_nodes_and_demands_does_not_matter(case: tuple[list[Node], list[Demand]], chance) -> None:  # type: ignore[no-untyped-def]
    there, wishes = case
    shares = share(there, wishes)
    chance.shuffle(there)
    chance.shuffle(wishes)
    assert share(there, wishes) == shares


@given(nodes.filter(bool), demands())
def test_containers_without_reservations_are_not_limited(there: list[Node], wishes: list[Demand]) -> None:
    wishes = [replace(one, cpu_cores=0.0, memory_bytes=0, constraints=()) for one in wishes]
    assert got(share(there, wishes)) == {one.experiment_id: one.wanted for one in wishes}


@given(demands())
def test_everybody_has_what_it_wants_where_all_fits(wishes: list[Demand]) -> None:
    roomy = [node(name, cores=200, gib=200, attributes={"node.labels.z": zone}) for name, zone in ("1a", "2b", "3a")]
    assert got(share(roomy, wishes)) == {one.experiment_id: one.wanted for one in wishes}


@given(busy_clusters())
def test_once_all_was_followed_nothing_shrinks_and_only_what_was_to_come_later_comes(
    case: tuple[list[Node], list[Demand]],
) -> None:
    """What was granted stands, what gave way drains: nothing goes back and forth."""
    there, wishes = case
    wishes = [replace(one, requested=sum(one.in_place.values())) for one in wishes]
    before = share(there, wishes)
    after = []
    for wish in wishes:
        placed = before[wish.experiment_id].placed
        names = {*wish.in_place, *placed}
        in_place = (
            {name: placed.get(name, 0) for name in names} if wish.cpu_cores or wish.memory_bytes else wish.in_place
        )
        gone = {name: max(0, wish.in_place.get(name, 0) - in_place.get(name, 0)) for name in names}
        draining = {name: wish.draining.get(name, 0) + gone.get(name, 0) for name in {*names, *wish.draining}}
        after.append(
            replace(wish, requested=before[wish.experiment_id].containers, in_place=in_place, draining=draining)
        )
    for name, now in share(there, after).items():
        assert before[name].containers <= now.containers <= before[name].containers + before[name].later
