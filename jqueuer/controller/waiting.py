"""What an experiment waits for, in words: one that does not end says why."""

from __future__ import annotations

from cautoscaler.wording import plural
from jqueuer.records import Counts, ExperimentRecord, ServiceStatus
from jqueuer.states import ContainerState, ExperimentState


def waits_for(
    record: ExperimentRecord, counts: Counts, delayed: int, service: ServiceStatus | None, decided: str = ""
) -> str:
    """What it waits for while it runs no job; empty while it runs one, and once it has ended.

    ``delayed`` is how many of its jobs wait for their back-off, ``decided`` the reason of the last decision about the
    number of containers.
    """
    if record.state.terminal or counts.running:
        return ""
    if record.state is ExperimentState.PAUSED:
        return "somebody to resume it: it is paused"
    if record.state is ExperimentState.FINISHING:
        runs = service is not None and service.count(ContainerState.BUSY)
        return "its post command, which runs" if runs else f"its post command; {_containers(service, decided)}"
    if not counts.queued:
        return "its controller to end it"
    if counts.queued <= delayed:
        return f"the pause before {plural(counts.queued, 'job')} may run again"
    return _containers(service, decided)


def _containers(service: ServiceStatus | None, decided: str) -> str:
    why = f": {decided}" if decided else ""
    if service is None:
        return f"containers; none is requested yet{why}"
    if service.problem:
        return f"containers; {service.problem}"
    if service.count(ContainerState.IDLE):
        return f"{plural(service.count(ContainerState.IDLE), 'idle container')} to take a job"
    if not service.requested:
        return f"containers; none is requested{why}"
    note = f" ({service.note})" if service.note else ""
    return f"{plural(service.requested, 'container')} to start{note}"
