"""Changing a running experiment: what may be asked for, and what it comes to."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from jqueuer.errors import DescriptionError, Fault
from jqueuer.model import MAX_CONTAINERS
from jqueuer.records import ExperimentRecord
from jqueuer.units import Deadline, format_duration


class ContainersChange(BaseModel):
    """New limits; one that is not given stays."""

    model_config = ConfigDict(extra="forbid")

    min: Annotated[int, Field(ge=0, le=MAX_CONTAINERS, strict=True)] | None = None
    max: Annotated[int, Field(ge=1, le=MAX_CONTAINERS, strict=True)] | None = None


class Change(BaseModel):
    """What to change; what is not given stays."""

    model_config = ConfigDict(extra="forbid")

    deadline: Deadline | None = None
    containers: ContainersChange = ContainersChange()


def change_schema() -> dict[str, Any]:
    """The JSON Schema of a change, in one piece."""
    schema = Change.model_json_schema()
    schema["properties"]["containers"] = schema.pop("$defs")["ContainersChange"]
    return schema


@dataclass(frozen=True)
class Amendment:
    """A change that was checked; what is None stays."""

    deadline_at: float | None
    minimum: int | None
    maximum: int | None
    reason: str


def amendment(wish: Change, record: ExperimentRecord, now: float, *, by: str) -> Amendment:
    """What a wish comes to for this experiment; :class:`DescriptionError` where it makes no sense."""
    limits = wish.containers
    minimum = record.description.containers.min if limits.min is None else limits.min
    maximum = record.description.containers.max if limits.max is None else limits.max
    deadline_at = _deadline_at(wish.deadline, record)
    faults = []
    if minimum > maximum:
        faults.append(Fault("containers", f"expected min ≤ max, got min {minimum} and max {maximum}"))
    if deadline_at is not None and deadline_at <= now:
        faults.append(Fault("deadline", f"expected a deadline to come, this one passed {now - deadline_at:.0f} s ago"))
    parts = []
    if deadline_at is not None:
        seconds = round(deadline_at - record.created_at, 3)
        parts.append(f"the deadline to {format_duration(max(0.0, seconds))} after the start")
    if limits.min is not None or limits.max is not None:
        parts.append(f"the containers to {minimum}..{maximum}")
    if not parts:
        faults.append(Fault("", "expected a deadline, or containers with min or max"))
    if faults:
        raise DescriptionError(tuple(faults))
    return Amendment(deadline_at, limits.min, limits.max, f"{by} changed {' and '.join(parts)}")


def _deadline_at(deadline: float | datetime | None, record: ExperimentRecord) -> float | None:
    if isinstance(deadline, datetime):
        return deadline.timestamp()
    return None if deadline is None else record.created_at + deadline
