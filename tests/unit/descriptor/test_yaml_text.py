"""YAML: plain values only, as in YAML 1.2 and JSON."""

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from jqueuer.descriptor.document import read_document
from jqueuer.errors import DescriptionError


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("yes", "yes"),
        ("off", "off"),
        ("12:30", "12:30"),
        ("2030-01-01", "2030-01-01"),
        ("010", "010"),
        ("1_000", "1_000"),
        ("0x10", "0x10"),
        ("true", True),
        ("False", False),
        ("~", None),
        ("", None),
        ("-7", -7),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("12e4567", "12e4567"),
        ("'5'", "5"),
        ("!!str 5", "5"),
        ("! 5", "5"),
        ("!!int 5", 5),
        ("|\n  two\n  lines", "two\nlines"),
    ],
)
def test_scalars_mean_what_they_mean_in_json(written: str, value: object) -> None:
    assert read_document(f"key: {written}".encode()).value == {"key": value}


def test_aliases_and_merge_keys_are_expanded() -> None:
    text = b"""\
base: &base {a: 1, b: 2}
more: &more {b: 3, c: 4}
one: {<<: *base, b: 5}
two:
  <<: [*base, *more]
again: *base
quoted: {"<<": 1}
"""
    value = read_document(text).value
    assert value["one"] == {"a": 1, "b": 5}
    assert value["two"] == {"a": 1, "b": 2, "c": 4}
    assert value["again"] == {"a": 1, "b": 2}
    assert value["quoted"] == {"<<": 1}


def test_only_mappings_can_be_merged() -> None:
    with pytest.raises(DescriptionError, match="merges mappings"):
        read_document(b"a: &a [1]\nb: {<<: *a}")


def test_aliases_cannot_nest_deeper_than_what_is_written() -> None:
    chain = "\n".join(f"k{level}: &k{level} [*k{level - 1}]" for level in range(1, 100))
    with pytest.raises(DescriptionError, match="nested more than 50 levels"):
        read_document(f"k0: &k0 [x]\n{chain}".encode())


def test_keys_are_text() -> None:
    assert read_document(b"1: a\ntrue: b\n1.5: c").value == {"1": "a", "true": "b", "1.5": "c"}
    for text in (b"? [a]\n: b", b"~: b", b"a: &a [x]\n*a : c"):
        with pytest.raises(DescriptionError, match="a key must be text"):
            read_document(text)


def test_the_parser_written_in_python_reads_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jqueuer.descriptor.yamltext._Loader", yaml.SafeLoader)
    assert read_document(b"a: [1, {b: 'c'}]\nd: |\n  e\n").value == {"a": [1, {"b": "c"}], "d": "e\n"}
    for text in (b'a: "\\U00110000"', b'a: "\\ud800"', b"a: [", b"a: \x07", b"a: !!python/name:os x"):
        with pytest.raises(DescriptionError):
            read_document(text)


def test_an_escape_that_is_no_character_is_refused() -> None:
    with pytest.raises(DescriptionError, match="not valid YAML"):
        read_document(b'a: "\\ud800"')


plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.text(st.characters(codec="ascii", categories=["L", "Nd"], exclude_characters="eE")),
    lambda children: (
        st.lists(children, max_size=3) | st.dictionaries(st.from_regex(r"\A[a-z]{1,8}\Z"), children, max_size=3)
    ),
    max_leaves=15,
)


@given(st.dictionaries(st.from_regex(r"\A[a-z]{2,8}\Z"), plain, min_size=1, max_size=3))
def test_what_another_writer_of_yaml_wrote_is_read(value: dict[str, Any]) -> None:
    assert read_document(yaml.safe_dump(value).encode()).value == value
