"""One engine for all contracts that need one, started when the first asks for it."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator

import pytest

from tests.contract import job_images
from tests.lab import available
from tests.lab.lab import Lab
from tests.lab.node import Node

_NUMBERS = itertools.count(1_000_000 + 1000 * os.getpid())


@pytest.fixture(scope="session")
def job_node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """A node with the images that jobs meet."""
    available.require()
    with Lab(tmp_path_factory.mktemp("lab"), nodes=1) as lab:
        job_images.bring_all(lab, lab.nodes[0])
        yield lab.nodes[0]


@pytest.fixture
def token() -> str:
    """A number of seconds to sleep that nobody else sleeps: by it a process is known wherever it runs."""
    return str(next(_NUMBERS))
