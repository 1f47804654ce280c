"""Histograms of durations."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cautoscaler import Bucket, Durations
from cautoscaler.measured import bucket_of

durations = st.lists(st.floats(0.0, 1e7))


def test_neighbouring_buckets_are_nine_percent_apart() -> None:
    assert [bucket_of(seconds) for seconds in (0.0, 0.001, 0.00101, 0.002, 1.0, 1.08, 1.1, 3600.0)] == [
        0, 0, 1, 9, 80, 81, 81, 175,
    ]  # fmt: skip


def test_durations_of_about_the_same_length_share_a_bucket_and_keep_their_sum() -> None:
    assert Durations.of([62.0, 1.0, 1.25, 62.5]).buckets == (Bucket(1, 1.0), Bucket(1, 1.25), Bucket(2, 124.5))


@given(durations, durations)
def test_merging_histograms_is_counting_all_their_durations(first: list[float], second: list[float]) -> None:
    merged = Durations.merged([Durations.of(first), Durations.of(second)])
    assert merged.count == len(first) + len(second)
    assert merged.seconds == pytest.approx(math.fsum(first + second))
    assert list(merged.buckets) == sorted(merged.buckets, key=lambda bucket: bucket.mean_seconds)


def test_buckets_of_the_same_durations_become_one() -> None:
    assert Durations.merged([Durations.of([62.0, 1.0]), Durations.of([62.5])]) == Durations.of([1.0, 62.0, 62.5])


def test_nothing_merged_is_nothing() -> None:
    assert Durations.merged([]) == Durations.merged([Durations()]) == Durations()
