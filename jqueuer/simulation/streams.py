"""The random numbers of one seed: a stream of its own for each purpose.

Under one seed two policies meet the same jobs, failures and start delays of a scenario (common random numbers): job *i*
is the *i*-th draw of its stream, whatever happens in which order. Two scenarios have nothing in common.
"""

from __future__ import annotations

from array import array
from random import Random

from jqueuer.simulation.distributions import Draw
from jqueuer.simulation.scenario import Scenario


def stream(scenario: Scenario, seed: int, purpose: str) -> Random:
    """The generator for one purpose; the same on every machine."""
    return Random(f"{scenario.name} {seed} {purpose}")  # noqa: S311 (a simulation, not a secret)


def works(scenario: Scenario, seed: int) -> array[float]:
    """Every job's duration without contention, in seconds."""
    draw = scenario.durations.draw(stream(scenario, seed, "durations"))
    return array("d", (draw() for _ in range(scenario.jobs)))


def failures(scenario: Scenario, seed: int) -> bytes | None:
    """How many attempts of every job fail before one would be accomplished; None where none ever fails."""
    if scenario.failing:
        return bytes(scenario.failing)
    chance = scenario.failures
    if not chance:
        return None
    random, most = stream(scenario, seed, "failures").random, min(255, scenario.experiment.on_failure.max_attempts)

    def failing() -> int:
        count = 0
        while count < most and random() < chance:
            count += 1
        return count

    return bytes(failing() for _ in range(scenario.jobs))


def start_delays(scenario: Scenario, seed: int) -> Draw:
    """The containers' start delays in the order in which they are asked for."""
    return scenario.cluster.start_delay.draw(stream(scenario, seed, "start delays"))


def image_pulls(scenario: Scenario, seed: int) -> list[float]:
    """How long every node takes to pull the image."""
    draw = scenario.cluster.image_pull.draw(stream(scenario, seed, "image pulls"))
    return [draw() for _ in range(scenario.cluster.nodes)]
