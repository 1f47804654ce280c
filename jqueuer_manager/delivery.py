"""Delivers what is in the outbox: each message until its receiver takes it, one at a time to each receiver.

At least once: a message leaves the outbox after its receiver has taken it, so one that is cut short in between is sent
again, with the same id. Where the store only takes no writes, the manager remembers who has taken what.
"""

from __future__ import annotations

import threading
from typing import Final

import structlog

from jqueuer.errors import JQueuerError, StoreUnavailableError
from jqueuer.notifying import Message, headers, next_try_at, receiver_of
from jqueuer.records import JournalEntry
from jqueuer.units import format_duration
from jqueuer_manager.adapters.one_conversation import NoAnswerError, post
from jqueuer_manager.adapters.urls import url_allowed
from jqueuer_manager.services import Services

TRY_SECONDS: Final = 10.0
_RECEIVERS: Final = 8
"""So many are told something at the same time."""
_LAST_TRIES_SECONDS: Final = 2.0
"""For tries that are under way when the manager stops."""
_AFTER_FAILURE_SECONDS: Final = 5.0
_SETTINGS_RECEIVER: Final = "the receiver of JQUEUER_WEBHOOK_URL"
_GONE: Final = 410
_HEADERS: Final = {"Content-Type": "application/json", "User-Agent": "JQueuer"}

log = structlog.get_logger()


class RefusedForGoodError(Exception):
    """No later try will do; in words."""


class Delivery:
    """A thread that looks what is due, and one for each try."""

    def __init__(self, services: Services, *, try_seconds: float = TRY_SECONDS) -> None:
        self._services = services
        self._try_seconds = try_seconds
        self._stopping, self._wake = threading.Event(), threading.Event()
        self._changed = threading.Condition()
        self._busy: set[str] = set()
        """Receivers that are being told something."""
        self._taken: set[str] = set()
        """Messages that were taken, which the store does not know yet."""
        self._thread = threading.Thread(target=self._run, name="delivery", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """Send nothing more; tries that do not end soon are left to the next start."""
        self._stopping.set()
        self._wake.set()
        self._thread.join()
        with self._changed:
            self._changed.wait_for(lambda: not self._busy, timeout=_LAST_TRIES_SECONDS)

    def _run(self) -> None:
        away = False
        while not self._over():
            try:
                self._look()
                away = False
            except StoreUnavailableError as error:
                if not away:
                    log.warning("the store is away; webhooks wait", error=str(error))
                away = True
            except Exception:  # nobody else would deliver
                log.exception("the look at the outbox failed; looking again")
            self._wake.wait(self._services.settings.control_seconds)
            self._wake.clear()

    def _over(self) -> bool:
        return self._stopping.is_set() or self._services.stopping.is_set()

    def _look(self) -> None:
        with self._changed:
            busy = frozenset(self._busy)
        if len(busy) >= _RECEIVERS:
            return
        now = self._services.experiments.now()
        for message in self._services.outbox.due(now, busy=busy, limit=_RECEIVERS - len(busy)):
            if self._over():
                return
            with self._changed:
                self._busy.add(receiver_of(message.url))
            try:
                threading.Thread(target=self._attend_to, args=(message,), name="webhook", daemon=True).start()
            except RuntimeError:  # no thread is to be had
                self._release(message)
                raise

    def _attend_to(self, message: Message) -> None:
        try:
            self._deliver(message)
        except Exception as error:
            log.warning(
                "what became of a webhook could not be stored; trying again",
                error=str(error),
                exc_info=not isinstance(error, JQueuerError),
            )
            self._stopping.wait(_AFTER_FAILURE_SECONDS)  # it is due still, and nobody is to be flooded
        finally:
            self._release(message)
            self._wake.set()

    def _release(self, message: Message) -> None:
        with self._changed:
            self._busy.discard(receiver_of(message.url))
            self._changed.notify_all()

    def _deliver(self, message: Message) -> None:
        url = message.url or self._services.settings.webhook_url.get_secret_value()
        receiver = receiver_of(url) if url else _SETTINGS_RECEIVER
        try:
            problem = "" if message.id in self._taken else self._send(url, message)
        except RefusedForGoodError as error:
            self._give_up(message, receiver, str(error))
            return
        if not problem:
            self._taken.add(message.id)
        now = self._services.experiments.now()
        if not problem:
            after = f" at the {_ordinal(message.tries + 1)} try" if message.tries else ""
            reason = f"{receiver} was told {message.type}{after}"
            self._services.outbox.close(message, _entry(now, reason), delivered=True)
            self._taken.discard(message.id)
            log.info("webhook delivered", experiment=message.experiment_id, type=message.type, receiver=receiver)
            return
        again_at = next_try_at(message.id, message.tries + 1, message.at, now)
        if again_at is None:
            self._give_up(message, receiver, problem)
            return
        first = _entry(now, f"{receiver} could not be told {message.type}: {problem}; tried again for a day")
        self._services.outbox.postpone(message, again_at, None if message.tries else first)
        log.warning(
            "webhook not delivered; trying again",
            experiment=message.experiment_id,
            type=message.type,
            receiver=receiver,
            problem=problem,
            seconds=round(again_at - now, 1),
        )

    def _send(self, url: str, message: Message) -> str:
        """Send it; empty, or why it was not taken. :class:`RefusedForGoodError` where it never will be."""
        settings = self._services.settings
        if not url:
            raise RefusedForGoodError("there is none any more")
        if message.url and not url_allowed(url, settings.allowed_urls):
            raise RefusedForGoodError("JQUEUER_ALLOWED_URLS does not allow it any more")
        secret, body = settings.webhook_secret.get_secret_value(), message.body()
        if not secret:
            return "JQUEUER_WEBHOOK_SECRET is not set, and nothing is sent unsigned"
        signed = headers(secret, message.id, self._services.experiments.now(), body)
        try:
            status, _ = post(
                url,
                body,
                {**_HEADERS, **signed},
                timeout_seconds=self._try_seconds,
                most_bytes=0,
                ca_file=settings.ca_file,
            )
        except NoAnswerError as error:
            return str(error)
        if status == _GONE:
            raise RefusedForGoodError(f"it answered with status {status}, gone")
        if 300 <= status < 400:
            return f"it answered with status {status}, and redirects are not followed"
        return "" if 200 <= status < 300 else f"it answered with status {status}"

    def _give_up(self, message: Message, receiver: str, problem: str) -> None:
        now = self._services.experiments.now()
        lasted = format_duration(max(0.0, round(now - message.at)))
        tries = "1 try" if message.tries == 0 else f"{message.tries + 1} tries in {lasted}"
        reason = f"{receiver} is not told {message.type}, given up after {tries}: {problem}"
        self._services.outbox.close(message, _entry(now, reason), delivered=False)
        log.error(
            "webhook given up",
            experiment=message.experiment_id,
            type=message.type,
            receiver=receiver,
            problem=problem,
            tries=message.tries + 1,
        )


def _entry(now: float, reason: str) -> JournalEntry:
    return JournalEntry(at=now, action="notify", reason=reason)


def _ordinal(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"
