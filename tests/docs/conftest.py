"""The site, built once for all tests that look at it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.site import ROOT, build


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What is built of the documentation as it stands."""
    built = tmp_path_factory.mktemp("site")
    done = build(ROOT, built)
    assert done.returncode == 0, done.stderr
    return built
