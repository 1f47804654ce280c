"""What people are to be told of one experiment: put into the outbox when it happens, sent by ``delivery``."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

import structlog

from jqueuer.controller import Forecast, Observation
from jqueuer.errors import NotFoundError, SettingsError, StoreUnavailableError
from jqueuer.notify import Occasion
from jqueuer.notifying import Facts, ForecastFacts, JobFacts, Message, Risk, Verdict, judge, new_message
from jqueuer.records import Counts, ExperimentRecord, JournalEntry, Statistics
from jqueuer.settings import Settings
from jqueuer.states import ExperimentState
from jqueuer_manager.services import Services

_ENDS: Final[dict[ExperimentState, Occasion]] = {
    ExperimentState.ACCOMPLISHED: "accomplished",
    ExperimentState.FAILED: "failed",
}
_AFTER_FAILURE_SECONDS: Final = 60.0

log = structlog.get_logger()


def check_webhooks(settings: Settings) -> None:
    """:class:`~jqueuer.errors.SettingsError` where a receiver is named and nothing is there to sign with."""
    if settings.webhook_url.get_secret_value() and not settings.webhook_secret.get_secret_value():
        raise SettingsError("wrong settings: JQUEUER_WEBHOOK_URL needs JQUEUER_WEBHOOK_SECRET, to sign with")


class Notices:
    """Of one experiment; used by one thread at a time."""

    def __init__(self, services: Services, experiment_id: str) -> None:
        self._services = services
        self._id = experiment_id
        self._doubted = 0
        """So many forecasts in a row were bad. Whether somebody was told, the record says: others tell, too."""
        self._judged: Forecast | None = None
        self._not_before = 0.0

    def of_end(self, state: ExperimentState, reason: str) -> list[Message]:
        """The messages that go into the outbox if the experiment gets into this state now."""
        occasion = _ENDS.get(state)
        if occasion is None:
            return []
        try:
            record = self._services.experiments.get(self._id)
        except NotFoundError:
            return []
        if not (receivers := self._receivers(record, occasion)):
            return []
        standing = self._services.ledger.standing(self._id)
        ended = record.model_copy(update={"state": state, "reason": reason})
        facts = _facts(ended, standing.counts, standing.statistics)
        return [new_message(self._id, occasion, url, facts) for url in receivers]

    def saw(self, observation: Observation, forecast_now: Callable[[], Forecast | None]) -> None:
        """Tell that the deadline is at risk, once; or remember that it is safe again. Never in anybody's way.

        ``forecast_now`` is asked where somebody wants to be told; what it says again counts once.
        """
        record = observation.record
        if record is None or record.deadline_at is None or time.monotonic() < self._not_before:
            return
        if not (receivers := self._receivers(record, "at-risk")):
            return
        try:
            self._judge(observation, record, record.deadline_at, forecast_now(), receivers)
        except StoreUnavailableError:
            return  # so is it for everybody, who say so
        except Exception:
            log.exception("whether the deadline is at risk could not be told; going on without", experiment=self._id)
            self._not_before = time.monotonic() + _AFTER_FAILURE_SECONDS

    def _judge(
        self,
        observation: Observation,
        record: ExperimentRecord,
        deadline_at: float,
        forecast: Forecast | None,
        receivers: list[str],
    ) -> None:
        new = None if forecast is self._judged or observation.engine_problem else forecast
        self._judged = forecast
        risk, verdict, reason = judge(
            Risk(told=record.told_at_risk, doubted=self._doubted),
            left_seconds=deadline_at - observation.now,
            jobs_left=0 if record.state.terminal else observation.counts.left,
            probability=None if new is None else new.probability,
            confidence=record.description.policy.confidence,
            late_by_seconds=None if new is None else new.finish_at - deadline_at,
        )
        if verdict is Verdict.TELL:
            facts = _facts(
                record.model_copy(update={"reason": reason}), observation.counts, observation.statistics, forecast
            )
            messages = [new_message(self._id, "at-risk", url, facts) for url in receivers]
            entry = JournalEntry(at=observation.now, action="notify", reason=f"deadline at risk: {reason}")
            self._services.outbox.tell_at_risk(self._id, messages, entry)
        elif verdict is Verdict.SAFE:
            self._services.outbox.forget_risk(self._id)
        self._doubted = risk.doubted

    def _receivers(self, record: ExperimentRecord, occasion: Occasion) -> list[str]:
        """Whom to tell of it, by URL; the empty one is the settings'."""
        notify, everybodys = record.description.notify, self._services.settings.webhook_url.get_secret_value()
        own = [notify.url] if notify is not None and occasion in notify.on and notify.url != everybodys else []
        return [*own, ""] if everybodys else own


def _facts(record: ExperimentRecord, counts: Counts, statistics: Statistics, forecast: Forecast | None = None) -> Facts:
    return Facts(
        id=record.id,
        name=record.description.name,
        owner=record.owner,
        state=record.state,
        reason=record.reason,
        created_at=record.created_at,
        deadline_at=record.deadline_at,
        finished_at=None,
        jobs=JobFacts(total=counts.total, **counts.model_dump()),
        attempts=statistics.attempts,
        container_seconds=round(statistics.container_seconds, 3),
        forecast=None
        if forecast is None
        else ForecastFacts(
            finish_at=round(forecast.finish_at, 3),
            p95_at=round(forecast.p95_at, 3),
            probability=forecast.probability,
            containers=forecast.containers,
        ),
    )
