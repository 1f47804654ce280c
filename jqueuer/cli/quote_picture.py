"""The picture of a quote: how early, and how dear, with how many containers. Needs matplotlib, an extra."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

_UNITS: Final = ((2 * 3600.0, "h", 3600.0), (1200.0, "min", 60.0), (0.0, "s", 1.0))
"""From so many seconds on, a unit, and its seconds."""


def draw_quote(file: Path, quote: dict[str, Any], *, title: str) -> None:
    """Finish (P50 to P95) and cost against the number of containers, the deadline and the numbers that matter."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    curve = quote["curve"]
    numbers = [offer["containers"] for offer in curve]
    _, unit, scale = next(known for known in _UNITS if curve[-1]["p95_seconds"] >= known[0])
    p50, p80, p95 = ([offer[f"{name}_seconds"] / scale for offer in curve] for name in ("p50", "p80", "p95"))
    figure = Figure(figsize=(8, 5), layout="constrained")
    finish = figure.subplots()
    verdict = "feasible" if quote["feasible"] else "not feasible"
    finish.set_title(f"{title}: {verdict} with {100 * quote['confidence']:.4g} %")
    finish.fill_between(numbers, p50, p95, color="tab:blue", alpha=0.2, label="finish, P50 to P95")
    finish.plot(numbers, p80, color="tab:blue", marker="o", markersize=3, label="finish, P80")
    if quote["deadline_seconds"] is not None:
        at = (quote["deadline_seconds"] - quote["margin_seconds"]) / scale
        less = " less the margin" if quote["margin_seconds"] else ""
        finish.axhline(at, color="black", linestyle="--", linewidth=1, label=f"deadline{less}")
    for key, label, style in (
        ("containers", "the fewest that do", "-"),
        ("policy_containers", f"{quote['policy']} begins with it", ":"),
    ):
        if quote[key]:
            finish.axvline(quote[key], color="tab:green", linestyle=style, linewidth=1.5, label=label)
    finish.set_xlabel("containers")
    finish.xaxis.set_major_locator(MaxNLocator(integer=True))
    finish.set_ylabel(f"time from the receipt, {unit}")
    if curve[0]["p95_seconds"] > 8 * curve[-1]["p50_seconds"]:
        finish.set_yscale("log")
    else:
        finish.set_ylim(bottom=0)
    priced = curve[0]["cost"] is not None
    cost = finish.twinx()
    paid = [offer["cost" if priced else "container_hours"] for offer in curve]
    cost.plot(numbers, paid, color="tab:orange", label="cost" if priced else "container-hours")
    cost.set_ylim(0, max(paid) * 1.2)
    cost.set_ylabel("cost" if priced else "container-hours")
    handles = finish.get_legend_handles_labels()[0] + cost.get_legend_handles_labels()[0]
    figure.legend(handles=handles, loc="outside lower center", ncols=3, fontsize="small")
    figure.savefig(file, dpi=120)
