"""The whole system on this machine, and a browser that looks at it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.chromium import Browser, chromium, why_not
from tests.embedded.running import System
from tests.embedded.running import system as system
from tests.lab.available import require


@pytest.fixture
def stranger(system: System, tmp_path: Path) -> Iterator[Browser]:
    """A browser that is not logged in; whatever it does, the page's scripts make no error."""
    with chromium(system.embedded.url, tmp_path / "profile") as browser:
        yield browser
        assert browser.complaints() == []


@pytest.fixture
def browser(stranger: Browser, system: System) -> Browser:
    """A browser in which an administrator is logged in."""
    stranger.log_in(system.embedded.token)
    return stranger


@pytest.fixture(autouse=True, scope="session")
def _chromium_is_there() -> None:
    require(why_not)
