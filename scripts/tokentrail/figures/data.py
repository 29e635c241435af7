"""What a figure may look at: the numbers and records of one run."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tokentrail import jsonio
from tokentrail.figures import NotDrawn

Number = dict[str, Any]
STAMPS = {
    "stand-in": "stand-in weights: real shapes, random values",
    "transcribed": "transcribed from a published page",
}


@dataclass(frozen=True, eq=False)
class RunData:
    """numbers.json and records/ of one run, with the look-ups figures and pages need. Compared by identity."""

    doc: dict[str, Any]
    records: list[dict[str, Any]] = field(default_factory=list)

    @functools.cached_property
    def by_id(self) -> dict[str, Number]:
        return {number["id"]: number for number in self.doc["numbers"]}

    @functools.cached_property
    def base_ids(self) -> list[str]:
        """Ids without the `-steady` twins, in the file's order."""
        return list(dict.fromkeys(number["id"].removesuffix("-steady") for number in self.doc["numbers"]))

    @property
    def name(self) -> str:
        """The run as its path segments: machine/engine/campaign."""
        run = self.doc["run"]
        return f"{run['machine']}/{run['engine']}/{run['campaign']}"

    @property
    def stamps(self) -> list[str]:
        """What every figure and page of this run must say about its numbers' worth."""
        stamps = [STAMPS["transcribed"]] if self.doc["origin"] == "transcribed" else []
        made_up = {model["name"] for model in self.models if model["weights"] == "stand-in"}
        if made_up and len(made_up) < len({model["name"] for model in self.models}):
            names = ", ".join(one_line(name) for name in sorted(made_up))
            return [f"stand-in weights for {names}: real shapes, random values", *stamps]
        return [STAMPS["stand-in"], *stamps] if self.doc["weights"] == "stand-in" else stamps

    @property
    def models(self) -> list[dict[str, Any]]:
        """Facts of every model of the run, from its numbers and its records."""
        return [*(self.doc.get("models") or []), *(r["model"] for r in self.records if r.get("model"))]

    def stand_in(self, label: str) -> bool:
        """Whether this model's weights are made up; the run's word where the model is not known."""
        known = [model["weights"] for model in self.models if model["label"] == label]
        return (known or [self.doc["weights"]])[0] == "stand-in"

    def exact(self, number_id: str) -> Number | None:
        """The number of just this id, if it exists, is valid and has a value."""
        number = self.by_id.get(number_id)
        return number if number and number["valid"] and number["value"] is not None else None

    def best(self, number_id: str) -> Number | None:
        """The steady view of a number where the run has one, else the number as published; None without either."""
        return self.exact(f"{number_id}-steady") or self.exact(number_id)

    def need(self, *number_ids: str) -> list[Number]:
        """The best view of each number; raises NotDrawn naming the first that is missing, with its reason."""
        found = []
        for number_id in number_ids:
            number = self.best(number_id)
            if number is None:
                raise NotDrawn(self.why_missing(number_id))
            found.append(number)
        return found

    def why_missing(self, number_id: str) -> str:
        """One sentence: why this run has no such number."""
        for entry in self.doc["not_measured"]:
            if entry["id"] in (number_id, f"{number_id}-steady"):
                return f"{entry.get('label') or number_id}: {entry['reason']}"
        number = self.by_id.get(number_id)
        if number and number["reasons"]:
            return f"{number['label']}: {number['reasons'][0]['message']}"
        return f"this run has no {number_id}"

    def matching(self, pattern: str) -> list[tuple[re.Match[str], Number]]:
        """Best view of every id that fully matches the pattern, in the file's order; `-steady` is left out of ids."""
        matches = ((match, self.best(base)) for base in self.base_ids if (match := re.fullmatch(pattern, base)))
        return [(match, number) for match, number in matches if number]

    def role(self, *roles: str) -> list[dict[str, Any]]:
        """Valid records of the given roles."""
        return [record for record in self.records if record["role"] in roles and record["valid"]]

    def model_label(self, *roles: str) -> str | None:
        """Label of the model measured by the first record of these roles, valid or not ("0.6b"); None without one."""
        for record in self.records:
            if record["role"] in roles and record.get("model"):
                return record["model"]["label"]
        return None

    def model_name(self, label: str) -> str:
        """The model's name for readers, from its facts; the label itself where there are none."""
        return one_line(next((f["name"] for f in self.models if f["label"] == label), label))


def one_line(text: str, limit: int = 40) -> str:
    """Outside text fit for a sentence or a title: one line, cut at its limit, nothing that reorders what follows."""
    clean = "".join(c if c.isprintable() else "\ufffd" for c in " ".join(text.split()))
    return clean if len(clean) <= limit else clean[: limit - 1].rstrip() + "…"


def load(run_dir: Path) -> RunData:
    """Read a run's numbers, and its records in the plan's order; Problem where one is missing or broken."""
    doc = jsonio.read_json(run_dir / "numbers.json", "numbers")
    records = [jsonio.read_json(path, "record") for path in sorted((run_dir / "records").glob("*.json"))]
    order = {case["case"]: i for i, case in enumerate(doc.get("cases") or [])}
    return RunData(doc, sorted(records, key=lambda record: order.get(record["case"], len(order))))
