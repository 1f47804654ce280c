"""The tolerant reader: JSON and the Python literals that passed for it in 2018, never evaluated."""

import contextlib
import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from jqueuer.descriptor import read_description
from jqueuer.descriptor.events import build
from jqueuer.descriptor.literal import literal_events
from jqueuer.errors import DescriptionError
from tests.strategies import json_values


def parse(text: str) -> Any:
    return build(literal_events(text))


@given(json_values, st.booleans(), st.sampled_from([None, 1, "\t"]))
@example(-0.0, True, None)
@example("\ud83d\ude00 \u2028 \\ / \x7f", True, None)
def test_it_agrees_with_json_on_all_valid_json(value: Any, ascii_only: bool, indent: int | str | None) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    assert parse(text) == json.loads(text)
    assert repr(parse(text)) == repr(json.loads(text))


@given(json_values)
def test_it_agrees_with_python_on_its_literals(value: Any) -> None:
    assert parse(repr(value)) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[1, 2,]", [1, 2]),
        ("{'a': 1,}", {"a": 1}),
        ("[True, False, None, true, false, null]", [True, False, None, True, False, None]),
        ("# first\n{'a': 1, # why\n // and more\n 'b': 2}", {"a": 1, "b": 2}),
        ("""u'it\\'s' """, "it's"),
        ('"a\\tb\\x41\\u00e9\\U0001F600\\\n!"', "a\tbAé😀!"),
        ("'# no comment // here'", "# no comment // here"),
        ("[+1, -.5, 1., 1e2]", [1, -0.5, 1.0, 100.0]),
        ("{}", {}),
    ],
)
def test_it_reads_what_was_written_in_2018(text: str, value: Any) -> None:
    assert parse(text) == value


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("[1,\n2,,\n3]", 2, "expected a value, got ','"),
        ("[1\n2]", 2, "expected a comma or the end of it, got '2'"),
        ("{'a'\n1}", 2, "expected ':' after the key, got '1'"),
        ("{\n1: 2}", 2, "expected a key in quotes, got '1'"),
        ("[1,\n2}", 2, "expected a comma or the end of it, got '}'"),
        ("[1]\n]", 2, "expected nothing more, got ']'"),
        ("[1,\n'a", 2, "a text begins here and is not ended on its line"),
        ("[1,\n\n", 3, "the text ends where a value was expected"),
        ("[\n(1, 2)]", 2, "unexpected character '('"),
        ("[\nopen('x')]", 2, "expected a value, got 'open'; text needs quotes"),
        ("['\\q']", 1, "unknown escape '\\\\q' in a text"),
        ("'\\ud800'", 1, "half a surrogate pair is no character"),
        ("'\\UFFFFFFFF'", 1, "there is no character \\UFFFFFFFF"),
        ("1e999", 1, "the number 1e999 is too large"),
        ("{'a': 1,\n'a': 2}", 2, "the key 'a' occurs twice in one mapping"),
        ("", 1, "the text ends where a value was expected"),
    ],
)
def test_it_says_where_and_what_is_wrong(text: str, line: int, problem: str) -> None:
    with pytest.raises(DescriptionError) as caught:
        parse(text)
    (fault,) = caught.value.faults
    assert (fault.line, fault.message) == (line, problem)


@given(st.text(st.sampled_from("[]{},:'\"\\ \n#/10.eE+-uTrueNonefalsnul\x85é"), max_size=30))
def test_it_raises_nothing_but_description_errors(text: str) -> None:
    with contextlib.suppress(DescriptionError):
        parse(text)


@given(
    st.sampled_from(
        [b"", b'{"image_url": "x", "jobs": ', b"jobs: ", b'{"jobs": [{"command": ', b'{"container_name": ']
    ).flatmap(
        lambda start: (st.binary(max_size=40) | st.text(max_size=40).map(lambda t: t.encode())).map(start.__add__)
    )
)
def test_no_bytes_make_the_reader_raise_anything_else(data: bytes) -> None:
    with contextlib.suppress(DescriptionError):
        list(read_description(data).jobs)
