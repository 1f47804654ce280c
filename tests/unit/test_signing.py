"""Signatures of job messages."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from jqueuer.kinds import JOB_ID_PATTERN
from jqueuer.signing import MessageSigner

IDS = st.from_regex(JOB_ID_PATTERN, fullmatch=True).filter(lambda name: "\n" not in name)


@given(experiment=IDS, job=IDS, others=st.tuples(IDS, IDS))
def test_a_signature_is_of_these_ids_and_no_others(experiment: str, job: str, others: tuple[str, str]) -> None:
    signer = MessageSigner("secret")
    signature = signer.sign(experiment, job)
    assert MessageSigner("secret").holds(experiment, job, signature)
    assert signer.holds(*others, signature) is (others == (experiment, job))
    assert not MessageSigner("another").holds(experiment, job, signature)


@given(signature=st.text())
def test_whatever_is_given_for_a_signature_is_compared(signature: str) -> None:
    assert not MessageSigner("secret").holds("x", "a", signature)


@given(signature=st.text())
def test_without_a_secret_nothing_is_signed_and_everything_accepted(signature: str) -> None:
    assert MessageSigner("").sign("x", "a") == ""
    assert MessageSigner("").holds("x", "a", signature)


def test_the_key_is_not_the_secret_itself() -> None:
    """Which agents also show the manager: a signature of other text by it is none of these."""
    import hashlib
    import hmac

    assert MessageSigner("secret").sign("x", "a") != hmac.digest(b"secret", b"x\na", hashlib.sha256).hex()
