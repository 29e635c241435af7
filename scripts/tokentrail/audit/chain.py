"""One run held against itself: raw hashes, records made again, numbers derived again, claims checked again.

Nothing is written. A fault names the file that is to blame and the numbers that rest on it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tokentrail import claims, config, jsonio, numbers, records
from tokentrail.numbers import table
from tokentrail.problems import Problem

Fault = dict[str, Any]
# What a case's key is made of: an older measurement stands for a plan only where these are the same.
_DETERMINING = ("tool", "arguments", "device", "processes")


def check_run(run_dir: Path, results: Path, config_dir: Path = config.CONFIG) -> dict[str, Any]:
    """{"run", "files", "numbers", "claims", "faults"} of one stored run; a fault: {"file", "what", "numbers"}."""
    name = run_dir.relative_to(results).as_posix()
    found: dict[str, Any] = {"run": name, "files": 0, "numbers": 0, "claims": 0, "faults": []}
    for file, schema in (("plan.json", "plan"), ("numbers.json", None)):
        try:
            # numbers.json is read even where someone changed it: the comparison below says what
            jsonio.read_json(run_dir / file, schema)
        except Problem as problem:
            found["faults"].append(_fault(file, _without_folder(str(problem), run_dir), []))
    if found["faults"]:
        return found
    plan, stored = jsonio.read_json(run_dir / "plan.json"), jsonio.read_json(run_dir / "numbers.json")
    stored = {} if jsonio.errors(stored, "numbers") else stored  # the comparison below says where
    said = "/".join(plan["run"][key] for key in ("machine", "engine", "campaign"))
    if said != name:
        what = f"is the plan of run {said}, but lies in {name}: was the folder renamed or copied?"
        found["faults"].append(_fault("plan.json", what, [n["id"] for n in stored.get("numbers", [])]))
    found["numbers"] = len(stored.get("numbers", []))
    dependents = _dependents(stored)
    texts: dict[str, str] = {}
    for case in plan["cases"]:
        faults, text, files = _case(run_dir, case, plan, dependents)
        found["faults"] += faults
        found["files"] += files
        texts[case["id"]] = text or _valid_record(run_dir / "records" / f"{case['id']}.json")
    found["faults"] += _strays(run_dir, plan) + _sources(run_dir, plan)
    if all(texts.values()):
        found["faults"] += _index(run_dir, plan, texts)
        found["faults"] += _numbers(run_dir, plan, texts, stored, config_dir)
    found["faults"] += _claims(run_dir, results, config_dir, found)
    return found


def _case(
    run_dir: Path, case: Mapping[str, Any], plan: Mapping[str, Any], dependents: Mapping[str, list[str]]
) -> tuple[list[Fault], str | None, int]:
    """(faults, the record's text made again or None, files looked at) of one case."""
    file = f"records/{case['id']}.json"
    below = dependents.get(file, [])
    path = run_dir / "raw" / case["id"] / case["key"] / "measurement.json"
    stored = _read(run_dir / file)
    if stored is None:
        return [_fault(file, "is missing; run scripts/make_records.py", below)], None, 0
    try:
        record = json.loads(stored)
        recorded, why = record["raw"]["sha256"], [reason["code"] for reason in record["reasons"]]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        return [_fault(file, f"cannot be read ({error}); run scripts/make_records.py", below)], None, 1
    if not path.exists():
        if "not-measured" in why:
            return [], stored, 1
        return [_fault(_name(run_dir, path), "is missing, and the record rests on it", below)], None, 1
    faults: list[Fault] = []
    try:
        measurement = json.loads(path.read_text(encoding="utf-8"))
        for changed, what in records.changed_files(path.parent, measurement):
            faults.append(_fault(_name(run_dir, changed), what, below))
        for extra in records.extra_files(path.parent, measurement):
            faults.append(_fault(_name(run_dir, extra), "is beside the measurement, but it does not name it", []))
        if other := [name for name in _DETERMINING if measurement["case"].get(name) != case.get(name)]:
            what = f"plans {case['id']} otherwise than it was measured ({', '.join(other)})"
            faults.append(_fault("plan.json", what, below))
        if jsonio.sha256_file(path) != recorded:
            faults.append(_fault(_name(run_dir, path), "was changed: its SHA-256 is not the one in its record", below))
        if faults:
            return faults, None, 2
        made = jsonio.dumps(records.make(path, case, _strict(record)))
    except (ValueError, KeyError, TypeError, AttributeError, OSError, RecursionError) as error:
        return [_fault(_name(run_dir, path), f"cannot be read: {error}", below)], None, 2
    except Problem as problem:
        return [_fault(_name(run_dir, path), str(problem), below)], None, 2
    files = 2 + len(list(path.parent.iterdir())) - 1
    if made != stored:
        return [_fault(file, _difference(made, stored, "made again from raw, it differs"), below)], made, files
    return [], made, files


def _strict(record: Mapping[str, Any]) -> bool:
    return bool((record.get("planned") or {}).get("strict"))


def _numbers(
    run_dir: Path, plan: Mapping[str, Any], texts: Mapping[str, str], stored: Mapping[str, Any], config_dir: Path
) -> list[Fault]:
    """numbers.json and measurements.csv derived again from the records made again."""
    try:
        made = numbers.derive_from(plan, texts, config_dir)
    except Problem as problem:
        return [_fault("numbers.json", f"cannot be derived again: {problem}", [])]
    faults = []
    text = _read(run_dir / "numbers.json") or ""
    if jsonio.dumps(made) != text:
        changed = _changed_numbers(made, stored)
        faults.append(
            _fault("numbers.json", _difference(jsonio.dumps(made), text, "derived again, it differs"), changed)
        )
    lines = table.of_records([json.loads(texts[case["id"]]) for case in plan["cases"]])
    if lines != (_read(run_dir / "measurements.csv") or ""):
        faults.append(_fault("measurements.csv", "written again from the records, it differs", []))
    return faults


def _changed_numbers(made: Mapping[str, Any], stored: Mapping[str, Any]) -> list[str]:
    """Ids of the numbers that differ, and of those that rest on them."""
    new, old = ({n["id"]: n for n in d.get("numbers", [])} for d in (made, stored))
    found = {i: None for i in dict.fromkeys([*new, *old]) if new.get(i) != old.get(i)}
    for number in made.get("numbers", []):  # in their order: inputs come before what rests on them
        if any(entry.get("id") in found for entry in number.get("inputs", []) if entry.get("kind") != "record"):
            found.setdefault(number["id"])
    return list(found)


def _index(run_dir: Path, plan: Mapping[str, Any], texts: Mapping[str, str]) -> list[Fault]:
    """records.json written again from the records made again."""
    stored = _read(run_dir / "records.json")
    if stored == jsonio.dumps(records.index(plan, texts)):
        return []
    what = "is missing" if stored is None else "written again from the records, it differs"
    return [_fault("records.json", f"{what}; run scripts/make_records.py", [])]


def _sources(run_dir: Path, plan: Mapping[str, Any]) -> list[Fault]:
    """Files of an import that stand for the whole run (host facts, command lines), held to the plan's hashes."""
    faults = []
    for source in plan.get("sources", []):
        path = run_dir / source["file"]
        if not path.is_file():
            faults.append(_fault(source["file"], "is missing; the plan names it as a source of the run", []))
        elif jsonio.sha256_file(path) != source["sha256"]:
            faults.append(_fault(source["file"], "was changed: its SHA-256 is not the one in plan.json", []))
    return faults


def _without_folder(text: str, run_dir: Path) -> str:
    return text.replace(f"{run_dir}/", "")


def _claims(run_dir: Path, results: Path, config_dir: Path, found: dict[str, Any]) -> list[Fault]:
    """The ledger checked again; a claim that no longer holds is a fault."""
    path = run_dir / "claims.json"
    try:
        ledger = claims.of_run(run_dir, None, config_dir)
    except Problem as problem:
        return [_fault("claims.json", str(problem), [])]
    found["claims"] = ledger["summary"]["claims"]
    faults = []
    if jsonio.dumps(ledger) != (_read(path) or ""):
        what = "is missing" if not path.exists() else "checked again, it differs"
        faults.append(_fault("claims.json", f"{what}; run scripts/check_claims.py", []))
    for entry in ledger["claims"]:
        if entry["verdict"] != claims.HOLDS:
            what = f"claim {entry['id']} ({entry['published']['shown']}): {entry['verdict']}"
            faults.append(_fault("claims.json", what, [entry["number"]]))
    return faults


def _strays(run_dir: Path, plan: Mapping[str, Any]) -> list[Fault]:
    planned = {case["id"] for case in plan["cases"]}
    strays = [path for path in sorted((run_dir / "records").glob("*.json")) if path.stem not in planned]
    return [_fault(_name(run_dir, path), "is the record of no planned case", []) for path in strays]


def _dependents(stored: Mapping[str, Any]) -> dict[str, list[str]]:
    """Record file -> ids of all numbers that rest on it, directly or through other numbers."""
    rests: dict[str, set[str]] = {}
    for number in stored.get("numbers", []):
        files: set[str] = set()
        for entry in number.get("inputs", []):
            if entry.get("kind") == "record":
                files.add(entry["file"])
            else:
                files |= rests.get(entry.get("id", ""), set())
        rests[number["id"]] = files
    found: dict[str, list[str]] = {}
    for identifier, files in rests.items():
        for file in files:
            found.setdefault(file, []).append(identifier)
    return found


def _difference(made: str, stored: str, what: str) -> str:
    """The first line that differs, so that a person finds the place."""
    pairs = zip(made.splitlines(), stored.splitlines(), strict=False)
    for number, (new, old) in enumerate(pairs, start=1):
        if new != old:
            return f"{what} at line {number}: {old.strip()[:80]} is stored, {new.strip()[:80]} follows"
    return f"{what} in length"


def _read(path: Path) -> str | None:
    """A stored product, whatever it holds by now: the comparison tells."""
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else None


def _valid_record(path: Path) -> str | None:
    """A stored record to go on with where it cannot be made again from raw; None where it is none."""
    try:
        jsonio.read_json(path, "record")
    except Problem:
        return None
    return _read(path)


def _name(run_dir: Path, path: Path) -> str:
    return path.relative_to(run_dir).as_posix()


def _fault(file: str, what: str, dependents: list[str]) -> Fault:
    return {"file": file, "what": what, "numbers": dependents}
