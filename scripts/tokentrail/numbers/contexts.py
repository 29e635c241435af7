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


def own(taken: dict[Any, str], key: Any, case: str) -> str:
    """What a case adds to an id that another case already has: its own name; nothing where the id is free."""
    return "" if taken.setdefault(key, case) == case else f"-{case}"
