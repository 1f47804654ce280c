"""The demo's simulation and its report, run as the programs a job and the post command run."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

EXPERIMENTS = Path(__file__).resolve().parents[2] / "experiments"
SMALL = ("--population", "600", "--days", "150", "--first-cases", "6")


def run(program: str, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-I", str(EXPERIMENTS / program), *arguments], cwd=cwd, capture_output=True, text=True
    )


def simulate(folder: Path, beta: float, seed: int = 1, *more: str) -> dict[str, Any]:
    ended = run("epidemic.py", "--beta", str(beta), "--seed", str(seed), *SMALL, *more, cwd=folder)
    assert ended.returncode == 0, ended.stderr
    result: dict[str, Any] = json.loads((folder / "result.json").read_text())
    return result


def test_the_same_seed_gives_the_same_result_and_another_seed_another(tmp_path: Path) -> None:
    first = simulate(tmp_path, 0.5, 7)
    assert simulate(tmp_path, 0.5, 7) == first
    assert simulate(tmp_path, 0.5, 8)["peak"] != first["peak"]


def test_without_transmission_nobody_but_the_first_cases_is_infected(tmp_path: Path) -> None:
    result = simulate(tmp_path, 0.0)
    assert result["infected"] == 6
    assert result["final_size"] == 6 / 600
    assert (result["peak"], result["peak_day"]) == (6, 0)


def test_final_size_grows_with_the_transmission_rate_on_average(tmp_path: Path) -> None:
    means = [fmean(simulate(tmp_path, beta, seed)["final_size"] for seed in (1, 2, 3)) for beta in (0.1, 0.4, 0.8)]
    assert means == sorted(means)
    assert means[0] < 0.2 < 0.8 < means[2]


def test_vaccinated_people_are_never_infected(tmp_path: Path) -> None:
    result = simulate(tmp_path, 5.0, 1, "--vaccinated", "0.6")
    assert 0.3 * 600 < result["infected"] <= 0.4 * 600
    assert simulate(tmp_path, 5.0, 1, "--vaccinated", "1")["infected"] == 6


def test_the_result_names_its_parameters(tmp_path: Path) -> None:
    result = simulate(tmp_path, 0.3, 2, "--vaccinated", "0.2")
    assert (result["beta"], result["seed"], result["vaccinated"], result["population"]) == (0.3, 2, 0.2, 600)
    assert 0 <= result["peak_day"] <= result["last_day"] <= 150


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "--beta"),
        (("--beta", "x"), "expected a number, got 'x'"),
        (("--beta", "nan"), "expected a number, got 'nan'"),
        (("--beta", "-1"), "rate of 0 or more"),
        (("--beta", "1", "--vaccinated", "1.1"), "share between 0 and 1"),
        (("--beta", "1", "--infectious-days", "0.5"), "1 day or more"),
        (("--beta", "1", "--days", "0"), "whole number of 1 or more"),
        (("--beta", "1", "--population", "5"), "20 first cases do not fit into a population of 5"),
    ],
)
def test_wrong_parameters_are_refused_in_words(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    ended = run("epidemic.py", *arguments, cwd=tmp_path)
    assert ended.returncode == 2
    assert message in ended.stderr
    assert not (tmp_path / "result.json").exists()


def test_a_result_that_cannot_be_written_is_an_error_in_one_line(tmp_path: Path) -> None:
    ended = run("epidemic.py", "--beta", "0.1", *SMALL, "--output", "nowhere/result.json", cwd=tmp_path)
    assert ended.returncode == 1
    assert ended.stderr == "epidemic.py: cannot write nowhere/result.json: No such file or directory\n"


@pytest.mark.parametrize("program", ["epidemic.py", "epidemic_report.py"])
def test_help_shows_an_example(tmp_path: Path, program: str) -> None:
    ended = run(program, "--help", cwd=tmp_path)
    assert ended.returncode == 0
    assert f"example: {program} --" in ended.stdout


def sweep(folder: Path) -> None:
    for beta in (0.1, 0.6):
        for vaccinated in (0.0, 0.4):
            for seed in (1, 2):
                outputs = folder / "outputs" / f"b{beta}-v{vaccinated}-s{seed}"
                outputs.mkdir(parents=True)
                simulate(outputs, beta, seed, "--vaccinated", str(vaccinated))


def test_the_report_makes_one_table_and_one_picture(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    sweep(tmp_path)
    ended = run("epidemic_report.py", cwd=tmp_path)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.startswith("8 scenarios")
    with (tmp_path / "final_size.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["vaccinated"], row["beta"], row["seed"]) for row in rows[:3]] == [
        ("0.0", "0.1", "1"),
        ("0.0", "0.1", "2"),
        ("0.0", "0.6", "1"),
    ]
    one = json.loads((tmp_path / "outputs" / "b0.6-v0.0-s1" / "result.json").read_text())
    assert float(rows[2]["final_size"]) == one["final_size"]
    assert (tmp_path / "final_size.png").read_bytes().startswith(b"\x89PNG")


def test_a_report_on_nothing_says_so(tmp_path: Path) -> None:
    ended = run("epidemic_report.py", cwd=tmp_path)
    assert ended.returncode == 1
    assert ended.stderr == "epidemic_report.py: there is no <job>/result.json in outputs: nothing to collect\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [("{", "not a result of epidemic.py"), ("[]", "expected a number for beta"), ('{"beta": "x"}', "number for beta,")],
)
def test_a_damaged_result_is_named(tmp_path: Path, content: str, message: str) -> None:
    job = tmp_path / "outputs" / "one"
    job.mkdir(parents=True)
    (job / "result.json").write_text(content)
    ended = run("epidemic_report.py", cwd=tmp_path)
    assert ended.returncode == 1
    assert ended.stderr.startswith("epidemic_report.py: outputs/one/result.json: ")
    assert message in ended.stderr
