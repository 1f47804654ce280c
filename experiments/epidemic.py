"""One scenario of an infectious disease in a small town, simulated person by person.

Every day each person goes to one place, near home or anywhere, and may be infected by those who are there too.
A person is susceptible, exposed, infectious, then recovered; the vaccinated are immune from the start. A scenario
ends when nobody is ill any more, so an epidemic that takes its time also takes the most to compute.

With people spread evenly, one infectious person infects ``beta`` others a day while nobody is immune, so an
epidemic needs ``beta × infectious days × (1 − vaccinated) > 1``.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

SUSCEPTIBLE, EXPOSED, INFECTIOUS, IMMUNE = range(4)
NEIGHBOURHOOD = (-2, -1, 0, 1, 2)
"""Which places, counted from home along the street, a person who stays near home may go to."""


@dataclass(frozen=True)
class Scenario:
    """The parameters of one run; durations are days, shares lie between 0 and 1."""

    beta: float
    """Transmission rate: infections caused by one infectious person per day among susceptible people."""
    vaccinated: float = 0.0
    seed: int = 1
    latent_days: float = 2.0
    infectious_days: float = 5.0
    travelling: float = 0.5
    """Chance that a person goes anywhere in town today, not just near home."""
    population: int = 14_000
    group: int = 10
    """People at one place on the average day."""
    first_cases: int = 20
    days: int = 365
    """The end, even if somebody is still ill."""


@dataclass(frozen=True)
class Result:
    """What became of the town."""

    final_size: float
    """Share of the population that was ever infected, first cases included."""
    infected: int
    peak: int
    """The most people infectious on one day."""
    peak_day: int
    last_day: int
    """The last day on which anybody was exposed or infectious."""


def simulate(scenario: Scenario) -> Result:
    """Run one scenario; equal scenarios give equal results."""
    draw = random.Random(scenario.seed)
    chance = draw.random
    population = scenario.population
    places = max(1, round(population / scenario.group))
    homes = [person * places // population for person in range(population)]
    health = _first_day(scenario, draw)
    meeting_rate = scenario.beta * places / population
    fall_ill, recover = 1 / scenario.latent_days, 1 / scenario.infectious_days
    peak, peak_day, last_day = health.count(INFECTIOUS), 0, 0

    for day in range(1, scenario.days + 1):
        where = [
            int(chance() * places)
            if chance() < scenario.travelling
            else (home + NEIGHBOURHOOD[int(chance() * len(NEIGHBOURHOOD))]) % places
            for home in homes
        ]
        sick_at = [0] * places
        for place, state in zip(where, health, strict=True):
            if state == INFECTIOUS:
                sick_at[place] += 1
        staying_well = [math.exp(-meeting_rate * sick) for sick in sick_at]
        for person, state in enumerate(health):
            if state == SUSCEPTIBLE:
                if (well := staying_well[where[person]]) < 1 and chance() >= well:
                    health[person] = EXPOSED
            elif state == EXPOSED:
                if chance() < fall_ill:
                    health[person] = INFECTIOUS
            elif state == INFECTIOUS and chance() < recover:
                health[person] = IMMUNE
        infectious = health.count(INFECTIOUS)
        if infectious > peak:
            peak, peak_day = infectious, day
        if not infectious and EXPOSED not in health:
            break
        last_day = day

    infected = population - health.count(SUSCEPTIBLE) - _vaccinations(scenario)
    return Result(infected / population, infected, peak, peak_day, last_day)


def _vaccinations(scenario: Scenario) -> int:
    return min(round(scenario.vaccinated * scenario.population), scenario.population - scenario.first_cases)


def _first_day(scenario: Scenario, draw: random.Random) -> list[int]:
    """The state of every person before day 1: first cases and vaccinations fall on people at random."""
    vaccinations = _vaccinations(scenario)
    others = scenario.population - scenario.first_cases - vaccinations
    health = [INFECTIOUS] * scenario.first_cases + [IMMUNE] * vaccinations + [SUSCEPTIBLE] * others
    draw.shuffle(health)
    return health


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"expected a number, got {text!r}")
    return value


def _rate(text: str) -> float:
    if (value := _number(text)) < 0:
        raise argparse.ArgumentTypeError(f"expected a rate of 0 or more, got {text!r}")
    return value


def _share(text: str) -> float:
    if not 0 <= (value := _number(text)) <= 1:
        raise argparse.ArgumentTypeError(f"expected a share between 0 and 1, got {text!r}")
    return value


def _days(text: str) -> float:
    if (value := _number(text)) < 1:
        raise argparse.ArgumentTypeError(f"expected 1 day or more, got {text!r}")
    return value


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number of 1 or more, got {text!r}")
    return int(text)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description="Simulate an infectious disease in a small town, person by person, and write what became of it.",
        epilog="example: epidemic.py --beta 0.4 --vaccinated 0.2 --seed 7",
    )
    option = parser.add_argument
    option("--beta", type=_rate, required=True, help="infections caused per infectious person and day")
    option("--vaccinated", type=_share, default=Scenario.vaccinated, help="share immune from the start (%(default)s)")
    option("--seed", type=int, default=Scenario.seed, help="equal seeds give equal runs (%(default)s)")
    option("--latent-days", type=_days, default=Scenario.latent_days, help="mean days until infectious (%(default)s)")
    option("--infectious-days", type=_days, default=Scenario.infectious_days, help="mean days infectious (%(default)s)")
    option("--travelling", type=_share, default=Scenario.travelling, help="chance to leave the quarter (%(default)s)")
    option("--population", type=_count, default=Scenario.population, help="people in town (%(default)s)")
    option("--group", type=_count, default=Scenario.group, help="people at a place on average (%(default)s)")
    option("--first-cases", type=_count, default=Scenario.first_cases, help="infectious on day 0 (%(default)s)")
    option("--days", type=_count, default=Scenario.days, help="days simulated at most (%(default)s)")
    option("--output", type=Path, default=Path("result.json"), help="where the result is written (%(default)s)")
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Run the scenario the arguments describe; 0, or 1 where the result cannot be written."""
    parser = _parser()
    options = vars(parser.parse_args(arguments))
    output: Path = options.pop("output")
    scenario = Scenario(**options)
    if scenario.first_cases > scenario.population:
        parser.error(f"{scenario.first_cases} first cases do not fit into a population of {scenario.population}")
    result = simulate(scenario)
    try:
        output.write_text(json.dumps({**asdict(scenario), **asdict(result)}, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        print(f"epidemic.py: cannot write {output}: {error.strerror}", file=sys.stderr)
        return 1
    print(f"{result.infected} of {scenario.population} people infected, at most {result.peak} at once")
    return 0


if __name__ == "__main__":
    sys.exit(main())
