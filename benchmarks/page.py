"""How soon the page of an experiment of 100,000 jobs is there, and what five open pages cost the manager.

A real Chromium loads the page, with an empty cache and again with a full one; the page itself notes when its first jobs
can be read, and when its last chart is drawn. Then five windows in two browsers look on while a job ends and another
begins all the time; what the manager takes of a core is compared with the same time before, when nobody looked.
Browser, jobs and manager share the cores. The last line is one JSON object.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median

from jqueuer.client import Client
from jqueuer.embedded import Embedded
from tests.browser.chromium import Browser, chromium, why_not
from tests.processes import descendants

JOBS = int(os.environ.get("BENCH_JOBS", "100000"))
SECONDS = float(os.environ.get("BENCH_SECONDS", "60"))
LOADS = 7
WINDOWS = (3, 2)
"""In each browser; more than three of one share the streams of the others."""
_DESCRIPTION = {
    "name": "page",
    "deadline": "30h",
    "containers": {"min": 4, "max": 4},
    "estimate": "2s",
    "policy": {"name": "fixed", "containers": 4},
    "sweep": {
        "parameters": {"n": {"from": 1, "to": JOBS, "step": 1}},
        "job": {"command": ["sleep", "2"]},
    },
}
_NOTE_THE_TIME = """
window.noted = {};
const look = () => {
  const charts = [...document.querySelectorAll(".chart")];
  if (!noted.readable && document.querySelector("#jobs tbody tr")) noted.readable = performance.now();
  const all = charts.length > 1 && charts.every((one) => one.querySelector("canvas"));
  if (noted.readable && all && !document.querySelector("main .waiting")) noted.drawn = performance.now();
  else requestAnimationFrame(look);
};
requestAnimationFrame(look);
"""
_TICKS = os.sysconf("SC_CLK_TCK")


def main() -> None:
    if reason := why_not():
        sys.exit(reason)
    with (
        tempfile.TemporaryDirectory(prefix="bench-page-") as directory,
        Embedded(Path(directory) / "state") as system,
        Client(system.url, token=system.token, timeout=600) as api,
    ):
        path = f"/experiments/{api.submit_bytes(json.dumps(_DESCRIPTION).encode(), 'application/json')['id']}"
        _begun(api, path.rpartition("/")[2])
        manager = system.pids["jqueuer_manager"]
        alone = _share_of_a_core(manager)
        with _browser(system, Path(directory) / "first") as first:
            empty = [_load(first, path, empty_cache=True) for _ in range(LOADS)]
            full = [_load(first, path, empty_cache=False) for _ in range(LOADS)]
            with _browser(system, Path(directory) / "second") as second:
                for browser, windows in zip((first, second), WINDOWS, strict=True):
                    _open(browser, path, windows)
                looked_at = _share_of_a_core(manager)
        system.stop(force=True)
    line = {
        "bench": "page",
        "jobs": JOBS,
        "loaded_ms": {"empty_cache": _medians(empty), "full_cache": _medians(full)},
        "windows": sum(WINDOWS),
        "manager_percent_of_a_core": {
            "nobody_looks": round(100 * alone, 1),
            "five_look": round(100 * looked_at, 1),
            "for_the_five": round(100 * (looked_at - alone), 1),
        },
    }
    print(json.dumps(line))


def _begun(api: Client, experiment_id: str) -> None:
    """Wait until all jobs are published and some are done: then the manager is at rest, and there is much to draw."""
    while api.experiment(experiment_id)["jobs"]["accomplished"] < 20:
        time.sleep(1)


@contextmanager
def _browser(system: Embedded, profile: Path) -> Iterator[Browser]:
    with ExitStack() as stack:
        browser = stack.enter_context(chromium(system.url, profile))
        browser.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": _NOTE_THE_TIME})
        browser.log_in(system.token)
        yield browser


def _load(browser: Browser, path: str, *, empty_cache: bool) -> dict[str, float]:
    """Milliseconds from the beginning of a navigation."""
    browser.open("/static/icon.svg")
    if empty_cache:
        browser.driver.execute_cdp_cmd("Network.clearBrowserCache", {})
    browser.open(path)
    browser.wait(lambda: browser.driver.execute_script("return noted.drawn"), "everything is drawn")
    noted: dict[str, float] = browser.driver.execute_script("return noted")
    return noted


def _open(browser: Browser, path: str, windows: int) -> None:
    for number in range(windows):
        if number:
            browser.driver.switch_to.new_window("window")
        browser.open(path)
        browser.find("#jobs tbody tr")


def _share_of_a_core(manager: int) -> float:
    began, before = time.monotonic(), _cpu_seconds(manager)
    time.sleep(SECONDS)
    return (_cpu_seconds(manager) - before) / (time.monotonic() - began)


def _cpu_seconds(manager: int) -> float:
    """Of the manager's processes together."""
    ticks = 0
    for pid in (manager, *descendants(manager)):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / _TICKS


def _medians(loads: list[dict[str, float]]) -> dict[str, float]:
    return {
        "jobs_readable": round(median(one["readable"] for one in loads)),
        "all_drawn": round(median(one["drawn"] for one in loads)),
        "worst": round(max(one["drawn"] for one in loads)),
    }


if __name__ == "__main__":
    main()
