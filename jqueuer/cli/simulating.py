"""``simulate``: experiments in virtual time, under any policy."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

from jqueuer.cli.exits import WrongFileError
from jqueuer.cli.options import DEFAULT_URL, AsJson, Url, examples
from jqueuer.cli.output import counted, duration, say, tell, tell_json, tell_table
from jqueuer.cli.plotting import draw_runs, refuse_unless_drawable
from jqueuer.cli.recorded import fetch_records, read_recorded
from jqueuer.client import Client
from jqueuer.descriptor.policies import known_policies, needed_key
from jqueuer.errors import DescriptionError, JQueuerError
from jqueuer.simulation import Outcome, Scenario, files, study
from jqueuer.simulation.curves import simulated_curves
from jqueuer.simulation.replaying import Records, recorded_outcome, recorded_run, scenario_from_records, with_post
from jqueuer.simulation.scenario import ScaleDown

DEFAULT_SEEDS: Final = 20
RECORDED: Final = "recorded"
"""Stands where otherwise a policy's name does."""

_WORTH_MORE_CORES: Final = 2_000
"""So many jobs in all are simulated sooner than other processes are there."""
_COLUMNS: Final = ("policy", "finished", "met", "paid", "jobs", "used", "killed", "peak", "scaled")


class ScaleDownWay(StrEnum):
    """What becomes of a busy container that is given up."""

    DRAIN = "drain"
    KILL = "kill"


_WAYS: Final[dict[ScaleDownWay | None, ScaleDown | None]] = {
    None: None,
    ScaleDownWay.DRAIN: "drain",
    ScaleDownWay.KILL: "kill",
}


def add_commands(app: typer.Typer) -> None:
    """Add the commands of this module."""
    paper = "experiments/scenarios/paper-run.yaml"
    app.command(
        epilog=examples(
            f"jqueuer simulate {paper} --policy deadline-forecast --policy deadline-paper",
            f"jqueuer simulate {paper} --policy deadline-2018 --plot fig4.png --beside tests/data/paper_run.csv",
            "jqueuer simulate --from-experiment epidemic-7k2m --policy deadline-forecast --policy fixed",
        )
    )(simulate)


def simulate(
    scenario_file: Annotated[
        Path | None,
        typer.Argument(metavar="SCENARIO", exists=True, dir_okay=False, readable=True, help="The scenario, YAML."),
    ] = None,
    from_experiment: Annotated[
        str | None,
        typer.Option("--from-experiment", metavar="ID", help="Replay this experiment, which has ended, instead."),
    ] = None,
    policies: Annotated[
        list[str] | None, typer.Option("--policy", metavar="NAME", help="May be repeated; else the scenario's own.")
    ] = None,
    seeds: Annotated[
        int | None, typer.Option("--seeds", min=1, max=10_000, help="So many runs per policy; else 20, a replay 1.")
    ] = None,
    scale_down: Annotated[
        ScaleDownWay | None, typer.Option("--scale-down", help="Of busy containers; else as the scenario says.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Draw one run per policy into a .png, .svg or .pdf.")
    ] = None,
    beside: Annotated[
        Path | None,
        typer.Option("--beside", metavar="CSV", exists=True, dir_okay=False, help="A recorded run for the picture."),
    ] = None,
    url: Url = DEFAULT_URL,
    as_json: AsJson = False,
) -> None:
    """Run experiments in virtual time, controlled by the code that controls real ones.

    Medians over all seeds, under which every policy meets the same jobs; met is the share of deadlines met. A replayed
    experiment is shown as it really went, too.
    """
    if plot is not None:
        refuse_unless_drawable(plot)
    elif beside is not None:
        raise typer.BadParameter("--beside is about a picture: add --plot FILE", param_hint="--beside")
    scenario, records = _scenario(scenario_file, from_experiment, url)
    recorded = [] if beside is None else [read_recorded(beside, scenario.deadline_seconds)]
    names = _policies(scenario, policies)
    count = seeds or (DEFAULT_SEEDS if records is None else 1)
    way = _WAYS[scale_down]
    with _all_cores(count * len(names) * scenario.jobs) as run_all:
        outcomes = study.outcomes(scenario, names, range(count), scale_down=way, run_all=run_all)
    if records is not None:
        outcomes = {name: tuple(with_post(one, records) for one in found) for name, found in outcomes.items()}
    _tell(scenario, records, {name: study.summary(found) for name, found in outcomes.items()}, count, as_json)
    if plot is not None:
        recorded += [] if records is None else [recorded_run(records)]
        runs = [*recorded, *(simulated_curves(scenario, name, scale_down=way) for name in names)]
        draw_runs(plot, runs, title=scenario.description or scenario.name)
        say(f"{plot}: {counted(len(runs), 'run')}")


