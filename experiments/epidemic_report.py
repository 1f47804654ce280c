"""Collect the results of an epidemic sweep into one table and one picture.

Reads ``outputs/<job>/result.json``, as written by ``epidemic.py``, and writes ``final_size.csv`` (one row per
scenario) and ``final_size.png`` (final size against transmission rate, one line per vaccinated share).
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections import defaultdict
from pathlib import Path
from statistics import fmean
from typing import Any

COLUMNS = (
    "beta", "vaccinated", "seed", "latent_days", "infectious_days", "travelling", "population", "group", "first_cases",
    "days", "final_size", "infected", "peak", "peak_day", "last_day",
)  # fmt: skip
COLOURS = ("#B3261E", "#D9822B", "#2A8C82", "#27408B", "#6A4C93", "#555555")
MARKERS = "osD^vP"
TEXT, FAINT = "#222222", "#6B6B6B"

Row = dict[str, Any]


class ReportError(Exception):
    """The results cannot be collected; the message says why."""


def read_results(folder: Path) -> list[Row]:
    """Every scenario's result, ordered by vaccinated share, transmission rate and seed."""
    rows = [_read(path) for path in sorted(folder.glob("*/result.json"))]
    if not rows:
        raise ReportError(f"there is no <job>/result.json in {folder}: nothing to collect")
    return sorted(rows, key=lambda row: (row["vaccinated"], row["beta"], row["seed"]))


def _read(path: Path) -> Row:
    try:
        row = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ReportError(f"{path}: not a result of epidemic.py: {error}") from None
    wrong = [
        name
        for name in COLUMNS
        if not isinstance(row, dict) or isinstance(row.get(name), bool) or not isinstance(row.get(name), int | float)
    ]
    if wrong:
        raise ReportError(f"{path}: expected a number for {', '.join(wrong)}")
    return {name: row[name] for name in COLUMNS}


def write_table(rows: list[Row], path: Path) -> None:
    """One row per scenario, parameters first."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def curves(rows: list[Row]) -> dict[float, list[tuple[float, float, float, float]]]:
    """Per vaccinated share: (transmission rate, mean, least, greatest final size) over the repeats."""
    repeats: dict[tuple[float, float], list[float]] = defaultdict(list)
    for row in rows:
        repeats[row["vaccinated"], row["beta"]].append(row["final_size"])
    lines: dict[float, list[tuple[float, float, float, float]]] = defaultdict(list)
    for (vaccinated, beta), sizes in sorted(repeats.items()):
        lines[vaccinated].append((beta, fmean(sizes), min(sizes), max(sizes)))
    return dict(lines)


def threshold(vaccinated: float, infectious_days: float) -> float | None:
    """The transmission rate above which an epidemic is possible; None where everybody is immune."""
    return None if vaccinated >= 1 else 1 / (infectious_days * (1 - vaccinated))


def draw(rows: list[Row], path: Path) -> None:
    """Final size against transmission rate: the mean of the repeats, their spread, and the theoretical threshold."""
    try:
        import matplotlib
    except ImportError:
        raise ReportError("the picture needs matplotlib: pip install matplotlib") from None
    matplotlib.use("Agg")
    from matplotlib import pyplot
    from matplotlib.ticker import PercentFormatter

    pyplot.rcParams.update({"font.size": 11, "text.color": TEXT, "axes.labelcolor": TEXT, "axes.edgecolor": FAINT})
    figure, axes = pyplot.subplots(figsize=(9, 5.8), layout="constrained")
    infectious_days = rows[0]["infectious_days"]
    for number, (vaccinated, line) in enumerate(curves(rows).items()):
        colour, marker = COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)]
        beta, mean, least, greatest = zip(*line, strict=True)
        axes.fill_between(beta, least, greatest, color=colour, alpha=0.18, linewidth=0)
        axes.plot(beta, mean, color=colour, marker=marker, markersize=5, linewidth=2, label=f"{vaccinated:.0%}")
        limit = threshold(vaccinated, infectious_days)
        if limit is not None and limit <= beta[-1]:
            axes.axvline(limit, color=colour, linestyle=(0, (2, 2)), linewidth=1.2, zorder=0)

    repeats = len({row["seed"] for row in rows})
    population = rows[0]["population"]
    axes.set_title("How large the epidemic becomes", loc="left", fontsize=15, fontweight="bold", pad=40)
    caption = (
        f"{len(rows)} simulated outbreaks among {population:,} people, "
        f"infectious for {infectious_days:g} days on average.\n"
        f"Line: mean of {repeats} repeats; band: least to greatest; "
        "dotted: threshold 1 / (days infectious × share not vaccinated)."
    )
    axes.text(0, 1.025, caption, transform=axes.transAxes, fontsize=9.5, color=FAINT, va="bottom")
    axes.set_xlabel("Transmission rate β (infections per infectious person and day)")
    axes.set_ylabel("Final size (share of the population ever infected)")
    axes.yaxis.set_major_formatter(PercentFormatter(xmax=1))
    axes.set_ylim(0, 1)
    axes.set_xlim(0, max(row["beta"] for row in rows) * 1.02 or 1)
    axes.grid(axis="y", color="#E3E3E3", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    legend = axes.legend(title="Vaccinated", loc="upper left", frameon=True, facecolor="white", framealpha=0.95)
    legend.get_frame().set_edgecolor("none")
    figure.savefig(path, dpi=150)
    pyplot.close(figure)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description="Collect the results of an epidemic sweep into one table and one picture.",
        epilog="example: epidemic_report.py --outputs outputs --table final_size.csv --picture final_size.png",
    )
    option = parser.add_argument
    option("--outputs", type=Path, default=Path("outputs"), help="folder with <job>/result.json (%(default)s)")
    option("--table", type=Path, default=Path("final_size.csv"), help="CSV to write (%(default)s)")
    option("--picture", type=Path, default=Path("final_size.png"), help="PNG to write (%(default)s)")
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Write table and picture; 0, or 1 with the reason on stderr."""
    options = _parser().parse_args(arguments)
    try:
        rows = read_results(options.outputs)
        write_table(rows, options.table)
        draw(rows, options.picture)
    except ReportError as error:
        print(f"epidemic_report.py: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"epidemic_report.py: cannot write {error.filename}: {error.strerror}", file=sys.stderr)
        return 1
    print(f"{len(rows)} scenarios collected into {options.table} and {options.picture}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
