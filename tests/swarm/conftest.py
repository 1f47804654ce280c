"""One cluster for all tests on a real Swarm: three nodes, the project's own images and stack, started from nothing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.lab import available
from tests.lab.cluster import Cluster, cluster_of

__all__ = ["Cluster"]


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A Swarm of one manager and two workers, the stack on it; skipped with the reason where it cannot run."""
    available.require()
    with cluster_of(tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster
