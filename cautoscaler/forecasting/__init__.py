"""The forecast: the distribution of the finish for every number of containers, from what was observed so far.

::

    durations, ages, estimate ─► job_times (posterior predictive) ─► paths (the work left, drawn) ─┐
    durations by busy containers ─► contention ────────────────────────────────────────────────────┤
                                                                choice ◄─ finish (list scheduling) ◄┘

Everything is a function of the situation: the draws are the same every time.
"""

from __future__ import annotations

from cautoscaler.forecasting.choice import Choice, choose, fewest
from cautoscaler.forecasting.finish import MANY_PATHS, PATHS, Finish, FinishModel
from cautoscaler.forecasting.job_times import JobTimes, job_times

__all__ = ["MANY_PATHS", "PATHS", "Choice", "Finish", "FinishModel", "JobTimes", "choose", "fewest", "job_times"]
