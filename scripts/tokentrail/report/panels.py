"""What a number's panel shows, as plain data: the page embeds it as JSON and a script turns it into text nodes.

Evidence shared by many numbers (a case's command line, samples, engine) is stored once, under its record's name.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator
from typing import Any

from tokentrail.figures.data import Number, RunData
from tokentrail.numbers import formula
from tokentrail.problems import Problem
from tokentrail.report import words

MOST_SAMPLES = 120
Excerpts = list[dict[str, Any]]  # {file, line, before, match, after}: a raw line around the value in it


def panels(run: RunData, excerpts: Callable[[Number], Excerpts]) -> dict[str, Any]:
    """{numbers: {id: panel}, cases: {record file: evidence}, run: facts}: everything behind the page's numbers."""
    cases = {f"records/{record['case']}.json": evidence(record) for record in run.records}
    numbers = {number["id"]: panel(run, number, excerpts(number)) for number in run.doc["numbers"]}
    return {"numbers": numbers, "cases": cases, "run": run_facts(run)}


def panel(run: RunData, number: Number, raw: Excerpts) -> dict[str, Any]:
    """One number's panel, in words where a reader wants words."""
    leaves = list(record_inputs(run, number))
    return {
        "label": number["label"],
        "shown": number["shown"],
        "exactly": words.exactly(number),
        "view": view_words(number),
        "interval": words.interval(number),
        "words": number["formula"]["words"],
        "code": number["formula"]["code"],
        "filled": filled(number),
        "inputs": [input_words(entry) for entry in number["inputs"]],
        "constants": [[c["name"], words.exactly(c), c["source"]] for c in number["constants"]],
        "cases": list(dict.fromkeys(case_of(leaf) for leaf in leaves)),
        "strips": strips(run, leaves),
        "raw": raw,
        "notes": [entry["message"] for entry in [*number["reasons"], *number.get("remarks", [])]],
        "valid": number["valid"],
    }


def view_words(number: Number) -> str:
    """Which of the two views this is, in words."""
    return {
        "steady": "steady: median of the warm samples",
        "as-published": "as the tool reports it: mean over all repetitions, the cold ones too",
        "exact": "exact: a count, a size or a definition",
        "inference": "an inference, not a measurement",
    }.get(number.get("view", "other"), "derived")


def filled(number: Number) -> str:
    """The formula with its values put in; the empty text where it is only a copy of one value."""
    pairs = [(entry["name"], entry["value"]) for entry in number["inputs"] if entry.get("name")]
    pairs += [(constant["name"], constant["value"]) for constant in number["constants"]]
    try:
        text = formula.with_values(number["formula"]["code"], pairs)
    except (Problem, SyntaxError, TypeError, ValueError):
        return ""  # a formula that is words only has nothing to put in
    return text if text != number["formula"]["code"] else ""


def input_words(entry: dict[str, Any]) -> dict[str, Any]:
    """One input: its name in the formula, its value, and the number or the place in a record it comes from."""
    value = entry["value"]
    text = words.plain(value, 10) if isinstance(value, int | float) else json.dumps(value, ensure_ascii=False)
    place = entry.get("id") or f"{entry.get('file', '')} {entry.get('pointer', '')}".strip()
    found = {"name": entry.get("name", ""), "value": f"{text} {entry.get('unit', '')}".strip(), "place": place}
    return found | ({"number": entry["id"]} if entry["kind"] == "number" and "id" in entry else {})


def record_inputs(run: RunData, number: Number, depth: int = 0) -> Iterator[dict[str, Any]]:
    """The record inputs under a number, through the numbers it is made of, in order."""
    for entry in number["inputs"]:
        if entry["kind"] == "record":
            yield entry
        elif entry.get("id") in run.by_id and depth < 12:
            yield from record_inputs(run, run.by_id[entry["id"]], depth + 1)


def case_of(leaf: dict[str, Any]) -> str:
    """The record's path inside the run: how a panel names its evidence."""
    return "records/" + leaf.get("file", "").rsplit("/", 1)[-1]


def strips(run: RunData, leaves: list[dict[str, Any]]) -> list[list[str]]:
    """[record file, key of its samples] for each input that is a statistic of samples, each once."""
    found = []
    for leaf in leaves:
        parts = leaf.get("pointer", "").split("/")
        if len(parts) > 2 and parts[1] in ("tests", "request_views", "ceiling_views"):
            key = "/".join(parts[1:4]) if parts[1] == "request_views" else "/".join(parts[1:3])
            found.append((case_of(leaf), key if parts[1] != "ceiling_views" else "ceiling"))
    return [list(pair) for pair in dict.fromkeys(found)]


