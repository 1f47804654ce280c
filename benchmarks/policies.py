"""All policies over the scenario suite: who keeps the deadlines, at what cost, and is the forecast right?

Every scenario of ``experiments/scenarios/suite/`` under every policy and 20 seeds, in virtual time, on all cores. The
cost is container-seconds ÷ the clairvoyant bound of the same seed. The last line is one JSON object::

    python -m benchmarks.policies --only seismic-inversion --policy deadline-forecast --seeds 5

``met``: the share of deadlines met over the feasible scenarios; ``median_cost_ratio``: the median over the feasible
scenarios of their medians over the seeds; ``worst_cost_ratio``: the greatest of the medians of the loose ones.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing import get_context

from benchmarks import report, suite
from benchmarks.calibration import QUANTILES, Mark, run_with_marks, shares
from benchmarks.simulation import events_per_second
from jqueuer.simulation import Simulation
from jqueuer.simulation.bound import bound

SEEDS = 20
FORECASTS = "deadline-forecast"
"""The policy whose runs the forecasts are checked in."""


@dataclass(frozen=True, slots=True)
class Case:
    """One simulation."""

    scenario: str
    policy: str
    seed: int
    calibrated: bool


def run(case: Case) -> tuple[report.Result, tuple[Mark, ...]]:
    """One policy in one scenario under one seed."""
    scenario = suite.scenario(case.scenario)
    simulation = Simulation(
        scenario,
        policy=suite.policy(case.policy, scenario),
        seed=case.seed,
        scale_down=suite.scale_down(case.policy, scenario),
    )
    marks: tuple[Mark, ...] = ()
    if case.calibrated:
        marks = run_with_marks(simulation, scenario.jobs)
    else:
        simulation.run()
    outcome, least = simulation.outcome(), bound(scenario, case.seed)
    result = report.Result(
        scenario=case.scenario,
        policy=case.policy,
        seed=case.seed,
        met=bool(outcome.deadline_met),
        cost_ratio=None if least is None else outcome.container_seconds / least.container_seconds,
        killed=outcome.killed,
        scale_actions=outcome.scale_actions,
    )
    return result, marks


def measure(
    scenarios: Sequence[str], policies: Sequence[str], seeds: int, *, calibrated: bool
) -> tuple[list[report.Result], dict[str, list[Mark]], dict[str, suite.Limits]]:
    """Every case, on all cores; the marks by scenario, and what each scenario allows at all."""
    cases = [
        Case(scenario, policy, seed, calibrated and policy == FORECASTS)
        for policy in sorted(policies, key=lambda policy: policy != FORECASTS)  # the long ones first
        for scenario in sorted(scenarios, key=lambda scenario: -suite.scenario(scenario).jobs)
        for seed in range(seeds)
    ]
    results, marks = list[report.Result](), {scenario: list[Mark]() for scenario in scenarios}
    # many small objects that live long: collecting garbage as often as usual would take a tenth of the time
    with get_context("fork").Pool(os.cpu_count(), gc.set_threshold, (50_000,)) as pool:
        limits = pool.map_async(suite.limits, scenarios, chunksize=1)
        for number, (result, found) in enumerate(pool.imap_unordered(run, cases, chunksize=4), start=1):
            results.append(result)
            marks[result.scenario] += found
            if sys.stderr.isatty():
                print(f"\r{number} of {len(cases)} simulations", end="", file=sys.stderr)
        if sys.stderr.isatty():
            print(file=sys.stderr)
        return results, marks, dict(zip(scenarios, limits.get(), strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=suite.names(), help="only these scenarios")
    parser.add_argument("--policy", nargs="+", metavar="NAME", choices=suite.POLICIES, help="only these policies")
    parser.add_argument("--seeds", type=int, default=SEEDS, metavar="N", help=f"so many seeds; {SEEDS} without")
    parser.add_argument("--no-calibration", action="store_true", help="do not check the forecasts")
    parser.add_argument("--no-speed", action="store_true", help="do not measure events per second")
    options = parser.parse_args()
    scenarios, policies = sorted(options.only or suite.names()), sorted(options.policy or suite.POLICIES)
    started = time.perf_counter()
    results, marks, limits = measure(scenarios, policies, options.seeds, calibrated=not options.no_calibration)
    rate = None if options.no_speed or options.only else events_per_second()
    seconds = time.perf_counter() - started
    print("\n".join(report.comparison(results, limits, policies)))
    everything = [mark for found in marks.values() for mark in found]
    if everything:
        print("\n".join(report.calibration(marks)))
    overall = shares(everything) if everything else ()
    calibrated = {f"{one:g}": round(share, 4) for one, share in zip(QUANTILES, overall, strict=bool(overall))}
    line = {
        "bench": "policies",
        "seconds": round(seconds, 1),
        "policies": {policy: report.totals(results, limits, policy) for policy in policies},
        "calibration": calibrated,
        "events_per_second": rate and round(rate),
    }
    print(json.dumps(line))


if __name__ == "__main__":
    main()
