"""The README's first command does what the README says. How fast is not asserted: see what `make demo` prints."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

DEMO = Path(__file__).parents[2] / "experiments" / "epidemic.yaml"


def test_the_demo_is_accomplished_scales_and_leaves_its_table_and_picture(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from jqueuer.cli import main; main()", "run", str(DEMO), "--json"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout.splitlines()[-1])
    assert summary["state"] == "accomplished"
    assert summary["jobs"] == {"total": 320, "accomplished": 320, "failed": 0, "cancelled": 0}
    assert (summary["attempts"], summary["killed"], summary["deadline_seconds"]) == (320, 0, 90.0)
    assert summary["peak_containers"] > 1, "the least is 1: more were asked for, at the start or later"
    post = tmp_path / "results" / summary["experiment_id"] / "post"
    with (post / "final_size.csv").open() as table:
        assert len(list(csv.DictReader(table))) == 320
    assert (post / "final_size.png").read_bytes().startswith(b"\x89PNG")
