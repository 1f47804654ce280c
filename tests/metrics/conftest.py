"""One watched system for all tests here."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.metrics.watched import Watched, watched_system


@pytest.fixture(scope="package")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    with watched_system(tmp_path_factory.mktemp("watched")) as watched:
        yield watched
