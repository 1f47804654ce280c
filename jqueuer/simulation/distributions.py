"""How long jobs take and containers need to start: the forms a scenario may give, and how they are drawn."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import cycle
from random import Random
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from jqueuer.model import Frozen, PositiveDuration
from jqueuer.units import Duration

SHORTEST_SECONDS = 0.001
"""No draw is shorter, whatever the tail of a distribution says."""

Draw = Callable[[], float]


class Normal(Frozen):
    """Gauss's bell, cut off at a millisecond."""

    mean: PositiveDuration
    deviation: Duration

    @property
    def mean_seconds(self) -> float:
        """Its mean, the cut left aside."""
        return self.mean

    def draw(self, random: Random) -> Draw:
        """Draws from it."""
        mean, deviation = self.mean, self.deviation
        return lambda: max(SHORTEST_SECONDS, random.gauss(mean, deviation))


class LogNormal(Frozen):
    """The logarithm is normal with the deviation ``sigma``; ``mean`` is that of the durations themselves."""

    mean: PositiveDuration
    sigma: float = Field(ge=0, le=5)

    @property
    def mean_seconds(self) -> float:
        """Its mean."""
        return self.mean

    def draw(self, random: Random) -> Draw:
        """Draws from it."""
        mu, sigma = math.log(self.mean) - self.sigma**2 / 2, self.sigma
        return lambda: math.exp(random.gauss(mu, sigma))


class Pareto(Frozen):
    """A heavy tail: twice as long is 2**alpha times as rare. Given by its ``minimum``, or its ``mean`` (alpha > 1)."""

    alpha: float = Field(gt=0, le=100)
    minimum: PositiveDuration | None = None
    mean: PositiveDuration | None = None

    @model_validator(mode="after")
    def _minimum_or_mean(self) -> Pareto:
        if (self.minimum is None) == (self.mean is None):
            raise ValueError("give either minimum or mean")
        if self.mean is not None and self.alpha <= 1:
            raise ValueError(f"there is no mean with alpha {self.alpha:g}: give an alpha above 1, or minimum")
        return self

    @property
    def shortest_seconds(self) -> float:
        """Nothing is shorter."""
        if self.minimum is not None:
            return self.minimum
        assert self.mean is not None  # noqa: S101 (one of the two is given)
        return self.mean * (self.alpha - 1) / self.alpha

    @property
    def mean_seconds(self) -> float:
        """Its mean; infinite with an alpha of 1 or less."""
        return self.shortest_seconds * self.alpha / (self.alpha - 1) if self.alpha > 1 else math.inf

    def draw(self, random: Random) -> Draw:
        """Draws from it."""
        shortest, alpha = self.shortest_seconds, self.alpha
        return lambda: shortest * random.paretovariate(alpha)


class Bimodal(Frozen):
    """Two kinds of jobs; with ``sigma`` each kind is log-normal around its mean."""

    short: PositiveDuration
    long: PositiveDuration
    share_long: float = Field(ge=0, le=1)
    sigma: float = Field(default=0.0, ge=0, le=5)

    @property
    def mean_seconds(self) -> float:
        """The mean over both kinds."""
        return self.short + (self.long - self.short) * self.share_long

    def draw(self, random: Random) -> Draw:
        """Draws from it; always two numbers, so that streams stay in step."""
        short, long, share, sigma = self.short, self.long, self.share_long, self.sigma
        shift = -(sigma**2) / 2
        return lambda: (long if random.random() < share else short) * math.exp(random.gauss(shift, sigma))


class CsvColumn(Frozen):
    """A column of a CSV file beside the scenario; :mod:`jqueuer.simulation.files` puts the numbers in its place."""

    file: str
    column: str


class Distribution(BaseModel):
    """One of the forms: ``{log-normal: {mean: 60s, sigma: 0.5}}``; a bare duration is a constant."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, populate_by_name=True)

    constant: Duration | None = None
    normal: Normal | None = None
    log_normal: LogNormal | None = Field(default=None, alias="log-normal")
    pareto: Pareto | None = None
    bimodal: Bimodal | None = None
    values: Annotated[tuple[Duration, ...], Field(min_length=1)] | None = Field(default=None, alias="list")
    """In this order, from the start again when used up."""
    csv: CsvColumn | None = None

    @model_validator(mode="before")
    @classmethod
    def _from_constant(cls, value: Any) -> Any:
        return {"constant": value} if isinstance(value, str | int | float) else value

    @model_validator(mode="after")
    def _exactly_one(self) -> Distribution:
        given = [
            field.alias or name for name, field in type(self).model_fields.items() if getattr(self, name) is not None
        ]
        forms = ", ".join(field.alias or name for name, field in type(self).model_fields.items())
        if len(given) != 1:
            raise ValueError(f"give exactly one of {forms}; got {' and '.join(given) or 'none'}")
        if self.csv is not None:
            raise ValueError(f"the file {self.csv.file!r} was not read; jqueuer.simulation.files.load reads it")
        return self

    @property
    def mean_seconds(self) -> float:
        """The mean."""
        if self.constant is not None:
            return self.constant
        if self.values is not None:
            return sum(self.values) / len(self.values)
        return self._drawn.mean_seconds

    def draw(self, random: Random) -> Draw:
        """Durations in seconds, one per call."""
        if self.constant is not None:
            constant = self.constant
            return lambda: constant
        if self.values is not None:
            return cycle(self.values).__next__
        return self._drawn.draw(random)

    @property
    def _drawn(self) -> Normal | LogNormal | Pareto | Bimodal:
        form = self.normal or self.log_normal or self.pareto or self.bimodal
        assert form is not None  # noqa: S101 (exactly one is given)
        return form
