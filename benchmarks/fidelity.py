"""The simulator against reality: the demo experiment run for real, and simulated from its own records.

Each round starts a fresh embedded system, as ``jqueuer run`` does, submits ``experiments/epidemic.yaml``, waits for its
end and replays its records. Both figures are medians over the rounds; the finish is that of the whole experiment, its
post command included. Progress goes to stderr; the last line on stdout is one JSON object.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path
from statistics import fmean, median

from jqueuer.cli.recorded import fetch_records
from jqueuer.client import Client
from jqueuer.client.submission import submit_file
from jqueuer.embedded import Embedded
from jqueuer.simulation import study
from jqueuer.simulation.replaying import job_gap, recorded_outcome, scenario_from_records, start_delays, with_post

DEMO = Path(__file__).resolve().parents[1] / "experiments" / "epidemic.yaml"


def run(file):
    """The records of an experiment that was run for real."""
    with (
        tempfile.TemporaryDirectory(prefix="bench-fidelity-") as folder,
        Embedded(Path(folder)) as system,
        Client(system.url, token=system.token) as client,
    ):
        experiment_id = submit_file(file, client)["id"]
        ended = client.wait(experiment_id)
        if ended["jobs"]["accomplished"] != ended["jobs"]["total"]:
            sys.exit(f"{experiment_id} is {ended['state']}: {ended['reason'] or ended['jobs']}")
        return fetch_records(client, experiment_id)


def simulated(records, seeds):
    """The median finish of an experiment that is simulated from its records."""
    scenario = scenario_from_records(records)
    policy = scenario.experiment.policy.name
    outcomes = study.outcomes(scenario, [policy], range(seeds))[policy]
    return median(with_post(outcome, records).finished_seconds for outcome in outcomes)


def measure(file, rounds, seeds):
    real, ours = [], []
    for number in range(1, rounds + 1):
        records = run(file)
        real.append(recorded_outcome(records).finished_seconds)
        ours.append(simulated(records, seeds))
        delays = start_delays(records)
        print(
            f"round {number}: {real[-1]:.2f} s, simulated {ours[-1]:.2f} s ({_error(ours[-1], real[-1]):.1%} off); "
            f"{job_gap(records) * 1000:.1f} ms between two jobs, containers up after {fmean(delays):.2f} s, "
            f"post command {records.post_seconds:.2f} s",
            file=sys.stderr,
        )
    return {
        "bench": "fidelity",
        "real_seconds": round(median(real), 3),
        "simulated_seconds": round(median(ours), 3),
        "relative_error": round(_error(median(ours), median(real)), 4),
        "worst_relative_error": round(max(map(_error, ours, real)), 4),
        "rounds": rounds,
        "seeds": seeds,
    }


def _error(ours, real):
    return abs(ours - real) / real


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--experiment", type=Path, default=DEMO, metavar="FILE")
    options = parser.parse_args()
    print(json.dumps(measure(options.experiment, options.rounds, options.seeds)))


if __name__ == "__main__":
    main()
