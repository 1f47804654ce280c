"""Who goes first where the cluster is too small for all: one policy per file, found by name.

A new one is a file here with a class under ``@register``, and its import below.
"""

from jqueuer.scheduling.policies import earliest_deadline as earliest_deadline
from jqueuer.scheduling.policies.registry import SharingPolicy as SharingPolicy
from jqueuer.scheduling.policies.registry import get as get
