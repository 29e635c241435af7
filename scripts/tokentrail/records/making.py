"""From a measurement (raw) to a record: provenance, the tool's parser, the statistics, the checks."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tokentrail import jsonio
from tokentrail.machine.admission import admission
from tokentrail.problems import Problem
from tokentrail.records import checks, telemetry, tools, transcribed

Document = dict[str, Any]


def make(measurement_path: Path, plan_case: Mapping[str, Any], strict: bool = False) -> Document:
    """The record (schema `record`) of one planned case.

    `measurement_path` is raw/{case}/{key}/measurement.json of the run; files beside it are held to the hashes
    inside it. Raises Problem naming a file that is missing or changed; a failed measurement gives an invalid record.
    """
    folder = measurement_path.parent
    measurement = jsonio.read_json(measurement_path, "measurement")
    if measurement["case"]["id"] != plan_case["id"]:
        raise Problem(f"{measurement_path} holds case {measurement['case']['id']}, not {plan_case['id']}; restore it")
    failed = measurement["status"] == "failed"
    if not failed:
        for path, what in changed_files(folder, measurement):
            raise Problem(f"{path} {what}; restore it from the repository or measure the case again")
    record = _frame(measurement, plan_case, measurement_path)
    if strict:
        record["planned"]["strict"] = True
    if failed:
        text = f"measuring failed: {measurement.get('problem', 'no problem was noted')}"
        record["reasons"].append({"code": "measuring-failed", "message": text})
    else:
        found = (
            transcribed.read(measurement, folder)
            if measurement["origin"] == "transcribed"
            else tools.read(measurement, folder)
        )
        for key in ("reasons", "remarks"):
            record[key] += found.pop(key)
        record |= found
        _judge(record, measurement, strict)
    record["reasons"], record["remarks"] = (_distinct(record[k]) for k in ("reasons", "remarks"))
    record["valid"] = not record["reasons"]
    jsonio.validate(record, "record", f"record of case {plan_case['id']}")
    return record


def without_measurement(plan_case: Mapping[str, Any], other: Mapping[str, Any], reason: str) -> Document:
    """The record of a case that has no measurement; `other` is any measurement of the run (machine and engine)."""
    empty = {"case": dict(plan_case), "model": None, "processes": [], "held_gpu_ns": None}
    record = _frame({**other, **empty}, plan_case, None)
    record["reasons"].append({"code": "not-measured", "message": reason})
    record["valid"] = False
    jsonio.validate(record, "record", f"record of case {plan_case['id']}")
    return record


def changed_files(folder: Path, measurement: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    """Every raw file beside the measurement that is missing or differs from its hash, with what is wrong."""
    for name, sha256 in _hashes(measurement).items():
        path = folder / name
        if not path.is_file():
            yield path, "is missing"
        elif jsonio.sha256_file(path) != sha256:
            yield path, "was changed: its SHA-256 is not the one in measurement.json"


def extra_files(folder: Path, measurement: Mapping[str, Any]) -> list[Path]:
    """Files beside the measurement that it does not name."""
    known = {"measurement.json", *_hashes(measurement)}
    return [path for path in sorted(folder.iterdir()) if path.name not in known]


def _hashes(measurement: Mapping[str, Any]) -> dict[str, str]:
    streams = []
    for process in measurement["processes"]:
        streams += [process["stdout"], process["stderr"], process["telemetry"].get("samples")]
        streams += [request["chunks"] for request in process.get("requests", [])]
    streams += measurement.get("transcription", {}).get("files", [])
    return {s["file"]: s["sha256"] for s in streams if s}


def _frame(measurement: Mapping[str, Any], case: Mapping[str, Any], path: Path | None) -> Document:
    """What every record says: the case, where it was measured, with what, from which files."""
    processes = measurement["processes"]
    transcription = measurement.get("transcription", {})
    command = transcription.get("command_line")
    raw = {"file": "", "sha256": "0" * 64, "files": {}}
    if path is not None:
        raw = {"file": path.relative_to(path.parents[3]).as_posix(), "sha256": jsonio.sha256_file(path),
               "files": _hashes(measurement)}  # fmt: skip
    record = {
        "schema_version": 1,
        "case": case["id"],
        **{key: case[key] for key in ("role", "step", "title", "tool")},
        **({"tag": case["tag"]} if case.get("tag") else {}),
        "run": measurement["run"],
        "origin": measurement["origin"],
        "weights": (case["model"] or {}).get("weights") or "hub",
        "device": case["device"],
        "model": measurement["model"],
        "engine": measurement["engine"],
        "machine": measurement["machine"],
        "raw": raw,
        "command_lines": [p["argv"] for p in processes] or ([shlex.split(command)] if command else []),
        "started_at": min((p["started_at"] for p in processes), default=None),
        "ended_at": max((p["ended_at"] for p in processes), default=None),
        "duration_s": sum(p["duration_ns"] for p in processes) / 1e9 if processes else None,
        "valid": True,
        "reasons": [],
        "remarks": [],
        "planned": {"arguments": case["arguments"], "processes": case["processes"], "threads": case["threads"]},
    }
    held = measurement.get("held_gpu_ns")
    record["held_gpu_s"] = None if held is None else held / 1e9
    for key in ("workflow", "transcription"):
        if measurement.get(key):
            record[key] = measurement[key]
    return record


def _judge(record: Document, measurement: Mapping[str, Any], strict: bool) -> None:
    """Whether the machine was fit, the device the planned one, and the rates possible."""
    case = measurement["case"]
    for process in measurement["processes"]:
        states = process["telemetry"]
        reasons, remarks = admission(
            states["before"], states["during"], states["after"], case, measurement["machine"], strict
        )
        record["reasons"] += reasons
        record["remarks"] += remarks
    if measurement["processes"]:
        record["telemetry"] = telemetry.joined(measurement["processes"], record)
    record["reasons"] += checks.device(record, case) + checks.impossible_rates(record) + checks.other_model(record)


def _distinct(items: list[dict[str, str]]) -> list[dict[str, str]]:
    return list({(i["code"], i["message"]): i for i in items}.values())
