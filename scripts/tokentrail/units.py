"""Sizes and counts as tools print them; decimal (GB) and binary (GiB) units never mix."""

from __future__ import annotations

import re

from tokentrail.statistics.rounding import printed

BYTES = {
    "B": 1,
    "kB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
    "TiB": 2**40,
}
# Parameter counts: llama.cpp prints M below 1e9 and B (billion) above, so "B" means two things;
# the caller says which by choosing the function.
COUNTS = {"": 1, "K": 10**3, "M": 10**6, "B": 10**9, "T": 10**12}
_QUANTITY = re.compile(r"^\s*(\d[\d,]*(?:\.\d+)?)\s*([A-Za-z]*)\s*$", re.A)


def parse_bytes(text: str) -> dict:
    """`"604.15 MiB"` -> bytes with the rounding of its last digit: {text, value, low, high, unit}.

    Raises ValueError where the text is no size or its unit is not a size's.
    """
    return _parse(text, BYTES, "size")


def parse_count(text: str) -> dict:
    """`"596.05 M"` -> a count with the rounding of its last digit; units K, M, B (1e9), T, or none."""
    return _parse(text, COUNTS, "count")


def convert(value: float, unit: str, to: str) -> float:
    """A size from one unit of BYTES into another; ValueError for an unknown unit (never a guess)."""
    for name in (unit, to):
        if name not in BYTES:
            raise ValueError(f"{name!r} is not a unit of size; known: {', '.join(BYTES)}")
    return value * BYTES[unit] / BYTES[to]


def _parse(text: str, units: dict[str, int], what: str) -> dict:
    match = _QUANTITY.match(text)
    if not match or match[2] not in units:
        raise ValueError(f"{text!r} is not a {what} (units: {', '.join(u or 'none' for u in units)})")
    low, value, high = printed(match[1])
    factor = units[match[2]]
    return {"text": text.strip(), "value": value * factor, "low": low * factor, "high": high * factor, "unit": match[2]}