def _scenario(file: Path | None, experiment_id: str | None, url: str) -> tuple[Scenario, Records | None]:
    if file is not None and experiment_id is None:
        try:
            return files.load(file), None
        except DescriptionError as error:
            raise WrongFileError(file, error.faults) from None
    if experiment_id is None or file is not None:
        raise typer.BadParameter("give either a scenario or --from-experiment", param_hint="SCENARIO")
    with Client(url) as client:
        records = fetch_records(client, experiment_id)
    return scenario_from_records(records), records


def _policies(scenario: Scenario, wanted: Sequence[str] | None) -> list[str]:
    own = scenario.experiment.policy
    names = list(dict.fromkeys(wanted or [own.name]))
    for name in names:
        if name not in known_policies():
            raise typer.BadParameter(
                f"there is no policy {name!r}; there are {', '.join(known_policies())}", param_hint="--policy"
            )
        key = needed_key(name)
        if key and getattr(own, key) is None:
            raise typer.BadParameter(
                f"{name} needs {key}, and the policy of {scenario.name} does not say it", param_hint="--policy"
            )
    return names


@contextmanager
def _all_cores(jobs: int) -> Iterator[study.RunAll]:
    """What runs the simulations: processes on all cores, where there is enough to do."""
    cores = os.cpu_count() or 1
    if cores == 1 or jobs < _WORTH_MORE_CORES:
        yield map
        return
    context = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(cores, mp_context=context)

    def run_all(simulate_one: Callable[[study.Case], Outcome], cases: Sequence[study.Case]) -> Iterator[Outcome]:
        # Ctrl-C reaches every process of a terminal; those that start here inherit that they do not listen to it
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            return pool.map(simulate_one, cases)
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})

    try:
        yield run_all
    except BaseException as error:
        for process in set(multiprocessing.active_children()) - others:
            process.terminate()
        if isinstance(error, BrokenProcessPool):
            raise JQueuerError("a process that simulated was ended from outside, perhaps for want of memory") from None
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _tell(
    scenario: Scenario, records: Records | None, found: dict[str, study.Summary], seeds: int, as_json: bool
) -> None:
    real = None if records is None else study.summary([recorded_outcome(records)])
    if as_json:
        recorded = {} if real is None else {RECORDED: real.as_dict()}
        policies = {name: one.as_dict() for name, one in found.items()}
        tell_json({"scenario": scenario.name, "seeds": seeds, **recorded, "policies": policies})
        return
    deadline = scenario.deadline_seconds
    limits = scenario.experiment.containers
    tell(
        f"{scenario.name}: {counted(scenario.jobs, 'job')}, {limits.min}..{limits.max} containers, "
        f"deadline {'none' if deadline is None else duration(deadline)}; medians over {counted(seeds, 'seed')}"
    )
    rows = [] if real is None else [_row(RECORDED, real)]
    tell_table(_COLUMNS, rows + [_row(name, one) for name, one in found.items()])
    if records is not None and records.post_seconds:
        say(f"notice: the post command is taken to last {duration(records.post_seconds)}, as it did")


def _row(name: str, found: study.Summary) -> tuple[str, ...]:
    return (
        name,
        duration(found.finished_seconds),
        "–" if found.deadline_met is None else f"{found.deadline_met:.0%}",
        duration(found.container_seconds),
        duration(found.job_seconds),
        f"{found.used:.1%}",
        f"{found.killed:g}",
        f"{found.peak_containers:g}",
        f"{found.scale_actions:g}",
    )
