"""The lesson's patterns, checked on any machine with any models: what should hold wherever an LLM is served.

A pattern holds when the number behind it lies on the right side with its whole interval; where the interval
reaches over the line, it is not decided.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

# whose it is: nothing for the lesson's own small model, else the model and what was varied
_OF = r"(?:-(?!over-bench).+)?"
# pattern -> (regular expression on number ids, side, limit); the page's words "many times" are taken as 2
TESTS: dict[str, tuple[str, str, float]] = {
    "prefill-beats-decode": (r"prefill-decode-ratio-[^-]+(?:\.[^-]+)*-(?:gpu|cpu)", "above", 2.0),
    "gpu-loss-hurts-prefill-more": (r"hurt-ratio", "above", 1.0),
    "batching-raises-total": (rf"batching-gain-\d+{_OF}", "above", 1.0),
    "batching-lowers-each": (rf"slowdown-per-user-\d+{_OF}", "above", 1.0),
    "longer-prompt-waits-longer": (r"ttft-growth", "above", 1.0),
    "bigger-model-decodes-slower": (r"decode-slowdown-bigger-model", "above", 1.0),
}


def check(pattern: Mapping[str, str], here: Mapping[str, Any]) -> dict[str, Any]:
    """{"id", "statement", "verdict", "numbers"}: holds | does not hold | not decided | not measured."""
    expression, _, limit = TESTS[pattern["id"]]
    found = []
    for identifier, number in here.items():
        base = identifier.removesuffix("-steady")
        better = identifier == base and f"{base}-steady" in here
        if re.fullmatch(expression, base) and not better and number["valid"] and number["value"] is not None:
            found.append({"number": identifier, "shown": number["shown"], "verdict": _side(number, limit)})
    return {**pattern, "limit": limit, "verdict": _together([f["verdict"] for f in found]), "numbers": found}


def _side(number: Mapping[str, Any], limit: float) -> str:
    interval = number.get("interval") or {"low": number["value"], "high": number["value"]}
    if interval["low"] > limit:
        return "holds"
    return "does not hold" if interval["high"] < limit else "not decided"


def _together(verdicts: Sequence[str]) -> str:
    if not verdicts:
        return "not measured"
    return next((v for v in ("does not hold", "not decided") if v in verdicts), "holds")
