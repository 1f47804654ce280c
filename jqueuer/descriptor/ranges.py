"""The values of one parameter, counted before any of them is made."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

from jqueuer.descriptor.sweep_model import Range

Value = str | int | float | bool


def length(values: Range | tuple[Value, ...]) -> int:
    """How many values there are, without making them."""
    if isinstance(values, tuple):
        return len(values)
    if values.step is None:
        return values.count or 0
    return int((_exact(values.to) - _exact(values.start)) // _exact(values.step)) + 1


def expand(values: Range | tuple[Value, ...]) -> Iterator[Value]:
    """The values; exact arithmetic, so 0.1 to 0.9 by 0.1 are nine clean numbers."""
    if isinstance(values, tuple):
        yield from values
    elif values.scale == "log":
        yield from _logarithmic(values, length(values))
    else:
        yield from _linear(values, length(values))


def _exact(number: float) -> Fraction:
    return Fraction(repr(number))  # as it was written: 0.1 is a tenth


def _linear(values: Range, count: int) -> Iterator[Value]:
    start, distance = _exact(values.start), _exact(values.to) - _exact(values.start)
    step = distance / (count - 1) if values.step is None else _exact(values.step)
    whole = isinstance(values.start, int) and step.denominator == 1 and not isinstance(values.step, float)
    for index in range(count):
        number = start + index * step
        yield int(number) if whole else float(number)


def _logarithmic(values: Range, count: int) -> Iterator[Value]:
    first, last = math.log(values.start), math.log(values.to)
    between = (math.exp(first + (last - first) * index / (count - 1)) for index in range(1, count - 1))
    # rounded, so that 1 to 1000 in four steps are 1, 10, 100, 1000
    numbers = [values.start, *(float(f"{number:.12g}") for number in between), values.to]
    whole = isinstance(values.start, int) and all(number == int(number) for number in numbers)
    for number in numbers:
        yield int(number) if whole else float(number)
