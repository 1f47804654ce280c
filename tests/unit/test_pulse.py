"""The agent's sign of life, and what it tells the next agent."""

from __future__ import annotations

import os
from pathlib import Path

from jqueuer_agent.pulse import FILE_NAME, Pulse


def test_an_agent_knows_when_the_one_before_it_was_last_alive(tmp_path: Path) -> None:
    Pulse(tmp_path)()
    os.utime(tmp_path / FILE_NAME, (1000.0, 1000.0))
    pulse = Pulse(tmp_path)
    pulse()
    assert pulse.before == 1000.0
    assert (tmp_path / FILE_NAME).stat().st_mtime > 1000.0


def test_the_first_agent_of_a_node_has_none_before_it(tmp_path: Path) -> None:
    pulse = Pulse(tmp_path / "new")
    pulse()
    assert pulse.before == 0.0
    assert (tmp_path / "new" / FILE_NAME).exists()
