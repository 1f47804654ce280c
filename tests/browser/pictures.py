"""Takes the pictures of the page for the documentation; ``make screenshots`` runs it."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import get_args

from jqueuer.client import Client
from jqueuer.embedded import Embedded
from tests.browser.chromium import Browser, Theme, chromium, why_not
from tests.browser.descriptions import LONG, MIXED, STEADY
from tests.embedded.running import System

FOLDER = Path(__file__).parents[2] / "docs" / "screenshots"
MOST_BYTES = 200_000
WIDTH, HEIGHT = 1180, 860
PHONE = (360, 740)


def main() -> None:
    """Write every page in both themes, and one as a phone shows it."""
    if reason := why_not():
        sys.exit(reason)
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="jqueuer-pictures-") as scratch:
        state = Path(scratch) / "state"
        with Embedded(state) as embedded, Client(embedded.url, token=embedded.token) as api:
            try:
                with chromium(embedded.url, Path(scratch) / "profile") as browser:
                    _take_all(browser, System(embedded, api))
            finally:
                embedded.stop(force=True)


def _take_all(browser: Browser, system: System) -> None:
    browser.open("/login")
    browser.find("#token")
    _both(browser, "login", lambda: browser.find("#token"), height=520)
    browser.log_in(system.embedded.token)
    done = system.submit(MIXED)
    system.api.wait(done)
    long = system.submit(LONG)
    steady = system.submit(STEADY)
    path = f"/experiments/{steady}"
    browser.open(path)
    browser.wait(lambda: system.counts(steady)["failed"] >= 3, "jobs have failed")
    browser.wait(lambda: system.api.experiment(steady)["forecast"], "there is a forecast")
    _both(browser, "experiment", lambda: browser.find(".histogram li"), path=path, height=1420)
    _take(browser, "phone", lambda: browser.find(".histogram li"), path=path, size=PHONE)
    _both(browser, "list", lambda: browser.find(".tone[data-tone=good]"), path="/", height=420)
    _both(browser, "job", lambda: browser.see("ValueError", ".log"), path=f"/experiments/{done}/jobs/small-7")
    _both(browser, "submit", lambda: _describe(browser), path="/submit")
    system.api.make_token("alice", "submitter", expires="90d", note="the lab's workflow engine")
    system.api.make_token("bob", "viewer", note="the screen in the corridor")
    _both(browser, "tokens", lambda: browser.find("table.tokens tr", "bob"), path="/tokens", height=420)
    for one in (long, steady):
        system.api.cancel(one)


def _describe(browser: Browser) -> None:
    browser.paste("#description", STEADY.lstrip())
    browser.see("Yes, with", "#check")


def _both(
    browser: Browser, name: str, ready: Callable[[], object], *, path: str = "/login", height: int = HEIGHT
) -> None:
    for theme in get_args(Theme):
        browser.open(path)
        browser.choose_theme(theme)
        _take(browser, f"{name}-{theme}", ready, path=path, size=(WIDTH, height))


def _take(browser: Browser, name: str, ready: Callable[[], object], *, path: str, size: tuple[int, int]) -> None:
    browser.size(*size)
    browser.open(path)
    ready()
    drawn = "return [...document.querySelectorAll('.chart')].every((one) => one.querySelector('canvas'))"
    browser.wait(lambda: browser.driver.execute_script(drawn), "all charts are drawn")
    file = FOLDER / f"{name}.png"
    browser.driver.save_screenshot(str(file))
    if file.stat().st_size > MOST_BYTES:
        sys.exit(f"{file} has {file.stat().st_size} bytes: {MOST_BYTES} at most")


if __name__ == "__main__":
    main()
