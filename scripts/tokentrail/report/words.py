"""Values in words: the exact figures that stand behind a shown number."""

from __future__ import annotations

from typing import Any


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
    """A value to ten digits with its unit, of a number or a constant."""
    return f"{plain(entry['value'], 10)} {entry['unit']}" if entry["value"] is not None else "no value"


def reach(number: dict[str, Any]) -> str:
    """`35,795.4 to 35,795.6 tokens/s`; percent for fractions; empty without an interval."""
    interval = number.get("interval")
    if not interval:
        return ""
    factor, unit = (100, "%") if number["unit"] == "fraction" else (1, number["unit"])
    unit = {"ratio": "×"}.get(unit, unit)
    return f"{plain(factor * interval['low'])} to {plain(factor * interval['high'])} {unit}"


def interval(number: dict[str, Any]) -> str:
    """The interval with its level and how it was found, or why there is none."""
    if number.get("exact"):
        return "exact"
    found = number.get("interval")
    if not found:
        return number.get("interval_reason") or "none"
    level = f"{100 * found['level']:g} %, " if found.get("level") else ""
    return f"{reach(number)} ({level}{found['method']})"
