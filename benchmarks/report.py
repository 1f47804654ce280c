"""The tables of ``benchmarks.policies``, and the figures of its last line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from benchmarks.calibration import MOMENTS, QUANTILES, Mark, shares
from benchmarks.suite import Limits


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What one policy came to in one scenario under one seed."""

    scenario: str
    policy: str
    seed: int
    met: bool
    cost_ratio: float | None
    """Container-seconds ÷ the bound; None where the work cannot be done in time at all."""
    killed: int
    scale_actions: int


def totals(results: Sequence[Result], limits: Mapping[str, Limits], policy: str) -> dict[str, float | None]:
    """One policy over the suite."""
    mine = [result for result in results if result.policy == policy]
    feasible = [result for result in mine if limits[result.scenario].feasible]
    ratios = {name: ratio for name in limits if (ratio := cost_ratio(_of(mine, name))) is not None}
    usual = [ratio for name, ratio in ratios.items() if limits[name].feasible]
    loose = [ratio for name, ratio in ratios.items() if limits[name].loose]
    return {
        "met": round(sum(result.met for result in feasible) / len(feasible), 4) if feasible else None,
        "median_cost_ratio": round(median(usual), 4) if usual else None,
        "worst_cost_ratio": round(max(loose), 4) if loose else None,
        "killed": sum(result.killed for result in mine),
    }


def cost_ratio(results: Sequence[Result]) -> float | None:
    """The median over the seeds that have a bound."""
    ratios = [result.cost_ratio for result in results if result.cost_ratio is not None]
    return median(ratios) if ratios else None


def comparison(results: Sequence[Result], limits: Mapping[str, Limits], policies: Sequence[str]) -> Iterator[str]:
    """One line per scenario: what it allows, and three columns per policy."""
    yield "F: feasible (fixed at the maximum meets the deadline in 99 % of 200 other seeds), L: loose as well"
    yield "bound: the least container-hours, and on how many containers; slack: deadline ÷ finish at the maximum"
    yield "of each policy: deadlines met in %, cost ÷ bound, jobs killed by scale-down"
    for part in zip(*(_halves(policy) for policy in policies), strict=True):
        yield f"{'':54}" + "".join(f"{half:>16}" for half in part)
    heading = f"{'scenario':34}   {'bound':>7} {'on':>4} {'slack':>5}"
    yield heading + f"{'met  cost kill':>16}" * len(policies)
    for name in limits:
        cells = (_cell(_of([one for one in results if one.policy == policy], name)) for policy in policies)
        yield _allowed(name, limits[name]) + "".join(cells)
    summed = [totals(results, limits, policy) for policy in policies]
    for label, key in (("feasible: met %", "met"), ("feasible: median", "median_cost_ratio")):
        yield f"{label:54}" + "".join(_total(one[key], percent=key == "met") for one in summed)
    yield f"{'loose: worst':54}" + "".join(_total(one["worst_cost_ratio"], percent=False) for one in summed)
    yield f"{'all: killed':54}" + "".join(f"{one['killed']:>16}" for one in summed)


def calibration(marks: Mapping[str, Sequence[Mark]]) -> Iterator[str]:
    """One line per scenario: the shares of finishes within the forecast quantiles, by moment; in %."""
    wanted = " ".join(f"{'P' + format(100 * one, 'g'):>4}" for one in QUANTILES)
    yield ""
    yield "Calibration: finishes (in %) up to the quantiles forecast when so many jobs were done; the number was held"
    yield f"{'':34}" + "".join(f"{f'{100 * moment:g} % done':>17}" for moment in MOMENTS) + f"{'together':>17}"
    yield f"{'scenario':34}" + f"   {wanted}" * (len(MOMENTS) + 1)
    for name, found in marks.items():
        yield f"{name:34}" + "".join(_shares(found))
    yield f"{'together':34}" + "".join(_shares([mark for found in marks.values() for mark in found]))


def _shares(marks: Sequence[Mark]) -> Iterator[str]:
    for moment in (*MOMENTS, None):
        chosen = [mark for mark in marks if moment in (None, mark.moment)]
        yield "   " + " ".join(f"{100 * share:4.0f}" if chosen else f"{'-':>4}" for share in shares(chosen))


def _of(results: Sequence[Result], scenario: str) -> list[Result]:
    return [result for result in results if result.scenario == scenario]


def _halves(policy: str) -> tuple[str, str]:
    before, _, after = policy.rpartition("-")
    return (f"{before}-" if before else ""), after


def _allowed(name: str, limits: Limits) -> str:
    mark = "L" if limits.loose else "F" if limits.feasible else " "
    hours = "-" if limits.bound_hours is None else f"{limits.bound_hours:.2f}"
    containers = "-" if limits.bound_containers is None else f"{limits.bound_containers:g}"
    slack = f"{limits.slack:.2f}"
    return f"{name:34} {mark} {hours:>7} {containers:>4} {slack:>5}"


def _cell(results: Sequence[Result]) -> str:
    ratio = cost_ratio(results)
    met = 100 * sum(result.met for result in results) / len(results)
    cost = "-" if ratio is None else f"{ratio:.2f}"
    return f"{met:7.0f} {cost:>5} {sum(result.killed for result in results):2d}".rjust(16)


def _total(value: float | None, *, percent: bool) -> str:
    shown = "-" if value is None else f"{100 * value:.1f}" if percent else f"{value:.3f}"
    return f"{shown:>16}"