def evidence(record: dict[str, Any]) -> dict[str, Any]:
    """What was run for one case, with which model, when, and its samples."""
    model = record.get("model") or {}
    return {
        "title": record["title"],
        "case": record["case"],
        "commands": [shlex.join(argv) for argv in record["command_lines"]],
        "raw": [record["raw"]["file"], record["raw"]["sha256"]],
        "model": model_words(model),
        "device": record.get("device") or "unknown",
        "when": when(record),
        "valid": record["valid"],
        "reasons": [reason["message"] for reason in record["reasons"]],
        "samples": samples(record),
    }


def when(record: dict[str, Any]) -> str:
    """Start, and duration where it is known."""
    started, duration = record.get("started_at"), record.get("duration_s")
    if not started:
        return "not recorded"
    return started + (f", for {duration:.1f} s" if duration is not None else "")


def model_words(model: dict[str, Any]) -> str:
    """The model file, where its weights come from, and its hash where it is known."""
    if not model:
        return "none"
    source = model.get("source") or {}
    origin = " ".join(str(source[key]) for key in ("repo", "revision", "package", "version") if source.get(key))
    parts = [model["name"], f"{model['weights']} weights", origin, model["file"]]
    parts += [f"{model['file_bytes']:,} bytes"] if model.get("file_bytes") else []
    parts += [f"sha256 {model['sha256']}"] if model.get("sha256") else []
    return " · ".join(part for part in parts if part)


def samples(record: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Sample strips by key: {unit, label, points: [[value, cold], …]}."""
    found = {}
    for i, test in enumerate(record.get("tests", [])):
        points = [[round(s["tokens_per_s"], 2), s["cold"]] for s in test["samples"] or []]
        found[f"tests/{i}"] = {"unit": "tokens/s", "label": test["label"], "points": points}
    for name, views in record.get("request_views", {}).items():
        requests = [r for r in record.get("requests", []) if r["name"] == name]
        for quantity in views:
            points = [[r[quantity], r["cold"]] for r in requests if isinstance(r.get(quantity), int | float)]
            unit = "ms" if quantity.endswith("_ms") else "tokens/s" if quantity.endswith("per_s") else ""
            found[f"request_views/{name}/{quantity}"] = {"unit": unit, "label": f"{name} {quantity}", "points": points}
    points = [[round(s["gb_per_s"], 2), s["cold"]] for s in record.get("ceiling", [])]
    if points:
        found["ceiling"] = {"unit": "GB/s", "label": "read kernel", "points": points}
    return {key: {**s, "points": s["points"][:MOST_SAMPLES]} for key, s in found.items() if len(s["points"]) > 1}


def run_facts(run: RunData) -> dict[str, Any]:
    """Machine, engine and stamps: the same for every number of the run."""
    machine, engine = run.doc.get("machine") or {}, run.doc.get("engine") or {}
    return {"name": run.name, "stamps": run.stamps, "machine": machine_words(machine), "engine": engine_words(engine)}


def machine_words(machine: dict[str, Any]) -> str:
    """CPU, GPUs, driver and threads in one line."""
    cpu = machine.get("cpu") or {}
    parts = [gpu["name"] for gpu in machine.get("gpus", [])]
    parts += [f"driver {machine['driver']}"] if machine.get("driver") else []
    parts += [cpu["model"]] if cpu.get("model") else []
    parts += [f"{machine['threads']['value']} threads"] if (machine.get("threads") or {}).get("value") else []
    parts += [machine["os"]] if machine.get("os") else []
    return " · ".join(parts) or machine.get("machine", "unknown")


def engine_words(engine: dict[str, Any]) -> str:
    """llama.cpp's build, commit, backend, flags and compiler in one line."""
    if not engine:
        return "unknown"
    parts = [f"llama.cpp build {engine['build_number']}", f"commit {engine['commit']}", engine["backend"]]
    parts += [f"CUDA {engine['cuda_version']}"] if engine.get("cuda_version") else []
    parts += [engine["compiler"]] if engine.get("compiler") else []
    return " · ".join([*parts, " ".join(engine["cmake_flags"])]).rstrip(" ·")
