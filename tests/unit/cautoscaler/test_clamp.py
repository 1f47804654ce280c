from hypothesis import given
from hypothesis import strategies as st

from cautoscaler import Clamped, clamp

numbers = st.integers(0, 1_000_000_000)
limits = st.tuples(st.integers(0, 10_000), st.integers(0, 10_000)).map(lambda pair: (min(pair), max(pair)))


@given(numbers, limits, st.none() | st.integers(0, 10_000))
def test_no_number_leaves_its_limits(number: int, limit: tuple[int, int], jobs_left: int | None) -> None:
    minimum, maximum = limit
    clamped = clamp(number, minimum=minimum, maximum=maximum, jobs_left=jobs_left)
    assert minimum <= clamped.value <= maximum
    assert clamped.original == number
    assert bool(clamped.reason) == (clamped.value != number)
    if jobs_left is not None:
        assert clamped.value <= max(minimum, jobs_left)


def test_it_says_which_limit_it_met() -> None:
    assert clamp(12, minimum=1, maximum=10) == Clamped(12, 10, "limited to the maximum of 10")
    assert clamp(1, minimum=2, maximum=10) == Clamped(1, 2, "raised to the minimum of 2")
    assert clamp(5, minimum=2, maximum=10) == Clamped(5, 5)
    assert clamp(5, minimum=2, maximum=10, jobs_left=3) == Clamped(5, 3, "limited to 3 with 3 jobs left")
    assert clamp(5, minimum=2, maximum=10, jobs_left=1) == Clamped(5, 2, "limited to 2 with 1 job left")


def test_where_the_limits_contradict_each_other_the_maximum_wins() -> None:
    assert clamp(4, minimum=8, maximum=6).value == 6
    assert clamp(7, minimum=8, maximum=6).value == 6
