"""Quotes that rest on what this manager has seen of earlier experiments; nothing is stored."""

from __future__ import annotations

from collections.abc import Iterable

from jqueuer.descriptor import read_description
from jqueuer.errors import UnsupportedError
from jqueuer.model import Experiment
from jqueuer.quoting import Quote, Workload, quote, read_lines, workload_of
from jqueuer_manager.adapters.urls import refused_urls
from jqueuer_manager.history import history_of, start_seconds_like
from jqueuer_manager.services import Services


def quote_description(services: Services, body: bytes, source: str) -> Quote:
    """Of a whole description in any format or dialect; :class:`DescriptionError` with every fault in it."""
    description = read_description(body, source=source, max_jobs=services.settings.max_jobs)
    _refuse_unsupported(services, description.experiment)
    return quote_of(services, description.experiment, workload_of(description))


def quote_lines(services: Services, lines: Iterable[bytes]) -> Quote:
    """Of a header line and then one job per line."""
    experiment, workload = read_lines(lines, max_jobs=services.settings.max_jobs)
    _refuse_unsupported(services, experiment)
    return quote_of(services, experiment, workload)


def quote_of(services: Services, experiment: Experiment, workload: Workload, received_at: float | None = None) -> Quote:
    """What can be promised about an experiment that is received now, or was when its first line came."""
    store = services.experiments
    return quote(
        experiment,
        workload,
        now=store.now(),
        history=history_of(store, services.ledger, experiment),
        start_seconds=start_seconds_like(store, experiment),
        received_at=received_at,
    )


def _refuse_unsupported(services: Services, experiment: Experiment) -> None:
    refusals, _ = services.orchestrator.problems(experiment)
    refusals = (*refusals, *refused_urls(experiment, services.settings))
    if refusals:
        raise UnsupportedError("; ".join(refusals))
