"""The experiment controller as a pure step: an observation in, commands out.

Whoever drives it looks at the experiment, calls :func:`step`, carries the commands out in order, and looks again after
a pause. See :func:`step` for what happens when a command fails.
"""

from __future__ import annotations

from jqueuer.controller.clock import shifted
from jqueuer.controller.commands import (
    AskPolicy,
    CancelQueued,
    Command,
    Commands,
    CreateService,
    DeleteQueue,
    DestroyService,
    Finish,
    Hedge,
    Journal,
    MoveTo,
    PublishNext,
    QueuePost,
    ReplaceContainers,
    RepublishQueued,
    ScaleService,
    Settle,
)
from jqueuer.controller.control import step
from jqueuer.controller.demanding import demand_of
from jqueuer.controller.forecasting import Forecast, forecast_of
from jqueuer.controller.observation import ControllerState, Observation
from jqueuer.controller.situation import phase_of, policy_name
from jqueuer.controller.waiting import waits_for

__all__ = [
    "AskPolicy",
    "CancelQueued",
    "Command",
    "Commands",
    "ControllerState",
    "CreateService",
    "DeleteQueue",
    "DestroyService",
    "Finish",
    "Forecast",
    "Hedge",
    "Journal",
    "MoveTo",
    "Observation",
    "PublishNext",
    "QueuePost",
    "ReplaceContainers",
    "RepublishQueued",
    "ScaleService",
    "Settle",
    "demand_of",
    "forecast_of",
    "phase_of",
    "policy_name",
    "shifted",
    "step",
    "waits_for",
]
