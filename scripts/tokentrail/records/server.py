"""Requests of a measured server case: every byte with its time, read again; views of every quantity by name."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tokentrail.records import paired, views
from tokentrail.tools import server_stream

QUANTITIES = ("ttft_ms", "rest_ms", "total_ms", "prompt_ms", "predicted_ms", "tpot_ms", "decode_tokens_per_s",
              "server_decode_tokens_per_s", *paired.PAIRS, *paired.PERCENTILES)  # fmt: skip


def read(measurement: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """{"requests", "request_views", "gpu_memory", "reasons", "remarks"}."""
    requests, reasons, remarks = [], [], []
    for process in measurement["processes"]:
        for sent in process.get("requests", []):
            found = _request(sent, process["index"], folder, measurement["case"])
            requests.append(found)
            reasons += found["reasons"]
            remarks += found.get("remarks", [])
    return {
        "requests": requests,
        "request_views": request_views(requests),
        "gpu_memory": _memory(measurement["processes"]),
        "reasons": reasons,
        "remarks": remarks,
    }


def request_views(requests: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Per request name and quantity (times in ms): as published is the first request, steady the warm ones."""
    names = list(dict.fromkeys(r["name"] for r in requests))
    found: dict[str, Any] = {}
    for name in names:
        same = [r for r in requests if r["name"] == name]
        found[name] = {}
        for quantity in QUANTITIES:
            values = [(r, paired.value(r, quantity)) for r in same]
            samples = [(r["process"], r["cold"], value) for r, value in values if value is not None]
            if samples:
                found[name][quantity] = views.first(values[0][1], samples)
            elif quantity in paired.PERCENTILES:
                reason = paired.percentile(same[0], quantity)[1]
                found[name][quantity] = {"as_published": None, "steady": None, "cold": None, "reason": reason}
    return found


def _request(sent: Mapping[str, Any], process: int, folder: Path, case: Mapping[str, Any]) -> dict[str, Any]:
    lines = (folder / sent["chunks"]["file"]).read_text(encoding="ascii").splitlines()
    chunks = [(one["t_ns"], base64.b64decode(one["data"])) for one in map(json.loads, lines)]
    asked = sent["body"].get("max_tokens")
    off = case["arguments"].get("reasoning") == "off"
    # cold by position, fixed beforehand: the first request of each server
    found = server_stream.parse(
        chunks, sent["sent_ns"], asked, name=sent["name"], process=process, index=sent["index"],
        cold=sent["index"] == 0, prompt=sent["prompt"], thinking="off" if off else "auto",
    )  # fmt: skip
    if asked is None:
        found.pop("max_tokens")
    if sent.get("cpu_ns") is not None:
        found["cpu_ms"] = sent["cpu_ns"] / 1e6
    if sent.get("problem"):
        problem = {"code": "request-failed", "message": f"{sent['name']}: {sent['problem']}"}
        found["reasons"] = [*found["reasons"], problem]
    expected = {p["id"]: p.get("expect_tokens") for p in case.get("prompts", [])}.get(sent["prompt"])
    counted = (found.get("prompt_n") or 0) + (found.get("cache_n") or 0)
    if expected and counted and counted != expected:
        text = f"{sent['name']}: the server counts {counted} prompt tokens, planned are {expected}"
        found["reasons"] = [*found["reasons"], {"code": "prompt-length-differs", "message": text}]
    found["valid"] = not found["reasons"]
    return found


def _memory(processes: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """GPU memory with the server loaded, from the server facts that the measuring job kept."""
    for process in processes:
        facts = (process.get("server") or {}).get("gpu_memory")
        if facts and facts.get("used_bytes") is not None:
            how = facts.get("how", "NVML, device memory in use after the server said it was ready")
            return {
                "used_mib": facts["used_bytes"] / 2**20,
                "total_mib": facts["total_bytes"] / 2**20,
                "how": how,
            }
    return None
