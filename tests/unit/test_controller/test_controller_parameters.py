"""What a description says to its policy, as CAutoScaler's policies read it."""

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from cautoscaler import DEFAULTS, OnConflict, Parameters, Window
from jqueuer.controller.parameters import parameters_of, utc_offset_seconds
from jqueuer.model import Experiment

SUMMER, WINTER = 1_782_900_000.0, 1_767_225_600.0


def parameters(now: float = WINTER, **policy: Any) -> Parameters:
    return parameters_of(Experiment.model_validate({"policy": policy}), now)


def test_a_description_that_says_nothing_leaves_the_defaults() -> None:
    assert parameters() == DEFAULTS


def test_everything_said_arrives() -> None:
    office = {"from": "08:00", "to": "18:00", "containers": 2}
    night = {"from": "22:00", "to": "06:00", "containers": 9}
    assert parameters(
        containers=3,
        confidence=0.9,
        on_conflict="partial",
        budget={"money": 30},
        price=0.5,
        jobs_per_container=4,
        target="2h",
        schedule=[office, night],
        timezone="-03:30",
        up_cooldown="30s",
        down_cooldown=0,
    ) == Parameters(
        containers=3,
        confidence=0.9,
        on_conflict=OnConflict.PARTIAL,
        budget_container_seconds=216_000.0,
        price_per_container_hour=0.5,
        jobs_per_container=4,
        target_seconds=7200.0,
        windows=(Window(28_800, 64_800, 2), Window(79_200, 21_600, 9)),
        utc_offset_seconds=-12_600,
        up_cooldown_seconds=30.0,
        down_cooldown_seconds=0.0,
    )


@pytest.mark.parametrize(
    ("zone", "winter_hours", "summer_hours"),
    [
        ("UTC", 0, 0),
        ("Europe/Vienna", 1, 2),
        ("America/New_York", -5, -4),
        ("Asia/Kolkata", 5.5, 5.5),
        ("+14:00", 14, 14),
    ],
)
def test_a_time_zone_has_its_offset_of_the_moment(zone: str, winter_hours: float, summer_hours: float) -> None:
    assert utc_offset_seconds(zone, WINTER) == winter_hours * 3600
    assert utc_offset_seconds(zone, SUMMER) == summer_hours * 3600


def test_the_clocks_change_at_the_very_second() -> None:
    """In Vienna, 29 March 2026, 02:00 is followed by 03:00."""
    change = datetime(2026, 3, 29, 1, 0, tzinfo=ZoneInfo("UTC")).timestamp()
    assert [utc_offset_seconds("Europe/Vienna", change + second) for second in (-1, 0)] == [3600, 7200]
