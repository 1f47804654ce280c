"""What reading a description gives."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from jqueuer.model import Experiment, Job

Dialect = Literal["native", "2018-A", "2018-B"]
"""The native format; that of the paper (an image); that of the later code (a service that runs already)."""


@dataclass(frozen=True)
class Description:
    """An experiment, its jobs, and what its author should know."""

    experiment: Experiment
    jobs: Iterable[Job]
    """May be iterated again and again; those of a sweep or an array are made on the way, never held."""
    count: int
    notices: tuple[str, ...] = ()
    dialect: Dialect = "native"
