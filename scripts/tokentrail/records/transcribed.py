"""Records of transcribed runs: the printed tables are the raw, and each print's last digit is the interval."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tokentrail import statistics
from tokentrail.problems import Problem
from tokentrail.records import printed_requests, views
from tokentrail.tools import batched_bench, devices, lenient_json, llama_bench

Found = dict[str, Any]


def read(measurement: Mapping[str, Any], folder: Path) -> Found:
    """The tool's part of a record of one transcribed case (see tokentrail.records.tools.read)."""
    transcription = measurement["transcription"]
    text = lenient_json.as_text((folder / transcription["files"][0]["file"]).read_bytes())
    tool, role = measurement["case"]["tool"], measurement["case"]["role"]
    device = measurement["case"]["device"]
    if tool == "llama-bench":
        return bench(text, transcription, (measurement["model"] or {}).get("layers"))
    if tool == "llama-batched-bench":
        return {**batched(text), "device": device}
    if role == "serve":
        return {"gpu_memory": gpu_memory(text), "device": device, "reasons": [], "remarks": []}
    return {**printed_requests.read(text, transcription["requests"]), "device": device}


def bench(text: str, transcription: Mapping[str, Any], layers: int | None = None) -> Found:
    """Tests of a llama-bench output that are of this case (`select`: model and device of the rows)."""
    found = llama_bench.parse(text, 0, "", None, allow_tables=True, repetitions=transcription.get("repetitions"))
    tests = [t for t in found["tests"] if belongs(t, transcription["select"])]
    for test in tests:
        if test["samples"] is None:
            rounded(test)
        else:
            test |= views.of([(s["process"], s["cold"], s["tokens_per_s"]) for s in test["samples"]])
    labels = {devices.device(test["settings"], layers) for test in tests}
    device = labels.pop() if len(labels) == 1 else transcription["select"]["device"]
    return {"tests": tests, "device": device,
            "reasons": found["reasons"], "remarks": found["remarks"]}  # fmt: skip


def belongs(test: Mapping[str, Any], select: Mapping[str, Any]) -> bool:
    """True where the row is of the selected model and device."""
    settings = test["settings"]
    return settings.get("model_type") == select["model_type"] and settings["device"] == select["device"]


def rounded(test: dict[str, Any]) -> None:
    """A printed mean's interval is its rounding: nothing else is certain of a number that stands alone."""
    text = test["reported"].get("printed", {}).get("mean")
    if text and test["as_published"]:
        test["as_published"]["interval"] = statistics.rounding_interval(text).as_dict()
    test["steady"], test["cold"] = None, None


def batched(text: str) -> Found:
    """Rows of a batched-bench output; printed speeds with their rounding."""
    found = batched_bench.parse(text, 0, "", None, allow_tables=True)
    batches = []
    for row in found["rows"]:
        printed = row.get("as_printed", {})
        batch: dict[str, Any] = {k: row[k] for k in ("pp", "tg", "pl")}
        for name, column in (("prefill", "speed_pp"), ("decode", "speed_tg")):
            value = row[f"{name}_tokens_per_s"]
            interval = statistics.rounding_interval(printed[column]).as_dict() if column in printed and value else None
            one = views.single(value, interval) if value is not None else None
            batch[name] = {"as_published": one, "steady": None, "cold": None}
        batches.append(batch)
    return {"rows": found["rows"], "batches": batches, "reasons": found["reasons"], "remarks": found["remarks"]}


def gpu_memory(text: str) -> dict[str, Any]:
    """{"used_mib", "total_mib", "gpu", "how"} of what nvidia-smi prints with --format=csv."""
    rows = list(csv.DictReader(io.StringIO(text), skipinitialspace=True))
    names = {re.sub(r"\s*\[.*", "", name or "").strip(): name for name in (rows[0] if rows else {})}
    if "memory.used" not in names or "memory.total" not in names:
        raise Problem("a GPU memory table needs the columns memory.used and memory.total, as nvidia-smi prints them")
    values = {}
    for key in ("memory.used", "memory.total"):
        match = re.fullmatch(r"(\d+)\s*MiB", (rows[0][names[key]] or "").strip())
        if not match:
            raise Problem(f"{key} is {rows[0][names[key]]!r}; expected a whole number of MiB")
        values[key] = int(match[1])
    gpu = (rows[0].get(names.get("name", "name")) or "").strip()
    return {"used_mib": values["memory.used"], "total_mib": values["memory.total"], "gpu": gpu or None,
            "how": "printed by nvidia-smi with the server loaded"}  # fmt: skip
