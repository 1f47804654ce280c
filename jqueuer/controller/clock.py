"""The store's clock was set: what the controller remembers moves with it, so that no pause grows or ends by that."""

from __future__ import annotations

from dataclasses import replace

from jqueuer.controller.observation import ControllerState


def shifted(state: ControllerState, by_seconds: float) -> ControllerState:
    """The state as if its moments had been remembered by the clock as it is now; ahead where positive."""

    def moved(at: float | None) -> float | None:
        return None if at is None else at + by_seconds

    starts, watch = state.starts, state.watch
    return replace(
        state,
        calculated_at=moved(state.calculated_at),
        changed_at=moved(state.changed_at),
        asked_at=moved(state.asked_at),
        created_at=moved(state.created_at),
        released_at=moved(state.released_at),
        starved_since=moved(state.starved_since),
        republished_at=moved(state.republished_at),
        problems_told=tuple((problem, at + by_seconds) for problem, at in state.problems_told),
        unplaced_since=moved(state.unplaced_since),
        refused_at=state.refused_at + by_seconds,
        starts=replace(starts, asked_at=tuple(at + by_seconds for at in starts.asked_at)),
        watch=replace(
            watch,
            still_since=moved(watch.still_since),
            idle=tuple(replace(one, since=one.since + by_seconds) for one in watch.idle),
        ),
    )
