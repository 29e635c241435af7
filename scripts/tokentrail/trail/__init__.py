"""Where a number comes from: formula, inputs, records, the line of the raw file, command, model, engine, machine."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tokentrail import jsonio
from tokentrail.numbers import formula
from tokentrail.problems import Problem
from tokentrail.trail import raw_lines

__all__ = ["Run", "of", "open_run"]


@dataclass
class Run:
    """One stored run, opened: its numbers by id, its records by file name (read when first asked for)."""

    folder: Path
    document: dict[str, Any]
    by_id: dict[str, dict[str, Any]]
    records: dict[str, dict[str, Any]] = field(default_factory=dict)
    # many numbers of a page rest on the same place, and finding its raw lines reads every stream of its case
    leaves: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)

    def record(self, file: str) -> dict[str, Any]:
        """The record of this file name ("records/{case}.json")."""
        if file not in self.records:
            self.records[file] = jsonio.read_json(self.folder / file)
        return self.records[file]


def open_run(folder: Path) -> Run:
    """Read a run's numbers; records and raw follow as trails need them."""
    document = jsonio.read_json(folder / "numbers.json", "numbers")
    return Run(folder, document, {number["id"]: number for number in document["numbers"]})


def of(run: Run | Path, identifier: str) -> dict[str, Any]:
    """The trail of one number as plain data.

    {"run", "origin", "weights", "number", "steps", "leaves", "cases"}: `steps` are the number and all numbers below
    it, each with its formula and the values put in, the number itself first; `leaves` are the places in records they
    rest on, each with its raw lines; `cases` says what was run for each record. Raises Problem for an unknown id.
    """
    run = open_run(run) if isinstance(run, Path) else run
    if identifier not in run.by_id:
        raise Problem(unknown(run, identifier))
    steps: dict[str, dict[str, Any]] = {}
    leaves: dict[tuple[str, str], dict[str, Any]] = {}
    _walk(run, identifier, steps, leaves)
    files = list(dict.fromkeys(leaf["file"] for leaf in leaves.values()))
    return {
        "run": run.document["run"],
        "origin": run.document["origin"],
        "weights": run.document["weights"],
        "number": run.by_id[identifier],
        "steps": list(steps.values()),
        "leaves": list(leaves.values()),
        "cases": {file: _case(run, run.record(file)) for file in files},
    }


def unknown(run: Run, identifier: str) -> str:
    """One sentence: why this run has no such number, or which ids come close."""
    for absent in run.document["not_measured"]:
        if absent["id"] == identifier:
            return f"{identifier} was not measured in this run: {absent['reason']}"
    near = difflib.get_close_matches(identifier, run.by_id, n=3)
    hint = f"; did you mean {', '.join(near)}?" if near else "; numbers.json lists what there is"
    return f"{run.folder} has no number {identifier!r}{hint}"


def _walk(run: Run, identifier: str, steps: dict[str, Any], leaves: dict[tuple[str, str], Any]) -> None:
    number = run.by_id[identifier]
    if identifier in steps:
        return
    pairs = [(i["name"], i["value"]) for i in number["inputs"] + number["constants"]]
    steps[identifier] = {
        **{key: number.get(key) for key in ("id", "label", "value", "unit", "shown", "interval", "view", "inputs")},
        "formula": {**number["formula"], "filled": formula.with_values(number["formula"]["code"], pairs)},
        "constants": number["constants"],
    }
    for entry in number["inputs"]:
        if entry["kind"] == "number":
            _walk(run, entry["id"], steps, leaves)
        elif (place := (entry["file"], entry["pointer"])) not in leaves:
            if place not in run.leaves:
                run.leaves[place] = _leaf(run, entry)
            leaves[place] = run.leaves[place]


def _leaf(run: Run, entry: Mapping[str, Any]) -> dict[str, Any]:
    """A place in a record that a number rests on, with its raw lines and samples."""
    record = run.record(entry["file"])
    return {
        **{key: entry.get(key) for key in ("file", "sha256", "pointer", "value", "unit")},
        "case": record["case"],
        "raw": raw_lines.find(run.folder, record, entry["pointer"]),
        "samples": raw_lines.samples(record, entry["pointer"]),
    }


def _case(run: Run, record: Mapping[str, Any]) -> dict[str, Any]:
    """What was run for a record: commands, model, engine, machine, when, and by which version of the workflow."""
    keys = ("case", "title", "step", "tool", "device", "command_lines", "model", "engine", "machine", "raw",
            "started_at", "ended_at", "duration_s", "valid", "reasons", "remarks")  # fmt: skip
    found = {key: record[key] for key in keys}
    return found | {key: record.get(key) for key in ("workflow", "transcription")}
