"""The lesson's patterns as a reader wants them: of what each holds on this machine, and of what it does not."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tokentrail.figures.data import Number, RunData

IN_PART = "holds in part"


@dataclass(frozen=True)
class Group:
    """What one verdict is said of: each number with the words that tell it from the others ("2 users")."""

    verdict: str
    items: list[tuple[str, Number]]
    more: bool = False  # numbers between the first and the last are left out


@dataclass(frozen=True)
class Told:
    """One pattern of a run: its sentence, its verdict in a word, and its numbers by their own verdicts."""

    id: str
    statement: str
    verdict: str
    groups: list[Group]

    @property
    def short(self) -> list[Group]:
        """The same with the first and the last number of each group only."""
        return [g if len(g.items) < 3 else Group(g.verdict, [g.items[0], g.items[-1]], True) for g in self.groups]


def told(ledger: Mapping[str, Any], run: RunData) -> list[Told]:
    """Every pattern of the ledger; one that holds of some numbers only says so."""
    found = []
    for pattern in ledger.get("patterns", []):
        by_verdict: dict[str, list[tuple[str, Number]]] = {}
        for entry in pattern["numbers"]:
            if number := run.by_id.get(entry["number"]):
                by_verdict.setdefault(entry["verdict"], []).append((where(number), number))
        in_part = len(by_verdict) > 1 and "holds" in by_verdict
        groups = [Group(verdict, items) for verdict, items in by_verdict.items()]
        verdict = IN_PART if in_part else pattern["verdict"]
        found.append(Told(pattern["id"], pattern["statement"], verdict, groups))
    return found


def where(number: Number) -> str:
    """What tells a number from the others of its kind: how many users, or which model where."""
    users = re.match(r"(?:batching-gain|slowdown-per-user)-(\d+)(-.+)?", number["id"].removesuffix("-steady"))
    if users:
        return f"{users[1]} users" + (f" of {number['model'].upper()}" if users[2] and number.get("model") else "")
    if number["id"].startswith("prefill-decode-ratio") and number.get("model") and number.get("device"):
        return f"{number['model'].upper()} on {number['device'].upper()}"
    return ""
