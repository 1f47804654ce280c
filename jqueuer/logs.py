"""Logs of manager and agent: one line per event on stderr, as text on a terminal and as JSON elsewhere."""

from __future__ import annotations

import contextlib
import logging
import sys
from typing import TextIO, cast

import structlog


class _Patient:
    """A stream that drops what cannot be written: nobody shall stop working because the disk of the logs is full."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write it if that can be."""
        with contextlib.suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Pass it on if that can be."""
        with contextlib.suppress(OSError):
            self._stream.flush()


def configure_logging(level: int = logging.INFO) -> None:
    """Set up structlog and the standard library's logging alike."""
    renderer: structlog.types.Processor = (
        structlog.dev.ConsoleRenderer() if sys.stderr.isatty() else structlog.processors.JSONRenderer()
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(cast(TextIO, _Patient(sys.stderr))),
    )
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="%(levelname)s %(name)s: %(message)s")
    logging.getLogger("urllib3").setLevel(logging.ERROR)  # it warns with whole URLs, and with what strangers answered
