"""Globs over paths of a container: what they match, and that no glob keeps an agent busy."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jqueuer_agent.adapters.docker import globs

PARTS = st.lists(st.sampled_from(["a", "b", "ab"]), min_size=1, max_size=5).map("/".join)
PATTERNS = st.lists(st.sampled_from(["**", "**", "a", "b", "*", "?"]), min_size=1, max_size=5).map("/".join)


@pytest.mark.parametrize(
    ("pattern", "names", "others"),
    [
        ("*.csv", ["1.csv"], ["a/1.csv", "1.txt"]),
        ("**/*.csv", ["1.csv", "a/1.csv", "a/b/1.csv"], ["a/1.txt"]),
        ("a/**", ["a", "a/b", "a/b/c"], ["b", "b/a"]),
        ("**/a/**/b", ["a/b", "x/a/y/z/b", "a/a/b/b"], ["a", "b/a", "a/b/c"]),
    ],
)
def test_what_globs_match(pattern: str, names: list[str], others: list[str]) -> None:
    assert all(globs.matches(pattern, name) for name in names)
    assert not any(globs.matches(pattern, name) for name in others)


@given(PATTERNS, PARTS, PARTS)
def test_what_is_left_of_a_glob_below_a_path_matches_what_the_glob_matches_there(
    pattern: str, above: str, below: str
) -> None:
    left = [rest for rest in globs.rests(pattern, above) if rest]
    assert any(globs.matches(rest, below) for rest in left) == globs.matches(pattern, f"{above}/{below}")


def test_a_glob_of_many_wildcards_over_a_deep_path_is_answered() -> None:
    """There are more ways to divide the path among the wildcards than could ever be tried."""
    assert not globs.matches("/".join(["**/a"] * 100 + ["x"]), "/".join(["a"] * 200))
    assert globs.matches("/".join(["**/a"] * 100), "/".join(["a"] * 200))
