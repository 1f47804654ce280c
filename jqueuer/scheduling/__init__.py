"""Who gets how much of a cluster that is too small for all: pure, one policy per file."""

from jqueuer.scheduling.cluster import Node as Node
from jqueuer.scheduling.constraints import Constraint as Constraint
from jqueuer.scheduling.constraints import matches as matches
from jqueuer.scheduling.constraints import parse_constraint as parse_constraint
from jqueuer.scheduling.demand import UNKNOWN as UNKNOWN
from jqueuer.scheduling.demand import Demand as Demand
from jqueuer.scheduling.demand import Share as Share
from jqueuer.scheduling.sharing import share as share
