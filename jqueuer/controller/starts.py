"""How long containers take to start, as the controller sees it.

Which container answers which request nobody says, so the first that comes up answers the oldest one. All of it can be
lost: then what runs is taken as it is, and what is starting is not measured, for nobody knows since when.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from jqueuer.records import ServiceStatus
from jqueuer.states import ContainerState

WEIGHT_OF_THE_LATEST: Final = 0.3
"""In the mean: later starts are quicker, once the image is on the nodes."""

_UP: Final = (ContainerState.IDLE, ContainerState.BUSY)


@dataclass(frozen=True, slots=True)
class Starts:
    """What was asked for and has not come up yet, and how long others took."""

    asked_at: tuple[float, ...] = ()
    """A moment for each container that is missing, oldest first."""
    inherited: int = 0
    """So many of these, the oldest, were asked for before anybody watched."""
    came_up: frozenset[str] | None = None
    """The containers that took jobs and are still there; None before the first look."""
    mean_seconds: float | None = None

    def starting_seconds(self, now: float) -> tuple[float, ...]:
        """How long ago each missing container was asked for."""
        return tuple(max(0.0, now - at) for at in self.asked_at)


NOTHING_STARTED: Final = Starts()


def looked(starts: Starts, service: ServiceStatus | None, now: float) -> Starts:
    """After a look: who came up, and who is missing since."""
    if service is None:
        return replace(starts, came_up=starts.came_up or frozenset())
    up = {container.id for container in service.containers if container.state in _UP}
    before = starts.came_up
    if before is None:
        starting = (one.started_at for one in service.containers if one.state is ContainerState.STARTING)
        starts = Starts(asked_at=tuple(sorted(min(now, at) for at in starting)), came_up=frozenset(up))
        starts = asked(starts, service, service.requested, now)
        return replace(starts, inherited=len(starts.asked_at))
    arrived = up - before
    new = [one for one in service.containers if one.id in arrived]
    for at in sorted(min(now, now if one.busy_since is None else one.busy_since) for one in new):
        starts = _answered(starts, at)
    # one whose agent was started anew takes no jobs for a moment, but that it takes some again is no start
    still = before.intersection(one.id for one in service.containers)
    if arrived or len(still) < len(before):
        starts = replace(starts, came_up=still | up)
    return asked(starts, service, service.requested, now)


def asked(starts: Starts, service: ServiceStatus | None, requested: int, now: float) -> Starts:
    """After asking for so many in all; scaling down gives up the youngest requests, as does a lack of room."""
    if service is None:
        return replace(starts, asked_at=(now,) * requested, inherited=0)
    missing = max(0, requested - service.unplaced - service.count(*_UP))
    kept = starts.asked_at[:missing]
    if missing == len(starts.asked_at):
        return starts
    return replace(starts, asked_at=kept + (now,) * (missing - len(kept)), inherited=min(starts.inherited, len(kept)))


def _answered(starts: Starts, at: float) -> Starts:
    """Somebody came up for the oldest request."""
    if not starts.asked_at:
        return starts
    oldest, *others = starts.asked_at
    rest = replace(starts, asked_at=tuple(others), inherited=max(0, starts.inherited - 1))
    if starts.inherited:
        return rest
    seconds, mean = max(0.0, at - oldest), starts.mean_seconds
    return replace(rest, mean_seconds=seconds if mean is None else mean + WEIGHT_OF_THE_LATEST * (seconds - mean))
