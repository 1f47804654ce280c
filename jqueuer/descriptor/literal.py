"""The tolerant reader for the descriptions of 2018, which were read as Python literals.

Accepts JSON and what their authors wrote instead: trailing commas, single quotes, ``True``, ``False`` and ``None``,
comments with ``#`` and ``//``. Nothing is ever evaluated: the text becomes events, one token at a time.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from enum import Enum
from typing import Any

from jqueuer.descriptor.events import MAX_DEPTH, MAX_DIGITS, Event, Kind
from jqueuer.descriptor.faults import fault
from jqueuer.kinds import WrittenFloat
from jqueuer.units import shown

_TOKEN = re.compile(
    r"""
      (?P<blank>[ \t\r\n\f\v]+|\#[^\n]*|//[^\n]*)
    | (?P<text>[uU]?(?:"[^"\\\n]*+(?:\\.[^"\\\n]*+)*+"|'[^'\\\n]*+(?:\\.[^'\\\n]*+)*+'))
    | (?P<number>[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)
    | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
    | (?P<mark>[\[\]{},:])
    """,
    re.VERBOSE | re.DOTALL,
)
_NAMES = {"true": True, "True": True, "false": False, "False": False, "null": None, "None": None}
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|x[0-9a-fA-F]{2}|.)", re.DOTALL)
_ESCAPED = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "a": "\a", "\n": ""}
_ESCAPED |= {character: character for character in "\"'\\/"}


def literal_events(text: str) -> Iterator[Event]:
    """The events of a literal; :class:`~jqueuer.errors.DescriptionError` with the line where it is not one."""
    return _Parser(text).events()


class _Expect(Enum):
    """What may come next."""

    VALUE = "a value"
    KEY = "a key in quotes"
    COLON = "':' after the key"
    SEPARATOR = "a comma or the end of it"
    NOTHING = "nothing more"


class _Parser:
    """Checks that tokens stand where they may; the stack holds the closing bracket that each level waits for."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._line = 1
        self._position = 0
        self._closers: list[str] = []

    def events(self) -> Iterator[Event]:
        expected, closable = _Expect.VALUE, False
        for kind, raw in self._tokens():
            if kind == "mark" and raw in "]}":
                if not closable or self._closers.pop() != raw:
                    raise self._unexpected(raw, expected)
                yield Event(Kind.END, self._line)
                expected, closable = self._after_value()
            elif expected is _Expect.COLON and raw == ":":
                expected, closable = _Expect.VALUE, False
            elif expected is _Expect.SEPARATOR and raw == ",":
                expected, closable = self._next_item(), True
            elif expected is _Expect.VALUE and kind == "mark" and raw in "[{":
                yield self._open(raw)
                expected, closable = self._next_item(), True
            elif expected is _Expect.VALUE and kind != "mark":
                yield Event(Kind.SCALAR, self._line, self._scalar(kind, raw))
                expected, closable = self._after_value()
            elif expected is _Expect.KEY and kind == "text":
                yield Event(Kind.SCALAR, self._line, self._string(raw))
                expected, closable = _Expect.COLON, False
            else:
                raise self._unexpected(raw, expected)
        if expected is not _Expect.NOTHING:
            raise fault(f"the text ends where {expected.value} was expected", line=self._line)

    def _open(self, raw: str) -> Event:
        if len(self._closers) >= MAX_DEPTH:
            raise fault(f"nested more than {MAX_DEPTH} levels deep", line=self._line)
        self._closers.append("]" if raw == "[" else "}")
        return Event(Kind.LIST if raw == "[" else Kind.MAPPING, self._line)

    def _next_item(self) -> _Expect:
        return _Expect.VALUE if self._closers[-1] == "]" else _Expect.KEY

    def _after_value(self) -> tuple[_Expect, bool]:
        return (_Expect.SEPARATOR, True) if self._closers else (_Expect.NOTHING, False)

    def _tokens(self) -> Iterator[tuple[str, str]]:
        while self._position < len(self._text):
            match = _TOKEN.match(self._text, self._position)
            if match is None:
                raise self._unreadable()
            self._position = match.end()
            kind = match.lastgroup or ""
            if kind != "blank":
                yield kind, match.group()
            self._line += match.group().count("\n")

    def _scalar(self, kind: str, raw: str) -> Any:
        if kind == "text":
            return self._string(raw)
        if kind == "number":
            return self._number(raw)
        if raw in _NAMES:
            return _NAMES[raw]
        raise fault(f"expected a value, got {shown(raw)}; text needs quotes", line=self._line)

    def _number(self, raw: str) -> int | float:
        if len(raw) > MAX_DIGITS:
            raise fault("a number with very many digits", line=self._line)
        if raw.lstrip("+-").isdigit():
            return int(raw)
        number = WrittenFloat(raw)
        if not math.isfinite(number):
            raise fault(f"the number {raw} is too large", line=self._line)
        return number

    def _string(self, raw: str) -> str:
        body = raw.lstrip("uU")[1:-1]
        if "\\" not in body:
            return body
        text = _ESCAPE.sub(self._unescaped, body)
        try:
            return text.encode("utf-16", "surrogatepass").decode("utf-16")
        except UnicodeDecodeError:
            raise fault("half a surrogate pair is no character", line=self._line) from None

    def _unescaped(self, match: re.Match[str]) -> str:
        code = match.group(1)
        if len(code) > 1:
            number = int(code[1:], 16)
            if number > 0x10FFFF:
                raise fault(f"there is no character {match.group()}", line=self._line)
            return chr(number)
        if code not in _ESCAPED:
            raise fault(f"unknown escape {shown(match.group())} in a text", line=self._line)
        return _ESCAPED[code]

    def _unreadable(self) -> Exception:
        character = self._text[self._position]
        if character in "\"'":
            return fault("a text begins here and is not ended on its line", line=self._line)
        return fault(f"unexpected character {shown(character)}", line=self._line)

    def _unexpected(self, raw: str, expected: _Expect) -> Exception:
        return fault(f"expected {expected.value}, got {shown(raw)}", line=self._line)
