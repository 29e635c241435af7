"""Values in words: the exact figures that stand behind a shown number."""

from __future__ import annotations

import math
import re
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any

from tokentrail.statistics.intervals import Interval
from tokentrail.statistics.shown import place

MORE_DIGITS = 4


def plain(value: float, digits: int = 6) -> str:
    """`35,795.5`: so many significant digits, thousands separated, never in powers of ten."""
    if value == int(value) and abs(value) < 10**15:
        return f"{int(value):,}"
    text = f"{value:.{digits}g}"
    if "e" in text:
        decimals = max(0, digits - 1 - int(text.split("e")[1]))
        return f"{value:,.{decimals}f}".rstrip("0") if decimals else f"{value:,.0f}"
    return f"{value:,.{len(text.partition('.')[2])}f}"


def exactly(entry: dict[str, Any]) -> str:
    """A value to ten digits with its unit, of a number or a constant; a fraction in percent."""
    if entry["value"] is None:
        return "no value"
    return f"{plain(entry['value'] * (100 if entry['unit'] == 'fraction' else 1), 10)} {unit_of(entry)}"


def plain_label(label: str) -> str:
    """A number's label as a row of a table has it: without its view, a request by what was asked."""
    text = re.sub(r", steady$", "", label)
    return re.sub(r"\blong-warm-(\d+) request", r"long request, warm server, at most \1 tokens", text)


def step_name(step: str) -> str:
    """`step 4`; what stands beside the lesson's steps by what it is."""
    names = {"check-3": "step 3b", "deeper": "arithmetic", "ceiling": "memory's ceiling"}
    return names.get(step) or (f"step {step}" if step[:1].isdigit() else step)


def reach(number: dict[str, Any], with_unit: bool = True) -> str:
    """`32,600 to 35,700 tokens/s`; percent for fractions; empty without an interval."""
    found = ends(number)
    return " to ".join(found) + (f" {unit_of(number)}" if with_unit else "") if found else ""


def unit_of(number: dict[str, Any]) -> str:
    """The unit as readers see it."""
    return {"fraction": "%", "ratio": "×"}.get(number["unit"], number["unit"])


def ends(number: dict[str, Any]) -> list[str]:
    """Both ends of the interval, to the last digit that the number is shown to; more only where they would be alike."""
    found = number.get("interval")
    if not found:
        return []
    factor = 100 if number["unit"] == "fraction" else 1
    low, high = factor * found["low"], factor * found["high"]
    step = place(factor * number["value"], Interval(low, high, found.get("level"), found["method"]))
    step -= found.get("level") is None  # certain limits lie half a digit beyond the value
    said = [rounded(low, step), rounded(high, step)]
    for finer in range(step - 1, step - MORE_DIGITS - 1, -1):
        if said[0] != said[1] or low == high:
            break
        said = [rounded(low, finer), rounded(high, finer)]
    return said


def rounded(value: float, step: int) -> str:
    """The value to the digit of 10^step, thousands separated; to its first digit where that would leave a zero."""
    if value and abs(value) < 10.0**step / 2:
        step = math.floor(math.log10(abs(value)))
    near = Decimal(repr(float(value))).quantize(Decimal(1).scaleb(step), rounding=ROUND_HALF_EVEN)
    return f"{near:,.{max(0, -step)}f}"


def interval(number: dict[str, Any]) -> str:
    """The interval with its level and how it was found, or why there is none."""
    if number.get("exact"):
        return "exact"
    found = number.get("interval")
    if not found:
        return number.get("interval_reason") or "none"
    level = f"{100 * found['level']:g} %, " if found.get("level") else ""
    return f"{reach(number)} ({level}{found['method']})"
