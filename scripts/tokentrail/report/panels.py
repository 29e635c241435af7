"""What a number's panel shows, as plain data: the page embeds it as JSON and a script turns it into text nodes.

Evidence shared by many numbers (a case's command line, samples, raw lines) is stored once, under its place.
"""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

from tokentrail import trail
from tokentrail.figures.data import Number, RunData
from tokentrail.report import words

MOST_SAMPLES = 120
PACKED = ("view", "interval", "words", "code", "exactly")  # texts that many numbers of a page share


def panels(run: RunData, run_dir: Path) -> dict[str, Any]:
    """{numbers, cases, leaves, run}: what stands behind each number of the run, by id; evidence by its place."""
    opened = trail.open_run(run_dir)
    numbers, leaves = {}, {}
    for number in run.doc["numbers"]:
        found = trail.of(opened, number["id"])
        places = {f"{leaf['file']} {leaf['pointer']}": leaf for leaf in found["leaves"]}
        leaves |= {place: leaf_words(leaf) for place, leaf in places.items() if place not in leaves}
        numbers[number["id"]] = panel(number, found) | {"leaves": list(places)}
    cases = {f"records/{record['case']}.json": evidence(record) for record in run.records}
    return {"numbers": numbers, "cases": cases, "leaves": leaves, "run": run_facts(run)}


def pack(trails: dict[str, Any]) -> dict[str, Any]:
    """The same with every shared text stored once and its place in `texts` instead; evidence by its place in a list."""
    texts: dict[str, int] = {}
    places = {place: i for i, place in enumerate(trails["leaves"])}

    def at(text: str) -> int:
        return texts.setdefault(text, len(texts))

    numbers = {
        number_id: entry
        | {key: at(entry[key]) for key in PACKED}
        | {"leaves": [places[place] for place in entry["leaves"]], "cases": [at(file) for file in entry["cases"]]}
        | {"inputs": [[e["name"], e["value"], at(e["place"])] for e in entry["inputs"]]}
        for number_id, entry in trails["numbers"].items()
    }
    leaves = [
        leaf | {"raw": [[at(r["place"]), at(r["before"] + r["match"] + r["after"]), len(r["before"]), len(r["match"])]
                        for r in leaf["raw"]]}
        for leaf in trails["leaves"].values()
    ]  # fmt: skip
    return {**trails, "numbers": numbers, "leaves": leaves, "texts": list(texts)}


def panel(number: Number, found: dict[str, Any]) -> dict[str, Any]:
    """One number's panel, in words where a reader wants words."""
    step = found["steps"][0]
    filled = step["formula"]["filled"]
    return {
        "label": number["label"],
        "shown": number["shown"],
        "exactly": words.exactly(number),
        "view": view_words(number),
        "interval": words.interval(number),
        "words": number["formula"]["words"],
        "code": number["formula"]["code"],
        "filled": filled if filled != number["formula"]["code"] else "",
        "inputs": [input_words(entry) for entry in number["inputs"]],
        "constants": [[c["name"], words.exactly(c), c["source"]] for c in number["constants"]],
        "cases": list(found["cases"]),
        "notes": [entry["message"] for entry in [*number["reasons"], *number.get("remarks", [])]],
        "valid": number["valid"],
    }


def leaf_words(leaf: dict[str, Any]) -> dict[str, Any]:
    """A place in a record: its samples [[value, cold], …] and the raw lines around the value."""
    points = [[round(s["value"], 4), s["cold"]] for s in leaf["samples"] or []]
    found: dict[str, Any] = {"samples": points[:MOST_SAMPLES] if len(points) > 1 else [], "raw": []}
    for line in leaf["raw"]:
        text, start, end = line["text"], line["start"], line["end"]
        place = f"{line['file']}, line {line['line']}"
        found["raw"].append({"place": place, "before": text[:start], "match": text[start:end], "after": text[end:]})
    more = leaf["raw"][0]["more"] if leaf["raw"] else 0
    return found | {"unit": leaf["unit"] or "", "more": more}


def view_words(number: Number) -> str:
    """Which of the two views this is, in words."""
    return {
        "steady": "steady: median of the warm samples",
        "as-published": "as published: from the tools' own means, cold repetitions included",
        "exact": "exact: a count, a size or a definition",
        "inference": "an inference, not a measurement",
    }.get(number.get("view", "other"), "derived")


def input_words(entry: dict[str, Any]) -> dict[str, Any]:
    """One input: its name in the formula, its value, and the number or the place in a record it comes from."""
    value = entry["value"]
    text = words.plain(value, 10) if isinstance(value, int | float) else json.dumps(value, ensure_ascii=False)
    place = entry.get("id") or f"{entry.get('file', '')} {entry.get('pointer', '')}".strip()
    return {"name": entry.get("name", ""), "value": f"{text} {entry.get('unit', '')}".strip(), "place": place}


def evidence(record: dict[str, Any]) -> dict[str, Any]:
    """What was run for one case, with which model and when."""
    model = record.get("model") or {}
    return {
        "title": record["title"],
        "case": record["case"],
        "commands": [shlex.join(argv) for argv in record["command_lines"]],
        "raw": [record["raw"]["file"], record["raw"]["sha256"]],
        "model": model_words(model),
        "device": f"on the {record['device'].upper()}" if record.get("device") else "device unknown",
        "when": when(record),
        "valid": record["valid"],
        "reasons": [reason["message"] for reason in record["reasons"]],
    }


def when(record: dict[str, Any]) -> str:
    """Start, and duration where it is known."""
    started, duration = record.get("started_at"), record.get("duration_s")
    if not started:
        return "time not recorded"
    moment = f"{started[:10]} {started[11:19]} UTC" if started.endswith("Z") else started
    return moment + (f", for {duration:.1f} s" if duration is not None else "")


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
