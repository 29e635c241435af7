"""Numbers as a reader sees them: no more digits than their interval supports."""

from __future__ import annotations

import math
from decimal import ROUND_HALF_EVEN, Decimal

from tokentrail.statistics.intervals import Interval

# Where nothing is known of the error, or hardly any is left, more digits would only look exact.
DIGITS_WITHOUT_INTERVAL = 3
MOST_DIGITS = 6
SUFFIX = {"ratio": " ×", "fraction": " %", "": ""}


def place(value: float, interval: Interval | None) -> int:
    """Power of ten of the last digit worth showing (−2: hundredths).

    Confidence intervals: the Particle Data Group's rule on the half-width (Review of Particle Physics,
    5.3): its first three digits 100–354 keep two digits of it, 355–949 one, 950–999 two of the next power;
    so at most one digit beyond the first uncertain one. Rounding intervals: the printed digit itself.
    """
    largest = max(abs(value), *((abs(interval.low), abs(interval.high)) if interval else (0.0,)))
    top = _power(abs(value) or largest or 1.0)
    if interval is None:
        return top - DIGITS_WITHOUT_INTERVAL + 1
    width = interval.high - interval.low
    if width <= 1e-12 * largest:
        return top - MOST_DIGITS + 1
    if interval.certain:
        return _power(width * (1 + 1e-6))
    half = width / 2
    power = _power(half)
    lead = round(half / 10.0**power * 100)
    digits = power - 1 if lead <= 354 else power
    return max(digits, top - MOST_DIGITS + 1)


def number(value: float, interval: Interval | None, exact: bool = False) -> str:
    """The number alone: thousands separated by commas, never in scientific notation."""
    if exact:
        return _exact(value)
    step = place(value, interval)
    if interval and interval.low * interval.high > 0:
        step = min(step, _power(abs(value)))  # 8 within 0.1 to 600 is no 0
    rounded = Decimal(repr(float(value))).quantize(Decimal(1).scaleb(step), rounding=ROUND_HALF_EVEN)
    return _commas(rounded, max(0, -step))


def shown(value: float | None, interval: Interval | None, unit: str, exact: bool = False) -> str:
    """The number with its unit; ratio as ×, fraction as percent; "not measured" for None.

    shown(35796.0, Interval(27300, 46900, …), "tokens/s") -> "36,000 tokens/s".
    """
    if value is None:
        return "not measured"
    if unit == "fraction":
        value, interval = value * 100, _percent(interval)
    return number(value, interval, exact) + SUFFIX.get(unit, f" {unit}")


def _percent(interval: Interval | None) -> Interval | None:
    if interval is None:
        return None
    return Interval(interval.low * 100, interval.high * 100, interval.level, interval.method, interval.n)


def _exact(value: float) -> str:
    if float(value).is_integer():
        return f"{int(value):,}"
    # An exact quotient (a constant over a constant) may have endless digits; six say enough.
    digits = max(0, MOST_DIGITS - 1 - _power(abs(value)))
    text = _commas(Decimal(repr(float(value))).quantize(Decimal(1).scaleb(-digits)), digits)
    return text.rstrip("0").rstrip(".") if "." in text else text


def _commas(value: Decimal, decimals: int) -> str:
    text = f"{value:,.{decimals}f}"
    return text.lstrip("-") if not value else text


def _power(value: float) -> int:
    return math.floor(math.log10(value))
