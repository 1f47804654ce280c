import pytest
from hypothesis import given
from hypothesis import strategies as st

from cautoscaler import MAX_ANSWER_BYTES, Advice, read_advice


def test_a_number_and_its_reason_are_read() -> None:
    assert read_advice(200, b'{"containers": 7, "reason": "night tariff"}') == Advice(7, "night tariff")
    assert read_advice(201, b'{"containers": 0, "more": []}') == Advice(0)


@pytest.mark.parametrize(
    ("status", "body", "error"),
    [
        (500, b'{"containers": 7}', "it answered with status 500"),
        (302, b"", "it answered with status 302"),
        (200, b" " * (MAX_ANSWER_BYTES + 1), "its answer is larger than 65536 bytes"),
        (200, b"", "its answer is not JSON"),
        (200, b"\xff\xfe", "its answer is not JSON"),
        (200, b"[" * 50_000, "its answer is not JSON"),
        (200, b'{"containers": ' + b"9" * 20_000 + b"}", "its answer is not JSON"),
        (200, b"7", 'its answer is not an object such as {"containers": 3}'),
        (200, b"{}", 'its answer lacks "containers", a whole number from 0 to 1000000'),
        (200, b'{"containers": -1}', 'its answer lacks "containers", a whole number from 0 to 1000000'),
        (200, b'{"containers": true}', 'its answer lacks "containers", a whole number from 0 to 1000000'),
        (200, b'{"containers": 2.5}', 'its answer lacks "containers", a whole number from 0 to 1000000'),
        (200, b'{"containers": NaN}', 'its answer lacks "containers", a whole number from 0 to 1000000'),
    ],
)
def test_a_wrong_answer_becomes_an_error_in_words(status: int, body: bytes, error: str) -> None:
    assert read_advice(status, body) == Advice(error=error)


@given(st.integers(100, 599), st.binary(max_size=200))
def test_no_answer_raises(status: int, body: bytes) -> None:
    advice = read_advice(status, body)
    assert (advice.containers is None) == bool(advice.error)
