"""What a real run showed the controller, shown to the simulator's: it commands the same."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from jqueuer.controller import Commands, ControllerState, Finish, Observation, ScaleService
from jqueuer.settings import Settings
from jqueuer.simulation import driver
from jqueuer_manager import shell
from jqueuer_manager.composition import compose
from jqueuer_manager.loop import ControlLoop
from tests.embedded.running import QUICK, System
from tests.processes import descendants

Wait = Callable[..., None]
Looks = list[tuple[ControllerState, Observation, ControllerState, Commands]]
"""Of each look: the state before, what was seen, the state after, and what was commanded."""

FORTY_JOBS = "deadline: 20s\nestimate: 600ms\ncontainers: {min: 1, max: 4}\npolicy: {period: 200ms}\njobs:\n" + "".join(
    f"  - {{id: j{number}, command: [sleep, '0.{number % 4 + 1}']}}\n" for number in range(40)
)


@contextmanager
def controlled_here(system: System, looks: Looks, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The manager's processes are frozen, and its control loop runs in this one, on the same store and containers."""
    manager = system.embedded.pids["jqueuer_manager"]
    frozen = [manager, *descendants(manager)]
    socket = system.embedded.state_dir / "store" / "valkey.sock"
    for name, value in {**QUICK, "JQUEUER_STORE_URL": f"unix://{socket}", "JQUEUER_ENGINE": "local"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("JQUEUER_AGENT_TOKEN", (system.embedded.state_dir / "agent_token").read_text().strip())
    settings = Settings(state_dir=system.embedded.state_dir, broker_url=f"redis+socket://{socket}?virtual_host=1")
    real = shell.step

    def watched(state: ControllerState, seen: Observation) -> tuple[ControllerState, Commands]:
        after, commands = real(state, seen)
        looks.append((state, seen, after, commands))
        return after, commands

    monkeypatch.setattr(shell, "step", watched)
    loop = ControlLoop(compose(settings))
    for pid in frozen:
        os.kill(pid, signal.SIGSTOP)
    loop.start()
    try:
        yield
    finally:
        loop.stop()
        for pid in frozen:
            os.kill(pid, signal.SIGCONT)


def test_a_real_runs_observations_lead_the_simulators_step_to_the_same_commands(
    own_system: Callable[[], System], monkeypatch: pytest.MonkeyPatch, eventually: Wait
) -> None:
    system, looks = own_system(), Looks()
    experiment_id = system.submit(FORTY_JOBS)
    with controlled_here(system, looks, monkeypatch):
        eventually(lambda: any(isinstance(one, Finish) for *_, commands in looks for one in commands))
    assert system.api.summary(experiment_id)["state"] == "accomplished"
    assert len(looks) > 20
    assert any(isinstance(one, ScaleService) for *_, commands in looks for one in commands)
    for state, seen, after, commands in looks:
        assert driver.step(state, seen) == (after, commands)
