"""The message of a job: its one form, and what becomes of everything that has another.

Whoever can write to the broker can put anything into a queue. A worker passes on only what has exactly this form, names
its own experiment and is signed; so Celery never sees what it could act upon besides: other tasks, callbacks, chains,
times to wait for, compressed or pickled bodies. The rest is acknowledged, dropped, and said once of each kind.
"""

from __future__ import annotations

import json
import re
from enum import StrEnum
from typing import Any, Final, Protocol

import structlog
from kombu import uuid

from jqueuer.kinds import JOB_ID_PATTERN
from jqueuer.model import POST_JOB_ID
from jqueuer.signing import MessageSigner

TASK_NAME: Final = "jqueuer.job"
"""The Celery task of every job message; its arguments are the experiment's id and the job's."""

MAX_BODY_BYTES: Final = 4096
"""Several times what the longest ids need; nothing longer is read."""

UNREADABLE: Final = "unreadable"
"""Written in place of the content type by whoever took a message from the network and could not read it."""

_HEADERS: Final = frozenset({"id", "task", "signature"})
_REDELIVERED: Final = "redelivered"
"""Set by kombu on Redis where a message is put back into its queue."""
_BROKERS_OWN: Final = "x-"
_LONGEST_MESSAGE_ID: Final = 64
_JOB_ID: Final = re.compile(JOB_ID_PATTERN)

log = structlog.get_logger()


class Refusal(StrEnum):
    """Why a message is not for this worker."""

    UNREADABLE = "it cannot be read"
    TOO_LARGE = "it is larger than any job message"
    NOT_JSON = "it is not JSON in UTF-8"
    HEADERS = "its headers are not those of a job message"
    TASK = "it names another task"
    FORM = "its body is not that of a job message"
    EXPERIMENT = "it names another experiment"
    UNSIGNED = "it is not signed"
    SIGNATURE = "its signature is not of this key and these ids"


class RefusedMessageError(Exception):
    """The message is not for this worker."""

    def __init__(self, refusal: Refusal) -> None:
        self.refusal = refusal
        super().__init__(refusal.value)


class Received(Protocol):
    """The part of a kombu message that is looked at."""

    content_type: str | None
    content_encoding: str | None
    headers: dict[str, Any]
    body: Any


def compose(signer: MessageSigner, experiment_id: str, job_id: str) -> tuple[list[object], dict[str, str]]:
    """Body and headers of a job's message."""
    signature = signer.sign(experiment_id, job_id)
    return [[experiment_id, job_id], {}, {}], {"id": uuid(), "task": TASK_NAME, "signature": signature}


def named_job(message: Received, experiment_id: str, signer: MessageSigner) -> str:
    """The job that a message names; :class:`RefusedMessageError` where it is not one for this experiment's workers."""
    if message.content_type == UNREADABLE:
        raise RefusedMessageError(Refusal.UNREADABLE)
    if isinstance(message.body, str | bytes) and len(message.body) > MAX_BODY_BYTES:
        raise RefusedMessageError(Refusal.TOO_LARGE)
    if message.content_type != "application/json" or message.content_encoding != "utf-8":
        raise RefusedMessageError(Refusal.NOT_JSON)
    signature = _signature(message.headers)
    named = _ids(message.body)
    if named[0] != experiment_id:
        raise RefusedMessageError(Refusal.EXPERIMENT)
    if not signature and not signer.holds(*named, signature):
        raise RefusedMessageError(Refusal.UNSIGNED)
    if not signer.holds(*named, signature):
        raise RefusedMessageError(Refusal.SIGNATURE)
    return named[1]


def _signature(headers: dict[str, Any]) -> str:
    ours = {name: value for name, value in headers.items() if not _brokers(name)}
    if "signature" not in ours:
        raise RefusedMessageError(Refusal.UNSIGNED)
    if ours.keys() != _HEADERS or not all(isinstance(value, str) for value in ours.values()):
        raise RefusedMessageError(Refusal.HEADERS)
    if ours["task"] != TASK_NAME:
        raise RefusedMessageError(Refusal.TASK)
    if not 0 < len(ours["id"]) <= _LONGEST_MESSAGE_ID:
        raise RefusedMessageError(Refusal.HEADERS)
    return str(ours["signature"])


def _brokers(name: object) -> bool:
    return name == _REDELIVERED or (isinstance(name, str) and name.startswith(_BROKERS_OWN))


def _ids(body: object) -> tuple[str, str]:
    if not isinstance(body, str | bytes):
        raise RefusedMessageError(Refusal.FORM)
    try:
        found = json.loads(body if isinstance(body, str) else body.decode())
    except (ValueError, RecursionError):
        raise RefusedMessageError(Refusal.NOT_JSON) from None
    match found:
        case [[str(experiment_id), str(job_id)], {**kwargs}, {**embedded}] if not kwargs and not embedded:
            if _JOB_ID.fullmatch(job_id) or job_id == POST_JOB_ID:
                return experiment_id, job_id
    raise RefusedMessageError(Refusal.FORM)


_said: set[Refusal] = set()


def say_refused(refusal: Refusal) -> None:
    """Log it, once per kind and process: who floods a queue shall not flood the log."""
    if refusal not in _said:
        _said.add(refusal)
        log.warning("a message in the job queue was refused; others of its kind are dropped unsaid", why=refusal.value)
