"""All records of a run, in one pass."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tokentrail import jsonio
from tokentrail.problems import Problem
from tokentrail.records.making import make, without_measurement


def write(run_dir: Path, strict: bool = False) -> dict[str, Any]:
    """Write records/{case}.json of every planned case; a file that would stay the same keeps its time stamp.

    Returns the index of the records, which it writes to records.json too.
    """
    plan = jsonio.read_json(run_dir / "plan.json", "plan")
    made = build(run_dir, plan, strict)
    for case, record in made.items():
        jsonio.write_if_changed(run_dir / "records" / f"{case}.json", jsonio.dumps(record))
    for old in (run_dir / "records").glob("*.json"):
        if old.stem not in made:
            old.unlink()  # of a case that the plan no longer has; its raw stays
    found = index(plan, {case: jsonio.dumps(record) for case, record in made.items()})
    jsonio.write_if_changed(run_dir / "records.json", jsonio.dumps(found))
    return found


def index(plan: Mapping[str, Any], texts: Mapping[str, str]) -> dict[str, Any]:
    """File, hash and validity of each case's record; texts: the records as they are stored, by case."""
    rows = [
        {
            "case": case,
            "file": f"records/{case}.json",
            "sha256": jsonio.sha256_text(text),
            "valid": json.loads(text)["valid"],
        }
        for case, text in texts.items()
    ]
    return {"schema_version": 1, "run": plan["run"], "records": rows}


def build(run_dir: Path, plan: dict[str, Any], strict: bool = False) -> dict[str, dict[str, Any]]:
    """The records by case id, in the plan's order; nothing is written."""
    paths = {case["id"]: run_dir / "raw" / case["id"] / case["key"] / "measurement.json" for case in plan["cases"]}
    there = [path for path in paths.values() if path.exists()]
    if not there:
        raise Problem(f"{run_dir} holds no measurement of its plan; measure first (snakemake --cores 1)")
    other = None
    made = {}
    for case in plan["cases"]:
        if paths[case["id"]].exists():
            made[case["id"]] = make(paths[case["id"]], case, strict)
        else:
            other = other or jsonio.read_json(there[0])
            made[case["id"]] = without_measurement(case, other, "it was not measured; run the workflow again")
    return made
