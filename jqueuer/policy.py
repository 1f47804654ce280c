"""An experiment's policy and what its author says to it; the field names are the keys of ``policy``."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from jqueuer.frozen import Frozen
from jqueuer.kinds import (
    MAX_CONTAINERS,
    PositiveNumber,
    Text,
    TimeOfDay,
    TimeZone,
    Url,
    WholeNumber,
    format_time_of_day,
)
from jqueuer.units import Duration, shown

DAY_SECONDS = 86_400


class Budget(Frozen):
    """What the containers of an experiment may cost: so many container-hours, or an amount of money."""

    container_hours: PositiveNumber | None = None
    money: PositiveNumber | None = None

    @model_validator(mode="before")
    @classmethod
    def _says_of_what(cls, value: Any) -> Any:
        if isinstance(value, str | int | float):
            raise ValueError(f"expected {{container_hours: 12}}, or {{money: 30}} and a price, got {shown(value)}")
        return value

    @model_validator(mode="after")
    def _is_one_amount(self) -> Budget:
        if (self.container_hours is None) == (self.money is None):
            raise ValueError("give either container_hours, or money and a price per container-hour")
        return self

    def container_seconds(self, price: float | None) -> float:
        """What it pays for, at a price per container-hour; :class:`ValueError` for money without one."""
        if self.container_hours is not None:
            return self.container_hours * 3600.0
        if self.money is None or price is None:
            raise ValueError("a budget in money needs the price of a container-hour")
        return self.money / price * 3600.0


class Window(Frozen):
    """A part of the day with its number of containers; one that ends before it begins goes over midnight."""

    start: TimeOfDay = Field(alias="from")
    to: TimeOfDay
    containers: WholeNumber = Field(ge=0, le=MAX_CONTAINERS)

    @model_validator(mode="after")
    def _lasts(self) -> Window:
        if self.start == DAY_SECONDS:
            raise ValueError('24:00 is where a window ends; one that begins at midnight is from "00:00"')
        if self.start == self.to:
            raise ValueError(
                f"from and to are both {format_time_of_day(self.to)}; "
                'a window of the whole day is {from: "00:00", to: "24:00"}'
            )
        return self

    @model_serializer(mode="wrap")
    def _as_written(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        written: dict[str, Any] = write(self)
        return {("from" if key == "start" else key): value for key, value in written.items()}


class Policy(Frozen):
    """How many containers: a policy by name, or a REST service that is asked (paper §III-A). A bare word is a name."""

    name: Text = "deadline-forecast"
    margin: Duration = Field(default=0.0, ge=0)
    containers: WholeNumber | None = Field(default=None, ge=0, le=MAX_CONTAINERS)
    confidence: float = Field(default=0.95, strict=True, ge=0.5, le=0.999)
    on_conflict: Literal["late", "budget", "partial"] = "late"
    budget: Budget | None = None
    price: PositiveNumber | None = None
    jobs_per_container: PositiveNumber = 1
    target: Duration | None = Field(default=None, gt=0)
    schedule: Annotated[tuple[Window, ...], Field(min_length=1, max_length=100)] | None = None
    timezone: TimeZone = "UTC"
    up_cooldown: Duration | None = Field(default=None, ge=0)
    down_cooldown: Duration | None = Field(default=None, ge=0)
    period: Duration | None = Field(default=None, gt=0)
    url: Url | None = None
    timeout: Duration = Field(default=5.0, gt=0, le=60)
    fallback: Text = "deadline-forecast"

    @model_validator(mode="before")
    @classmethod
    def _from_name(cls, value: Any) -> Any:
        return {"name": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _money_has_a_price(self) -> Policy:
        if self.budget is not None and self.budget.money is not None and self.price is None:
            raise ValueError(
                f"the budget is {self.budget.money} of money, but what a container costs is not known: "
                "add price, that of one container-hour in the same currency"
            )
        return self

    @model_serializer(mode="wrap")
    def _name_or_url(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        written: dict[str, Any] = write(self)
        if self.url is not None:
            written.pop("name", None)  # a description may not hold both
        return written
