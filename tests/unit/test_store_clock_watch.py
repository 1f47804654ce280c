"""Whether the store's clock was set, as the manager finds out."""

import pytest

from jqueuer_manager.clock import StoreClock


class Clocks:
    """The store's and this process's; a call to the store takes a while."""

    def __init__(self, call_seconds: float = 0.0) -> None:
        self.store, self.steady, self.call_seconds = 1000.0, 50.0, call_seconds

    def now(self) -> float:
        self.steady += self.call_seconds
        self.store += self.call_seconds
        return self.store

    def read(self) -> float:
        return self.steady

    def pass_by(self, seconds: float, set_by: float = 0.0) -> None:
        self.steady += seconds
        self.store += seconds + set_by


@pytest.mark.parametrize("jump", [3600.0, -3600.0, 5.0, -5.0])
def test_it_is_noticed_once_with_its_size(jump: float) -> None:
    clocks = Clocks()
    clock = StoreClock(clocks.now, clocks.read)
    assert clock.read() == (1000.0, 0.0)
    clocks.pass_by(30.0, set_by=jump)
    assert clock.read() == (1030.0 + jump, jump)
    clocks.pass_by(30.0)
    assert clock.read() == (1060.0 + jump, 0.0)


def test_a_clock_that_is_slewed_or_slow_to_answer_was_not_set() -> None:
    clocks = Clocks(call_seconds=5.0)
    clock = StoreClock(clocks.now, clocks.read)
    clock.read()
    clocks.pass_by(60.0, set_by=1.5)
    assert clock.read()[1] == 0.0


def test_time_that_passes_is_no_jump() -> None:
    clocks = Clocks()
    clock = StoreClock(clocks.now, clocks.read)
    clock.read()
    clocks.pass_by(86_400.0)
    assert clock.read()[1] == 0.0
