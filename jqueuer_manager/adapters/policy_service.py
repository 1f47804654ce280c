"""A policy behind a URL (paper §III-A), asked over HTTP."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from cautoscaler import Advice
from cautoscaler.advice import MAX_ANSWER_BYTES, read_advice
from jqueuer.controller import AskPolicy
from jqueuer_manager.adapters.one_conversation import NoAnswerError, post

_HEADERS: Final = {"Accept": "application/json", "Content-Type": "application/json"}


def ask_policy(question: AskPolicy, ca_file: Path | None = None) -> Advice:
    """Ask a policy service; every way it can fail becomes the advice's error."""
    try:
        status, body = post(
            question.url,
            json.dumps(question.request, allow_nan=False).encode(),
            _HEADERS,
            timeout_seconds=question.timeout_seconds,
            most_bytes=MAX_ANSWER_BYTES,
            ca_file=ca_file,
        )
    except (NoAnswerError, ValueError) as error:
        return Advice(error=str(error))
    return read_advice(status, body)
