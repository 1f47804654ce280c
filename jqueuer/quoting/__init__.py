"""The quote: whether a deadline can be kept before anything is submitted, what that costs, and what could be promised.

::

    description, workload, history ─► situation ─► forecast for every number of containers ─► curve
                                                       the fewest that keep deadline and budget ─► feasible?
                                                       the earliest deadline that some number keeps ─► counter-offer

Pure. The post command is not part of it, nor is whether the cluster has room for so many containers.
"""

from __future__ import annotations

from jqueuer.quoting.offers import InfeasibleError, Offer, Quote
from jqueuer.quoting.working_out import quote, rounded_up
from jqueuer.quoting.workload import Workload, read_lines, workload_of

__all__ = ["InfeasibleError", "Offer", "Quote", "Workload", "quote", "read_lines", "rounded_up", "workload_of"]
