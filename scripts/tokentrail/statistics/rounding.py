"""What a printed number can have been before it was rounded."""

from __future__ import annotations

import re
from decimal import Decimal

from tokentrail.statistics.intervals import Interval, Quantity

ROUNDING = "rounding of the printed text"
# A comma stands between thousands only: "7340,20" is somebody's decimal comma and no 734,020.
_NUMBER = re.compile(r"^[+-]?(?:\d+|[1-9]\d{0,2}(?:,\d{3})+)(?:\.\d+)?(?:[eE][+-]?\d{1,3})?$|^[+-]?\.\d+$", re.A)


def printed(text: str) -> tuple[float, float, float]:
    """(low, value, high) of a printed decimal: half a unit of its last digit either way.

    `"12095.21"` -> 12095.205, 12095.21, 12095.215; `"938"` -> 937.5 … 938.5. Thousands commas are read.
    Decimal arithmetic, so that the limits are exact before they become floats. ValueError if no number.
    """
    text = text.strip()
    if not _NUMBER.match(text):
        raise ValueError(f"{text!r} is not a printed number")
    value = Decimal(text.replace(",", ""))
    exponent = value.as_tuple().exponent
    half = Decimal(1).scaleb(int(exponent)) / 2
    return float(value - half), float(value), float(value + half)


def rounding_interval(text: str) -> Interval:
    """The certain interval of a printed number (level None: limits, not a probability)."""
    low, _, high = printed(text)
    return Interval(low, high, None, ROUNDING)


def from_printed(text: str, factor: float = 1.0) -> Quantity:
    """A printed number as a quantity with its rounding interval, times `factor` (a unit's size)."""
    low, value, high = printed(text)
    return Quantity(value * factor, Interval(low * factor, high * factor, None, ROUNDING))


def overlap(first: Interval, second: Interval) -> bool:
    """True where two intervals share a value: the rule by which a printed claim holds."""
    slack = 1e-12 * max(abs(first.low), abs(first.high), abs(second.low), abs(second.high))
    return first.low <= second.high + slack and second.low <= first.high + slack
