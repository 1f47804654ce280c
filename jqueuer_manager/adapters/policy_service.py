"""A policy behind a URL (paper §III-A), asked over HTTP."""

from __future__ import annotations

import requests
from urllib3.exceptions import HTTPError

from cautoscaler import Advice
from cautoscaler.advice import MAX_ANSWER_BYTES, read_advice
from jqueuer.controller import AskPolicy


def ask_policy(question: AskPolicy) -> Advice:
    """Ask a policy service; every way it can fail becomes the advice's error."""
    try:
        with requests.post(
            question.url,
            json=question.request,
            timeout=question.timeout_seconds,
            allow_redirects=False,
            stream=True,
        ) as response:
            body = response.raw.read(MAX_ANSWER_BYTES + 1, decode_content=True)
            return read_advice(response.status_code, body)
    except (requests.RequestException, HTTPError, OSError) as error:
        return Advice(error=f"it did not answer: {type(error).__name__}")
