"""Server-sent events: each message is made once, however many listen, and only while somebody does."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import structlog

from jqueuer.errors import JQueuerError, NotFoundError

PERIOD_SECONDS: Final = 1.0
"""A topic has a message so often at most."""
BEAT_SECONDS: Final = 15.0
"""Who hears nothing for so long hears that there is nothing; who has gone is noticed by it."""

_TIMES_ITS_COST: Final = 10
"""All messages together take a tenth of a processor at most; where there are many topics each has one less often."""
_AFTER_FAILURE_SECONDS: Final = 15.0
_RETRY: Final = b"retry: 2000\n\n"
_BEAT: Final = b":\n\n"

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Message:
    """What is told of a topic."""

    event: str
    data: str
    """One line of JSON."""
    likeness: str
    """What it is compared by: a message like the last one is not told again."""

    def encoded(self) -> bytes:
        """The message on its way to a browser."""
        return f"event: {self.event}\ndata: {self.data}\n\n".encode()


_DELETED: Final = Message("deleted", "{}", "")


@dataclass(slots=True)
class _Topic:
    listeners: int = 0
    due_at: float = 0.0
    version: int = 0
    likeness: str | None = None
    message: bytes = b""
    over: bool = False


class Broadcaster:
    """Makes messages by ``make``, which says by :class:`NotFoundError` that a topic is no more; safe among threads.

    Its thread lives while somebody listens. Once ``stopping`` is set everybody is let go.
    """

    def __init__(self, make: Callable[[str], Message], stopping: threading.Event) -> None:
        self._make = make
        self._stopping = stopping
        self._news = threading.Condition()
        self._topics: dict[str, _Topic] = {}
        self._thread: threading.Thread | None = None

    def listen(self, name: str, welcome: Callable[[], bool]) -> Iterator[bytes]:
        """The stream of a topic: its last message at once, then each new one; until ``welcome`` says no."""
        topic, known, beat_at = self._join(name), 0, time.monotonic() + BEAT_SECONDS
        try:
            yield _RETRY
            while True:
                version, message, over = self._later(topic, known, beat_at)
                if version > known:
                    known = version
                    yield message
                if over:
                    return
                if time.monotonic() >= beat_at:
                    if not welcome():
                        return
                    yield _BEAT
                    beat_at = time.monotonic() + BEAT_SECONDS
        finally:
            self._leave(name, topic)

    def _later(self, topic: _Topic, known: int, until: float) -> tuple[int, bytes, bool]:
        """What the topic is like once it has changed, or that time has come."""
        with self._news:
            self._news.wait_for(lambda: topic.version > known or topic.over, until - time.monotonic())
            return topic.version, topic.message, topic.over

    def _join(self, name: str) -> _Topic:
        with self._news:
            topic = self._topics.setdefault(name, _Topic())
            topic.listeners += 1
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="broadcast", daemon=True)
                self._thread.start()
            self._news.notify_all()
        return topic

    def _leave(self, name: str, topic: _Topic) -> None:
        with self._news:
            topic.listeners -= 1
            if not topic.listeners and self._topics.get(name) is topic:
                del self._topics[name]

    def _run(self) -> None:
        while (due := self._wait()) is not None:
            for name, topic in due:
                began = time.thread_time()
                pause_seconds = self._renew(name, topic)
                cost_seconds = (time.thread_time() - began) * _TIMES_ITS_COST * len(self._topics)
                topic.due_at = time.monotonic() + max(pause_seconds, cost_seconds)

    def _wait(self) -> list[tuple[str, _Topic]] | None:
        """The topics whose turn it is; None once nobody listens, or nobody shall any more."""
        with self._news:
            while self._topics and not self._stopping.is_set():
                now = time.monotonic()
                if due := [(name, topic) for name, topic in self._topics.items() if topic.due_at <= now]:
                    return due
                next_at = min(topic.due_at for topic in self._topics.values())
                self._news.wait(min(next_at - now, PERIOD_SECONDS))
            for topic in self._topics.values():
                topic.over = True
            self._topics = {}
            self._thread = None
            self._news.notify_all()
        return None

    def _renew(self, name: str, topic: _Topic) -> float:
        """Look whether there is something new; how many seconds to wait before the next look."""
        over = False
        try:
            message = self._make(name)
        except NotFoundError:
            message, over = _DELETED, True
        except JQueuerError as error:
            log.debug("no message can be made now", topic=name, error=str(error))
            return PERIOD_SECONDS
        except Exception:
            log.exception("no message can be made", topic=name)
            return _AFTER_FAILURE_SECONDS
        if message.likeness == topic.likeness:
            return PERIOD_SECONDS
        encoded = message.encoded()
        with self._news:
            topic.likeness, topic.message, topic.over = message.likeness, encoded, over
            topic.version += 1
            if over and self._topics.get(name) is topic:
                del self._topics[name]
            self._news.notify_all()
        return PERIOD_SECONDS
