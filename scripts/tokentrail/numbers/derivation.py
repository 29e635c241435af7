"""From definitions to numbers: inputs found, the formula computed, the interval carried, the reason kept where not."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tokentrail import statistics
from tokentrail.numbers import formula
from tokentrail.numbers.registry import BOTH, PUBLISHED, STEADY, Context, Definition, Evidence, Missing, Ref, pointer
from tokentrail.problems import Problem
from tokentrail.statistics import Interval, Quantity

READABLE_DIGITS = 4
_CENTRE = {PUBLISHED: ("as_published", "mean"), STEADY: ("steady", "median")}


@dataclass
class Derivation:
    """The numbers made so far, and what a definition may read: contexts by scope, constants, plan."""

    contexts: Mapping[str, Sequence[Context]]
    constants: Mapping[str, dict[str, Any]]
    absent_constants: Mapping[str, str]
    numbers: dict[str, dict[str, Any]] = field(default_factory=dict)
    absent: dict[str, dict[str, str]] = field(default_factory=dict)

    def run(self, definitions: Sequence[Definition]) -> None:
        """Make every number that the evidence allows, in the order of the definitions."""
        for definition in definitions:
            for context in self.contexts.get(definition.scope, ()):
                if definition.applies(context):
                    for view in definition.views:
                        self._one(definition, context, view)

    def _one(self, definition: Definition, context: Context, view: str) -> None:
        identifier = definition.id.format_map(context.words) + ("-steady" if view == STEADY else "")
        label = definition.label.format_map(context.words)
        if identifier in self.numbers:
            return
        try:
            inputs, constants = self._inputs(definition, context, view)
            if view == STEADY and not any(i.get("steady") for i in inputs):
                return  # the same as without suffix
            made = _number(definition, identifier, label, context, view, inputs, constants)
        except (Missing, Problem) as reason:
            self.absent.setdefault(
                identifier,
                {
                    "id": identifier,
                    "label": label,
                    "step": definition.step.format_map(context.words),
                    "reason": str(reason),
                },
            )
            return
        self.absent.pop(identifier, None)
        self.numbers[identifier] = made

    def _inputs(
        self, definition: Definition, context: Context, view: str
    ) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        inputs, constants = [], []
        for name, ref in definition.inputs.items():
            if ref.kind == "constant":
                constants.append(self._constant(name, ref.where))
                continue
            refs = context.lists.get(ref.where, ()) if ref.kind == "each" else (ref,)
            if not refs:
                raise Missing(f"nothing to take {name} from")
            inputs += [self._input(name, one, context, view) for one in refs]
        return inputs, constants

    def _constant(self, name: str, key: str) -> dict[str, Any]:
        if key not in self.constants:
            raise Missing(self.absent_constants.get(key, f"no constant {key} in the configuration"))
        return {"name": name, **self.constants[key]}

    def _input(self, name: str, ref: Ref, context: Context, view: str) -> dict[str, Any]:
        if ref.kind == "number":
            return self._from_number(name, ref.where.format_map(context.words), view)
        record = ref.record or context.record
        if record is None:
            raise Missing("no record to read")
        return _from_record(name, ref, context, view, record)

    def _from_number(self, name: str, identifier: str, view: str) -> dict[str, Any]:
        twin = f"{identifier}-steady"
        steady = view == STEADY and twin in self.numbers
        found = self.numbers.get(twin if steady else identifier)
        if view == STEADY and not steady and (twin in self.absent or found is None or found["view"] == PUBLISHED):
            raise Missing(self._why(twin, identifier))
        if found is None:
            raise Missing(self._why(identifier))
        quantity = _quantity_of(found)
        reasons = [] if found["valid"] else found["reasons"]
        return {"kind": "number", "name": name, "id": found["id"], "value": found["value"], "unit": found["unit"],
                "quantity": quantity, "steady": steady, "reasons": reasons}  # fmt: skip

    def _why(self, *identifiers: str) -> str:
        for identifier in identifiers:
            if identifier in self.absent:
                reason = self.absent[identifier]["reason"]
                return reason if reason.startswith("needs ") else f"needs {identifier}: {reason}"
        return f"needs {identifiers[0]}, which this run does not have"


def _at(document: Mapping[str, Any], path: str) -> Any:
    try:
        return pointer(document, path)
    except Missing as reason:
        raise Missing(f"case {document['case']}: {reason}") from None


def _from_record(name: str, ref: Ref, context: Context, view: str, record: Evidence) -> dict[str, Any]:
    where = ref.where.format_map(context.words)
    document = record.document
    case = document["case"]
    if ref.kind == "stat":
        key, centre = _CENTRE[view]
        found = _at(document, where) or {}
        statistic = found.get(key)
        if statistic is None or statistic.get(centre) is None:
            raise Missing(found.get("reason") or _no_view(document, view))
        value, where = statistic[centre], f"{where}/{key}/{centre}"
        quantity = _quantity(value, statistic.get("interval"))
    else:
        value = _at(document, where)
        if value is None:
            raise Missing((document.get("model") or {}).get("missing", {}).get(where.rsplit("/", 1)[-1])
                          or f"case {case} has no {where.rsplit('/', 1)[-1]}")  # fmt: skip
        quantity = _plain(value, document) if ref.kind == "plain" else formula.exact(value)
    # the size of a model, or the time a failed case took, is true whatever became of the measurement
    independent = ref.kind == "always" or where.startswith("/model/")
    reasons = []
    if not document["valid"] and not independent:
        codes = ", ".join(r["code"] for r in document["reasons"])
        reasons.append({"code": "record-invalid", "message": f"case {case} is not valid: {codes}"})
    return {"kind": "record", "name": name, "file": record.file, "sha256": record.sha256, "pointer": where,
            "value": value, "unit": ref.unit, "quantity": quantity, "steady": ref.kind == "stat" and view == STEADY,
            "reasons": reasons}  # fmt: skip


def _no_view(document: dict[str, Any], view: str) -> str:
    case = document["case"]
    if not document["valid"] and document["reasons"]:
        return f"case {case}: {document['reasons'][0]['message']}"
    if document["origin"] == "transcribed":
        return f"case {case} was transcribed: its source holds no single samples"
    if view == STEADY:
        return f"case {case} has no warm sample"
    return f"case {case} has no such statistic"


def _plain(value: float, document: dict[str, Any]) -> Quantity:
    if document["origin"] == "transcribed":
        return statistics.from_printed(f"{value}")
    return Quantity(value, reason="a single reading: nothing tells how far another one would be")


def _quantity(value: float, interval: dict[str, Any] | None) -> Quantity:
    return Quantity(value, Interval.from_dict(interval), None if interval else "a single sample: its spread is unknown")


def _quantity_of(found: dict[str, Any]) -> Quantity:
    if found.get("exact"):
        return formula.exact(found["value"])
    return Quantity(found["value"], Interval.from_dict(found.get("interval")), found.get("interval_reason"))


_INPUT_KEYS = ("kind", "name", "file", "sha256", "pointer", "id", "value", "unit")


def _number(
    definition: Definition,
    identifier: str,
    label: str,
    context: Context,
    view: str,
    inputs: list[dict[str, Any]],
    constants: list[dict[str, Any]],
) -> dict[str, Any]:
    pairs = [(i["name"], i["quantity"]) for i in inputs] + [(c["name"], formula.exact(c["value"])) for c in constants]
    result = formula.evaluate(definition.code, pairs)
    reasons = _distinct(reason for i in inputs for reason in i["reasons"])
    made = {
        "id": identifier, "label": label, "step": definition.step.format_map(context.words), "value": result.value,
        "unit": definition.unit,
        "formula": {"words": definition.words.format_map(context.words), "code": definition.code},
        "inputs": [{k: i[k] for k in _INPUT_KEYS if i.get(k) not in (None, "")} for i in inputs],
        "constants": constants, "valid": not reasons, "reasons": reasons,
        "view": view if view not in BOTH or not result.exact else "exact",
        "shown": _shown(result, definition.unit),
        "group": definition.group,
    }  # fmt: skip
    if definition.headline:
        made["headline"] = True
    if context.model or context.device:
        made |= {"model": context.model, "device": context.device}
    if definition.note:
        made["remarks"] = [{"code": "assumption", "message": definition.note.format_map(context.words)}]
    if result.exact:
        return made | {"exact": True}
    if result.interval is None:
        return made | {"interval": None, "interval_reason": result.reason or "an input has no interval"}
    return made | {"interval": result.interval.as_dict()}


def _shown(result: Quantity, unit: str) -> str:
    """Digits that the interval supports; of certain ones, and of exact quotients, no more than a reader can use."""
    interval, whole = result.interval, float(result.value).is_integer()
    sure = (result.exact and not whole) or (interval is not None and interval.certain)
    if sure and result.value:
        places = min(math.floor(math.log10(abs(result.value))) - READABLE_DIGITS + 1, 0)
        half = max((interval.high - interval.low) / 2 if interval else 0.0, 10.0**places / 2)
        return statistics.shown(result.value, _around(result.value, half), unit)
    return statistics.shown(result.value, interval, unit, result.exact)


def _around(value: float, half: float, level: float | None = None) -> Interval:
    return Interval(value - half, value + half, level, "for reading")


def _distinct(reasons: Iterator[dict[str, str]]) -> list[dict[str, str]]:
    seen = {(r["code"], r["message"]): r for r in reasons}
    return [seen[key] for key in sorted(seen)]
