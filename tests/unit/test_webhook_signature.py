"""Webhooks are signed as the Standard Webhooks specification says; the documentation's snippet agrees."""

from __future__ import annotations

import base64
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jqueuer.notifying import check_secret, headers, new_secret
from tests.embedded.webhook_receiver import documented_check

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def test_the_published_vector_is_signed_as_published() -> None:
    """That of the reference libraries."""
    assert headers(SECRET, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330.9, b'{"test": 2432232314}') == {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }


@given(st.binary(max_size=200))
def test_the_documented_check_takes_what_we_sign_and_nothing_else(body: bytes) -> None:
    check, secret, now = documented_check(), new_secret(), time.time()
    signed = headers(secret, "msg_1", now, body)
    assert check(secret, signed, body)
    assert not check(secret, signed, body + b" ")
    assert not check(new_secret(), signed, body)
    assert not check(secret, {**signed, "webhook-id": "msg_2"}, body)
    assert not check(secret, headers(secret, "msg_1", now - 600, body), body), "somebody sends an old one again"
    assert check(secret, {**signed, "webhook-signature": f"v1,b2xk {signed['webhook-signature']}"}, body)


@pytest.mark.parametrize(
    "secret",
    [
        "",
        "hunter2",
        "whsec_",
        "whsec_hunter2!",
        "whsec_" + base64.b64encode(b"x" * 23).decode(),
        "whsec_" + base64.b64encode(b"x" * 65).decode(),
        SECRET.removeprefix("whsec_"),
        f"{SECRET} ",
    ],
)
def test_a_secret_of_another_form_is_refused_without_repeating_it(secret: str) -> None:
    with pytest.raises(ValueError, match="expected whsec_ and then 24 to 64 random bytes in base64") as told:
        check_secret(secret)
    assert not secret.removeprefix("whsec_") or secret not in str(told.value)


def test_secrets_are_long_and_unlike() -> None:
    made = {new_secret() for _ in range(20)}
    assert len(made) == 20
    assert {len(base64.b64decode(check_secret(one).removeprefix("whsec_"))) for one in made} == {32}
