"""From what a reader has (an id, a claim, a printed "767 GB/s") to the numbers it can mean."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from tokentrail.statistics import printed

# spellings of a unit that mean the same
_SAME = {
    "tokens/s": ("tokens a second", "tokens per second", "t/s", "tok/s", "token/s", "tps"),
    "GB/s": ("gb a second", "gb per second", "gbps"),
    "ratio": ("times", "×", "x", "times longer", "times less", "-fold"),
    "fraction": ("%", "percent", "per cent"),
    "ms": ("milliseconds",),
    "s": ("seconds", "second"),
    "million parameters": ("million",),
    "TFLOP/s": ("tflops", "trillion operations a second"),
    "FLOP/byte": ("operations for every byte",),
}
UNITS = {alias: unit for unit, aliases in _SAME.items() for alias in (unit.lower(), *aliases)}
_TEXT = re.compile(r"^(?:about|nearly|≈|~|ca\.?)?\s*([+-]?\d[\d,]*(?:\.\d+)?)\s*(.*?)\.?$", re.I)


def find(
    query: str, documents: Mapping[str, Mapping[str, Any]], claims: Sequence[Mapping[str, Any]]
) -> list[dict[str, str]]:
    """[{"run", "id", "as"}] of the numbers that `query` names; the best kind of match only.

    An id (of a number, then of a claim) wins over a claim's printed text, that over a number's shown text, that over a
    value that rounds to the digits typed.
    """
    by_id = [_hit(run, query, "id") for run, d in documents.items() if any(n["id"] == query for n in d["numbers"])]
    if by_id:
        return by_id
    asked = parse(query)
    if asked is None:
        return []
    printed_claims = {c.get("number", c["id"]) for c in claims if parse(c["shown"]) == asked}
    hits = [
        _hit(run, number["id"], "printed by the published page")
        for run, document in documents.items() if document["origin"] == "transcribed"
        for number in document["numbers"] if number["id"] in printed_claims
    ]  # fmt: skip
    for how, matches in (("shown so", _shown), ("rounds to it", _rounds)):
        if hits:
            break
        hits = [
            _hit(run, number["id"], how)
            for run, document in documents.items()
            for number in document["numbers"]
            if matches(number, query, asked)
        ]
    return hits


def _hit(run: str, identifier: str, how: str) -> dict[str, str]:
    return {"run": run, "id": identifier, "as": how}


def _shown(number: Mapping[str, Any], query: str, asked: tuple[float, float, str]) -> bool:
    return parse(number["shown"]) == asked


def _rounds(number: Mapping[str, Any], query: str, asked: tuple[float, float, str]) -> bool:
    low, high, unit = asked
    if number["value"] is None or unit != number["unit"]:
        return False
    scale = 100.0 if unit == "fraction" else 1.0
    return low <= number["value"] * scale <= high


def parse(text: str) -> tuple[float, float, str] | None:
    """(low, high, unit) that a printed text can mean; None where it is no number with a unit."""
    match = _TEXT.match(text.strip())
    if not match:
        return None
    words = match[2].strip()
    unit = UNITS.get(words.lower(), words)
    try:
        low, _, high = printed(match[1])
    except ValueError:
        return None  # "7340,20": a decimal comma is no thousands separator
    return low, high, unit
