"""How fast the simulator is: job events per second, and what a million jobs take. The last line is one JSON object."""

from __future__ import annotations

import json
import resource
import time
from multiprocessing import get_context

from jqueuer.simulation import Outcome, Scenario, simulate

POLICY = "deadline-paper"
"""One that thinks little: what is measured is the simulator, with the controller in it."""
JOBS = 200_000
MANY_JOBS = 1_000_000


def large(jobs: int) -> Scenario:
    """So many short jobs of different lengths on a few hundred containers, with an hour or more of virtual time."""
    return Scenario.model_validate(
        {
            "name": "large",
            "jobs": jobs,
            "durations": {"log-normal": {"mean": "5s", "sigma": 0.5}},
            "experiment": {
                "deadline": jobs * 5 / 200,
                "estimate": "5s",
                "containers": {"min": 1, "max": 300},
                "policy": {"name": POLICY, "margin": "1m"},
            },
            "cluster": {"nodes": 50, "slots": 8, "start_delay": "3s"},
        }
    )


def timed(jobs: int) -> tuple[Outcome, float]:
    """The run of so many jobs, and the real seconds it takes."""
    scenario = large(jobs)
    started = time.perf_counter()
    outcome = simulate(scenario)
    return outcome, time.perf_counter() - started


def events_per_second(rounds: int = 2) -> float:
    """Starts and ends of jobs per second of real time; the best of a few rounds, since other work only slows it."""
    return max(outcome.job_events / seconds for outcome, seconds in (timed(JOBS) for _ in range(rounds)))


def many() -> dict[str, float]:
    """A million jobs in a process of their own: seconds and peak memory."""
    outcome, seconds = timed(MANY_JOBS)
    return {
        "jobs": outcome.accomplished,
        "seconds": round(seconds, 1),
        "events_per_second": round(outcome.job_events / seconds),
        "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6, 1),
    }


def main() -> None:
    rate = events_per_second()
    print(f"{JOBS} jobs: {rate:.0f} events per second")
    with get_context("spawn").Pool(1) as pool:
        million = pool.apply(many)
    print(f"{million['jobs']} jobs: {million['seconds']} s, peak {million['peak_mb']} MB")
    print(json.dumps({"bench": "simulation", "events_per_second": round(rate), "million": million}))


if __name__ == "__main__":
    main()
