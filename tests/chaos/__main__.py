"""Break everything of a real Swarm, again and again, while an experiment runs on it: ``python -m tests.chaos``.

Starts a Swarm of three nodes from nothing (root on Debian) with the project's own stack. Progress goes to stderr;
stdout is one table and, as its last line, one JSON object. The exit status is 0 where nothing was lost or doubled, and
no attempt was made that no fault explains.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
from pathlib import Path

import stamina.instrumentation

from tests.chaos.accounting import Injection
from tests.chaos.diary import Diary
from tests.chaos.report import last_line, progress, table
from tests.chaos.running import Plan, Result, Run
from tests.chaos.schedule import schedule
from tests.chaos.swarm_world import SwarmWorld
from tests.lab import available
from tests.lab.cluster import Cluster, cluster_of

_NEVER_POISON = {"JQUEUER_MAX_LOST_ATTEMPTS": "1000"}
_SHARE = 0.9
"""Of the jobs, so many are accomplished before the last fault at least."""


def main() -> int:
    """Run it; the exit status."""
    options = _options()
    if reason := available.why_not():
        _say(reason)
        return 1
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("told to stop"))  # or its nodes would go on
    os.environ.update(_NEVER_POISON)
    stamina.instrumentation.set_on_retry_hooks(())  # that the manager is away now and then is what this is about
    with tempfile.TemporaryDirectory(prefix="chaos-") as directory, cluster_of(Path(directory)) as cluster:
        try:
            result = _run(cluster, options)
        finally:
            if options.logs is not None:
                _keep_logs(cluster, options.logs)
    for line in table(result):
        print(line)  # noqa: T201
    print(last_line(result, options.seed))  # noqa: T201
    return 0 if result.sound else 1


def _run(cluster: Cluster, options: argparse.Namespace) -> Result:
    world = SwarmWorld(cluster, options.containers)
    kinds = [kind for kind in world.kinds if options.only in kind.name]
    plan = Plan(
        jobs=options.jobs,
        shortest_seconds=0.2,
        longest_seconds=5.0,
        jobs_per_fault=int(_SHARE * options.jobs / options.faults),
        seed=options.seed,
    )
    diary = Diary(world.diary_file, world.diary_seen_as)
    faults = schedule(options.seed, options.faults, kinds)
    _say(f"seed {options.seed}: {options.jobs} jobs, {options.faults} faults")
    return Run(world, diary, plan, faults, watch=_tell).run()


def _tell(injection: Injection) -> None:
    _say(progress(injection))


def _keep_logs(cluster: Cluster, target: Path) -> None:
    """Whatever the containers printed, by node."""
    root = cluster.lab.directory
    for log in root.glob("node*/data/containers/*/*-json.log"):
        node, container = log.relative_to(root).parts[0], log.parent.name
        (target / node).mkdir(parents=True, exist_ok=True)
        shutil.copy(log, target / node / f"{container[:12]}.log")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.chaos", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000), help="of the schedule and the jobs")
    parser.add_argument("--faults", type=int, default=60)
    parser.add_argument("--jobs", type=int, default=1000)
    parser.add_argument("--containers", type=int, default=6, help="of the experiment, over three nodes")
    parser.add_argument("--only", default="", help="kinds of faults whose names contain this")
    parser.add_argument("--logs", type=Path, help="where to keep what all containers printed")
    return parser.parse_args()


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
