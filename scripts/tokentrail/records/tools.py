"""What a measured case's tool said, read by its parser, over all processes; then both views of every series."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tokentrail.records import views
from tokentrail.records.server import read as read_server
from tokentrail.tools import batched_bench, devices, llama_bench, llama_bench_plan

Found = dict[str, Any]


def read(measurement: Mapping[str, Any], folder: Path) -> Found:
    """The tool's part of a record: tests, rows, requests or ceiling, their views, the device, reasons, remarks."""
    return _READERS[measurement["case"]["tool"]](measurement, folder)


def outputs(process: Mapping[str, Any], folder: Path) -> tuple[bytes, int, str]:
    """(stdout, exit status, stderr) of one process, from its raw files."""
    stderr = (folder / process["stderr"]["file"]).read_text(encoding="utf-8", errors="replace")
    status = process["exit_status"]
    return (folder / process["stdout"]["file"]).read_bytes(), status, stderr


def _bench(measurement: Mapping[str, Any], folder: Path) -> Found:
    planned = llama_bench_plan.planned_tests(measurement["case"]["arguments"])
    parsed = [llama_bench.parse(*outputs(p, folder), planned, process=p["index"]) for p in measurement["processes"]]
    joined = join_tests([p["tests"] for p in parsed])
    layers = (measurement["model"] or {}).get("layers")
    labels = {devices.device(test["settings"], layers) for test in joined}
    return {
        "tests": joined,
        "device": labels.pop() if len(labels) == 1 else measurement["case"]["device"],
        **_notes(parsed),
    }


def join_tests(by_process: Sequence[Sequence[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Tests of the same kind over all processes, samples in order, with their views."""
    joined: dict[str, dict[str, Any]] = {}
    for tests in by_process:
        for test in tests:
            known = joined.setdefault(_same(test), {**test, "samples": []})
            known["samples"] += test["samples"] or []
    for test in joined.values():
        test |= views.of([(s["process"], s["cold"], s["tokens_per_s"]) for s in test["samples"]])
    return list(joined.values())


def _same(test: Mapping[str, Any]) -> str:
    key = [test["n_prompt"], test["n_gen"], test["n_depth"]]
    return json.dumps([*key, {k: str(test["settings"].get(k)) for k in llama_bench_plan.SWEPT}], sort_keys=True)


def _batched(measurement: Mapping[str, Any], folder: Path) -> Found:
    case = measurement["case"]
    planned = batched_bench.planned_rows(case["arguments"])
    parsed = [batched_bench.parse(*outputs(p, folder), planned, process=p["index"]) for p in measurement["processes"]]
    rows = [row for p in parsed for row in p["rows"]]
    return {"rows": rows, "batches": batches(rows), "device": _flagged_device(measurement), **_notes(parsed)}


def batches(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of the same (pp, tg, pl) over all processes: both rates in both views.

    As published is the first row there is of this batch size; steady leaves out each process's first row.
    """
    same: dict[tuple[int, int, int], list[dict[str, Any]]] = {}
    for row in rows:
        same.setdefault((row["pp"], row["tg"], row["pl"]), []).append(row)
    found = []
    for (pp, tg, pl), group in sorted(same.items()):
        batch: dict[str, Any] = {"pp": pp, "tg": tg, "pl": pl}
        for name in ("prefill", "decode"):
            key = f"{name}_tokens_per_s"
            samples = [(r["process"], r["cold"], r[key]) for r in group if r[key] is not None]
            batch[name] = views.first(group[0][key], samples)
        found.append(batch)
    return found


def _ceiling(measurement: Mapping[str, Any], folder: Path) -> Found:
    samples, reasons = [], []
    for process in measurement["processes"]:
        stdout, _, _ = outputs(process, folder)
        for line in stdout.decode("utf-8", "replace").splitlines():
            if line.startswith("{") and "ns" in (one := json.loads(line)) and one.get("bytes"):
                index = len([s for s in samples if s["process"] == process["index"]])
                samples.append({"process": process["index"], "index": index, "bytes": one["bytes"], "ns": one["ns"],
                                "gb_per_s": one["bytes"] / one["ns"], "cold": index == 0})  # fmt: skip
    wanted = measurement["case"]["arguments"]["repetitions"] * len(measurement["processes"])
    if len(samples) != wanted:
        text = f"{len(samples)} of {wanted} readings of the memory are there; measure the case again"
        reasons.append({"code": "readings-missing", "message": text})
    found = views.of([(s["process"], s["cold"], s["gb_per_s"]) for s in samples])
    return {"ceiling": samples, "ceiling_views": found, "device": measurement["case"]["device"],
            "reasons": reasons, "remarks": []}  # fmt: skip


def _flagged_device(measurement: Mapping[str, Any]) -> str:
    """Where a tool that names no device ran, from the engine, the machine and its flags."""
    backend = measurement["engine"]["backend"]
    argv = next((process["argv"] for process in measurement["processes"]), [])
    said = dict(itertools.pairwise([*argv, ""]))
    row = {
        "backends": "CPU" if backend == "cpu" else backend.upper(),
        "n_gpu_layers": said.get("-ngl", -1),
        "no_op_offload": bool({"-nopo", "--no-op-offload"} & set(argv)),
        "devices": said.get("-dev", said.get("--device")),
        "gpu_info": ", ".join(gpu["name"] for gpu in measurement["machine"]["gpus"]),
    }
    if backend not in ("cuda", "CUDA"):
        row.pop("gpu_info")  # only NVIDIA's are listed by the probe
    return devices.device(row, (measurement["model"] or {}).get("layers"))


def _server(measurement: Mapping[str, Any], folder: Path) -> Found:
    return {**read_server(measurement, folder), "device": _flagged_device(measurement)}


def _notes(parsed: Sequence[Mapping[str, Any]]) -> Found:
    return {key: [note for p in parsed for note in p[key]] for key in ("reasons", "remarks")}


_READERS: dict[str, Callable[[Mapping[str, Any], Path], Found]] = {
    "llama-bench": _bench,
    "llama-batched-bench": _batched,
    "llama-server": _server,
    "read-ceiling": _ceiling,
}
