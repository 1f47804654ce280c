"""``jqueuer simulate`` with scenario files: what it prints, draws and refuses."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from jqueuer.cli import app
from jqueuer.simulation import study
from jqueuer.simulation.files import load

ROOT = Path(__file__).resolve().parents[2]
PAPER_RUN = ROOT / "experiments" / "scenarios" / "paper-run.yaml"
RECORDED = ROOT / "tests" / "data" / "paper_run.csv"
SMALL = """
jobs: 40
durations: {log-normal: {mean: 30s, sigma: 0.5}}
experiment: {deadline: 8m, estimate: 60s, containers: {max: 6}, policy: deadline-paper}
cluster: {nodes: 3, start_delay: 5s}
"""
KEYS = [
    *("finished_seconds", "deadline_met", "container_seconds", "job_seconds"),
    *("used", "killed", "peak_containers", "scale_actions"),
]


def jqueuer(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments], prog_name="jqueuer")


@pytest.fixture
def small(tmp_path: Path) -> Path:
    return written(tmp_path, SMALL)


def written(folder: Path, text: str, name: str = "small.yaml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def document(ended: Result) -> dict[str, Any]:
    assert ended.exit_code == 0, ended.stderr
    found: dict[str, Any] = json.loads(ended.stdout)
    return found


def test_the_json_is_the_study_of_every_policy(small: Path) -> None:
    ended = jqueuer("simulate", small, "--policy", "fixed", "--policy", "deadline-paper", "--seeds", "3", "--json")
    answer = document(ended)
    assert list(answer) == ["scenario", "seeds", "policies"]
    assert (answer["scenario"], answer["seeds"]) == ("small", 3)
    studied = study.run(load(small), ["fixed", "deadline-paper"], range(3))
    assert answer["policies"] == {name: summary.as_dict() for name, summary in studied.items()}
    assert list(answer["policies"]["fixed"]) == KEYS


def test_without_a_policy_it_is_the_scenarios_own_under_twenty_seeds(small: Path) -> None:
    answer = document(jqueuer("simulate", small, "--json"))
    assert (answer["seeds"], list(answer["policies"])) == (20, ["deadline-paper"])


def test_people_get_a_table_with_a_line_per_policy(small: Path) -> None:
    ended = jqueuer("simulate", small, "--policy", "fixed", "--policy", "deadline-paper", "--seeds", "2")
    assert (ended.exit_code, ended.stderr) == (0, "")
    headline, columns, *rows = ended.stdout.splitlines()
    assert headline == "small: 40 jobs, 1..6 containers, deadline 8m; medians over 2 seeds"
    assert columns.split() == ["policy", "finished", "met", "paid", "jobs", "used", "killed", "peak", "scaled"]
    assert [row.split()[0] for row in rows] == ["fixed", "deadline-paper"]


def test_busy_containers_that_are_given_up_drain_or_are_killed(tmp_path: Path) -> None:
    late = SMALL.replace("60s", "120s").replace("8m", "12m")
    file = written(tmp_path, late)
    killed = {
        way: document(jqueuer("simulate", file, "--seeds", "5", "--scale-down", way, "--json"))["policies"]
        for way in ("drain", "kill")
    }
    assert killed["drain"]["deadline-paper"]["killed"] == 0
    assert killed["kill"]["deadline-paper"]["killed"] > 0


def test_much_to_do_is_spread_over_processes_with_the_same_result(tmp_path: Path) -> None:
    large = written(tmp_path, SMALL.replace("jobs: 40", "jobs: 700").replace("8m", "2h"))
    answer = document(jqueuer("simulate", large, "--policy", "fixed", "--seeds", "3", "--json"))
    assert answer["policies"]["fixed"] == study.run(load(large), ["fixed"], range(3))["fixed"].as_dict()


@pytest.mark.skipif(os.cpu_count() == 1, reason="with one core there are no other processes")
def test_interrupted_it_leaves_at_once_and_nothing_running(
    tmp_path: Path, eventually: Callable[[Callable[[], object]], None]
) -> None:
    endless = written(tmp_path, SMALL.replace("jobs: 40", "jobs: 1000000").replace("8m", "200d"))
    process = subprocess.Popen(
        [sys.executable, "-c", "from jqueuer.cli import main; main()", "simulate", str(endless)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    try:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        eventually(lambda: len(children.read_text().split()) == os.cpu_count())
        others = [Path("/proc", pid) for pid in children.read_text().split()]
        os.killpg(process.pid, signal.SIGINT)
        assert process.communicate(timeout=30) == ("", "interrupted\n")
        assert process.returncode == 130
        assert not any(other.exists() for other in others)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def test_every_fault_of_a_scenario_is_a_line_with_file_and_line(tmp_path: Path) -> None:
    file = written(
        tmp_path, "jobs: 0\ndurations: 5s\nexperiment:\n  deadlin: 5m\n  containers: {max: x}\ncluster: {slotz: 2}\n"
    )
    ended = jqueuer("simulate", file)
    assert (ended.exit_code, ended.stdout) == (2, "")
    lines = ended.stderr.splitlines()
    assert [line.split(": ")[:2] for line in lines] == [
        [f"{file}:1", "jobs"],
        [f"{file}:4", "experiment.deadlin"],
        [f"{file}:5", "experiment.containers.max"],
        [f"{file}:6", "cluster.slotz"],
    ]
    assert "did you mean 'deadline'?" in lines[1]
    assert "did you mean 'slots'?" in lines[3]


@pytest.mark.parametrize(
    ("policy", "said"),
    [("deadlin-paper", "did you mean 'deadline-paper'?"), ("schedule", "needs schedule"), ("rest", "give its url")],
)
def test_a_policy_that_cannot_decide_is_a_fault_of_the_scenario(tmp_path: Path, policy: str, said: str) -> None:
    file = written(tmp_path, SMALL.replace("deadline-paper", policy))
    ended = jqueuer("simulate", file)
    assert ended.exit_code == 2
    assert ended.stderr.startswith(f"{file}:4: experiment.policy")
    assert said in ended.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "give either a scenario or --from-experiment"),
        ((PAPER_RUN, "--from-experiment", "e-1"), "give either a scenario or --from-experiment"),
        (("nowhere.yaml",), "does not exist"),
        ((PAPER_RUN, "--policy", "fixd"), "there is no policy 'fixd'; there are budget, "),
        ((PAPER_RUN, "--policy", "target-duration"), "target-duration needs target"),
        ((PAPER_RUN, "--seeds", "0"), "--seeds"),
        ((PAPER_RUN, "--beside", RECORDED), "add --plot FILE"),
    ],
)
def test_wrong_usage_is_told_before_anything_is_simulated(arguments: tuple[str | Path, ...], said: str) -> None:
    ended = jqueuer("simulate", *arguments)
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert said in " ".join(ended.stderr.split())


def test_a_scenario_that_never_ends_is_given_up_in_words(tmp_path: Path) -> None:
    file = written(
        tmp_path, "jobs: 1\ndurations: 5s\nexperiment: {containers: {min: 0}, policy: {name: fixed, containers: 0}}\n"
    )
    ended = jqueuer("simulate", file)
    assert (ended.exit_code, ended.stderr.count("\n")) == (3, 1)
    assert "does not end under fixed" in ended.stderr


@pytest.mark.parametrize("kind", ["png", "svg"])
def test_runs_are_drawn_beside_the_recorded_one(small: Path, tmp_path: Path, kind: str) -> None:
    picture = tmp_path / f"runs.{kind}"
    ended = jqueuer(
        *("simulate", small, "--policy", "fixed", "--policy", "deadline-2018", "--seeds", "1", "--json"),
        *("--plot", picture, "--beside", RECORDED),
    )
    document(ended)
    assert ended.stderr == f"{picture}: 3 runs\n"
    assert picture.read_bytes().startswith(b"\x89PNG" if kind == "png" else b"<?xml")


def test_the_papers_figure_beside_ours_is_one_command(tmp_path: Path) -> None:
    picture = tmp_path / "fig4.svg"
    ended = jqueuer(
        *("simulate", PAPER_RUN, "--policy", "deadline-2018", "--scale-down", "kill", "--seeds", "1"),
        *("--plot", picture, "--beside", RECORDED),
    )
    assert ended.exit_code == 0, ended.stderr
    drawn = picture.read_text()
    for said in ("recorded: ends at 90.7 min", "deadline-2018: ends at 8", "containers needed", "jobs done"):
        assert f"<!-- {said}" in drawn


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("seconds,jobs\n0,0\n", ":1: lacks the columns jobs_accomplished, replicas_needed, replicas_running"),
        ("seconds,jobs_accomplished,replicas_needed,replicas_running\n0,0,1,1\n10,x,1,1\n", ":3: expected numbers"),
        ("seconds,jobs_accomplished,replicas_needed,replicas_running\n", ":1: expected numbers: there are no samples"),
    ],
)
def test_a_recorded_run_that_is_none_is_a_fault_with_its_line(
    small: Path, tmp_path: Path, text: str, said: str
) -> None:
    recorded = written(tmp_path, text, "run.csv")
    ended = jqueuer("simulate", small, "--seeds", "1", "--plot", tmp_path / "runs.png", "--beside", recorded)
    assert ended.exit_code == 2
    assert ended.stderr.startswith(f"{recorded}{said}")


@pytest.mark.parametrize(("name", "said"), [("runs.gif", "end with .png, .svg, .pdf"), ("no/runs.png", "no directory")])
def test_a_picture_that_cannot_be_written_is_refused_first(small: Path, tmp_path: Path, name: str, said: str) -> None:
    ended = jqueuer("simulate", small, "--plot", tmp_path / name)
    assert (ended.exit_code, ended.stdout, ended.stderr.count("\n")) == (3, "", 1)
    assert said in ended.stderr


def test_without_matplotlib_a_picture_is_refused_in_one_sentence(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    ended = jqueuer("simulate", small, "--plot", tmp_path / "runs.png")
    assert (ended.exit_code, ended.stdout) == (3, "")
    assert ended.stderr == "pictures need matplotlib, which is not installed: pip install 'jqueuer[plots]'\n"
    assert jqueuer("simulate", small, "--seeds", "1").exit_code == 0


def test_matplotlib_is_not_loaded_unless_a_picture_is_asked_for(small: Path) -> None:
    program = (
        "import sys; from typer.testing import CliRunner; from jqueuer.cli import app; "
        f"print(CliRunner().invoke(app, ['simulate', {str(small)!r}]).exit_code, 'matplotlib' in sys.modules)"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ended.stdout == "0 False\n"


def test_its_help_shows_examples() -> None:
    ended = jqueuer("simulate", "--help")
    assert ended.exit_code == 0
    assert "jqueuer simulate --from-experiment" in ended.stdout.split("Examples:")[1]
