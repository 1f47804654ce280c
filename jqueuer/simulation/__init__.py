"""Experiments in virtual time, controlled by the very code that controls the cluster.

:func:`simulate` runs a :class:`Scenario` under one seed; :class:`Simulation` does so in parts. Nothing here reads a
clock, draws from a global generator or does I/O, except :mod:`jqueuer.simulation.files`.
"""

from __future__ import annotations

from jqueuer.simulation.driver import Simulation, StuckError, Watching, simulate
from jqueuer.simulation.outcome import Outcome
from jqueuer.simulation.scenario import Change, Cluster, NodeLoss, Scenario

__all__ = [
    "Change",
    "Cluster",
    "NodeLoss",
    "Outcome",
    "Scenario",
    "Simulation",
    "StuckError",
    "Watching",
    "simulate",
]
