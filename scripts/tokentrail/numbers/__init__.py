"""The one place where numbers are derived: records and constants in, numbers.json out."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tokentrail import config, jsonio
from tokentrail.numbers import (
    batching,
    bench,
    compute,
    cost,
    energy,
    inference,
    memory,
    reconcile,
    requests,
    scopes,
    sizes,
)
from tokentrail.numbers.constants import of_machine
from tokentrail.numbers.derivation import Derivation
from tokentrail.numbers.registry import Definition, Evidence

# In the order of their dependence: a definition reads only numbers of those before it.
REGISTRY: tuple[Definition, ...] = (
    *sizes.DEFINITIONS, *bench.DEFINITIONS, *memory.DEFINITIONS, *requests.DEFINITIONS, *batching.DEFINITIONS,
    *compute.DEFINITIONS, *cost.DEFINITIONS, *energy.DEFINITIONS, *inference.DEFINITIONS, *reconcile.DEFINITIONS,
)  # fmt: skip


def derive(run_dir: Path, config_dir: Path = config.CONFIG) -> dict[str, Any]:
    """The numbers document (schema `numbers`) of a stored run, from its plan, its records and the constants."""
    plan = jsonio.read_json(run_dir / "plan.json", "plan")
    texts = {case["id"]: _text(run_dir / "records" / f"{case['id']}.json") for case in plan["cases"]}
    return derive_from(plan, texts, config_dir)


def derive_from(plan: Mapping[str, Any], texts: Mapping[str, str], config_dir: Path = config.CONFIG) -> dict[str, Any]:
    """The same from the records' texts by case id, so that an audit can derive without touching a file."""
    records = [evidence(case["id"], texts[case["id"]]) for case in plan["cases"]]
    constants, absent = of_machine(plan["run"]["machine"], config_dir)
    derivation = Derivation(scopes.of(records), constants, absent)
    derivation.run(REGISTRY)
    document = {
        "schema_version": 1,
        **{key: plan[key] for key in ("run", "origin", "weights", "title")},
        "numbers": list(derivation.numbers.values()),
        "not_measured": _not_measured(plan, records, derivation, config_dir),
        "cases": [_coverage(e) for e in records],
        **_provenance(records),
    }
    jsonio.validate(document, "numbers", "numbers.json")
    return document


def evidence(case: str, text: str) -> Evidence:
    """A record as evidence: parsed, with the name and hash that the trail gives."""

    return Evidence(json.loads(text), f"records/{case}.json", jsonio.sha256_text(text))


def _text(path: Path) -> str:
    jsonio.read_json(path, "record")
    return path.read_text(encoding="utf-8")


def _not_measured(
    plan: Mapping[str, Any], records: Sequence[Evidence], derivation: Derivation, config_dir: Path
) -> list[dict[str, str]]:
    """What the definitions could not make, and the lesson's numbers for which this run has no case at all."""
    absent = derivation.absent | energy.absent(derivation.contexts["energy"], derivation.numbers)
    invalid = [e.document for e in records if not e.document["valid"]]
    for claim in config.read_yaml(config_dir / "claims.yaml", "claims")["claims"]:
        identifier = claim["id"]
        if identifier not in derivation.numbers and identifier not in absent:
            reason = _why(claim["step"], plan, invalid)
            if identifier.startswith("gpu-memory") and records and not records[0].document["machine"]["gpus"]:
                reason = "this machine has no GPU whose memory the driver counts"
            absent[identifier] = {"id": identifier, "step": claim["step"], "reason": reason}
    return [entry for entry in absent.values() if not _follows(entry, absent)]


def _follows(entry: Mapping[str, str], absent: Mapping[str, Any]) -> bool:
    """True of a steady twin that is missing only because something else is: that one says why."""
    base = entry["id"].removesuffix("-steady")
    return base != entry["id"] and (base in absent or entry["reason"].startswith("needs "))


def _why(step: str, plan: Mapping[str, Any], invalid: Sequence[dict[str, Any]]) -> str:
    for document in invalid:
        if document["step"] == step and document["reasons"]:
            return f"case {document['case']}: {document['reasons'][0]['message']}"
    for skipped in plan["skipped"]:
        if skipped["step"] == step:
            return skipped["reason"]
    return "this run measured another model or device, or has no case for it"


def _coverage(found: Evidence) -> dict[str, Any]:
    document = found.document
    return {**{k: document[k] for k in ("case", "step", "role", "title", "valid", "reasons", "remarks")},
            "record": found.file, "sha256": found.sha256}  # fmt: skip


def _provenance(records: Sequence[Evidence]) -> dict[str, Any]:
    documents = [e.document for e in records]
    models = {d["model"]["model"]: d["model"] for d in documents if d["model"]}
    made: dict[str, Any] = {"models": list(models.values())}
    if documents:
        made |= {"machine": documents[0]["machine"], "engine": documents[0]["engine"]}
    starts = [d["started_at"] for d in documents if d["started_at"]]
    ends = [d["ended_at"] for d in documents if d["ended_at"]]
    return made | {"measured_from": min(starts, default=None), "measured_to": max(ends, default=None)}
