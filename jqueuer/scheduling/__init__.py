"""Who gets how much of a cluster that is too small for all: pure, one policy per file."""

from jqueuer.scheduling.cluster import Node as Node
