"""The gate before a worker: what the one form of a job's message is, and what becomes of all others."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from kombu.compression import decompress

from jqueuer.adapters.job_messages import Refusal, RefusedMessageError, compose, named_job
from jqueuer.model import POST_JOB_ID
from jqueuer.signing import MessageSigner
from tests.contract import forged_messages
from tests.contract.forged_messages import EXPERIMENT, HEADERS, KEY, SIGNER, Forged

FORGED = list(forged_messages.forged_messages(Path("/nowhere")))


def sent(job_id: str, signer: MessageSigner = SIGNER, experiment_id: str = EXPERIMENT) -> Forged:
    body, headers = compose(signer, experiment_id, job_id)
    return Forged("as it is sent", Refusal.FORM, json.dumps(body).encode(), dict(headers))


def test_what_is_composed_is_read() -> None:
    for job_id in ("a", "x" * 128, "a.b_c-d", POST_JOB_ID):
        assert named_job(sent(job_id), EXPERIMENT, MessageSigner(KEY)) == job_id


@pytest.mark.parametrize(
    "forged", [one for one in FORGED if "compression" not in one.headers], ids=lambda one: one.name
)
def test_a_forged_message_gets_its_stated_answer(forged: Forged) -> None:
    with pytest.raises(RefusedMessageError) as refused:
        named_job(forged, EXPERIMENT, SIGNER)
    assert refused.value.refusal is forged.answer


def test_every_forgery_has_a_name_of_its_own() -> None:
    assert len({one.name for one in FORGED}) == len(FORGED) >= 100


def test_the_bomb_is_one() -> None:
    """The corpus shows nothing if kombu would not unpack it."""
    (bomb,) = (one for one in FORGED if one.headers.get("compression") == "application/x-gzip")
    assert len(decompress(bomb.body, "application/x-gzip")) == 100_000_000


def test_what_brokers_add_to_the_headers_is_no_matter() -> None:
    message = sent("a")
    for added in ({"redelivered": True}, {"x-delivery-count": 3, "x-death": [{"reason": "expired"}]}):
        assert named_job(replace(message, headers={**message.headers, **added}), EXPERIMENT, SIGNER) == "a"


def test_without_a_key_only_the_form_is_asked_for() -> None:
    open_to_all = MessageSigner("")
    assert named_job(sent("a", open_to_all), EXPERIMENT, open_to_all) == "a"
    assert named_job(sent("a", SIGNER), EXPERIMENT, open_to_all) == "a"
    with pytest.raises(RefusedMessageError, match="another task"):
        named_job(replace(sent("a"), headers={**HEADERS, "task": "celery.chord"}), EXPERIMENT, open_to_all)
