from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jqueuer.units import (
    MAX_DURATION_SECONDS,
    MAX_SIZE_BYTES,
    format_deadline,
    format_duration,
    format_size,
    parse_deadline,
    parse_duration,
    parse_size,
    shown,
)
from tests.strategies import deadlines


@given(st.floats(0, MAX_DURATION_SECONDS) | st.integers(0, int(MAX_DURATION_SECONDS)).map(float))
def test_a_duration_is_read_back_exactly(seconds: float) -> None:
    assert parse_duration(format_duration(seconds)) == seconds


@given(st.integers(0, MAX_SIZE_BYTES))
def test_a_size_is_read_back_exactly(size_bytes: int) -> None:
    assert parse_size(format_size(size_bytes)) == size_bytes


@given(deadlines)
def test_a_deadline_is_read_back_exactly(deadline: float | datetime) -> None:
    assert parse_deadline(format_deadline(deadline)) == deadline


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90s", 90),
        ("1h30m", 5400),
        ("1.5h", 5400),
        ("250ms", 0.25),
        ("2d", 172_800),
        ("PT1H30M", 5400),
        ("p1dt1s", 86_401),
    ],
)
def test_durations_are_read_as_people_write_them(text: str, seconds: float) -> None:
    assert parse_duration(text) == parse_duration(seconds) == seconds


@pytest.mark.parametrize(
    "value",
    [
        "",
        "5",
        "m",
        "-5m",
        "1h 30m",
        "P",
        "PT",
        "1y",
        "٣s",
        True,
        None,
        [],
        float("nan"),
        10**400,
        "9" * 5000 + "s",
        "367d",
    ],
)
def test_what_is_no_duration_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="expected a duration"):
        parse_duration(value)


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [
        ("200MiB", 200 * 1024**2),
        ("200mb", 200_000_000),
        ("1.5GiB", 3 * 512 * 1024**2),
        ("7", 7),
        ("7B", 7),
        ("1 TB", 10**12),
    ],
)
def test_sizes_are_read_as_people_write_them(text: str, size_bytes: int) -> None:
    assert parse_size(text) == size_bytes


@pytest.mark.parametrize("value", ["", "lots", "-1MB", "1iB", -1, 1.5, True, 10**30, "9" * 5000, "9999999TiB"])
def test_what_is_no_size_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="expected a size"):
        parse_size(value)


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("2030-12-31T18:00:00", "lacks its time zone"),
        ("2030-12-31", "lacks its time zone"),
        ("2030-02-30T00:00Z", "expected a date and time"),
        ("1999-12-31T00:00Z", "expected a year between"),
        (0, "after the start"),
        ("tomorrow", "expected a duration"),
    ],
)
def test_what_is_no_deadline_is_refused(value: object, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        parse_deadline(value)


@pytest.mark.parametrize("value", ["x" * 10_000, 10**500, {"a": "x" * 1000}, ["x"] * 1000, None, 1.5, True])
def test_values_in_messages_are_short(value: object) -> None:
    assert 0 < len(shown(value)) <= 64
