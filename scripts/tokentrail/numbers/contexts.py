"""A context: one place of a record where definitions apply, with the words that fill their ids and titles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tokentrail.numbers.registry import Context, Evidence


def of(record: Evidence, words: Mapping[str, Any] | None = None, **more: Any) -> Context:
    """The context of a record, with its label, device, role, case and step as words, and `words` over them."""
    document = record.document
    model = (document["model"] or {}).get("label")
    named = {
        "label": model,
        "device": document["device"] or "none",
        "role": document["role"],
        "case": document["case"],
        "step": document["step"],
    }
    return Context({**named, **(words or {})}, record, model, document["device"], **more)


def own(taken: dict[Any, Any], key: Any, case: str) -> str:
    """What a case adds to an id that is taken: its own name, and a count where it has itself used it before."""
    named = "" if taken.setdefault(key, case) == case else f"-{case}"
    taken[key, case] = n = taken.get((key, case), 0) + 1
    return named + (f"-{n}" if n > 1 else "")
