"""What makes a record invalid beyond its tool's output: the wrong device, impossible rates, another model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tokentrail import config

Reasons = list[dict[str, str]]


def device(record: dict[str, Any], case: Mapping[str, Any]) -> Reasons:
    """The device that was planned must be the one that was used; what was used is written into the record."""
    used = record["device"]
    if used in (None, case["device"]) or record["origin"] == "transcribed":
        return []
    text = f"planned for the {case['device']}, but it ran on the {used}"
    if used == "cpu":
        text += "; is the engine built for this GPU, and does the driver work?"
    return [{"code": "device-not-as-planned", "message": text}]


def impossible_rates(record: Mapping[str, Any]) -> Reasons:
    """A decode rate that needs more bytes a second than the GPU's memory can give was not measured."""
    if record["device"] != "gpu" or not (record["model"] or {}).get("streamed_bytes_per_token"):
        return []
    limit = _bandwidth(record["run"]["machine"])
    if limit is None:
        return []
    weights = record["model"]["streamed_bytes_per_token"]
    found = []
    for label, steps in _steps(record):
        if steps * weights > limit["value"]:
            found.append(
                {
                    "code": "above-memory-bandwidth",
                    "message": f"{label}: {steps:,.0f} steps/s of {weights / 1e9:.3f} GB need more than the"
                    f" {limit['value'] / 1e9:,.0f} GB/s of the data sheet, so the work was not done",
                }
            )
    return found


def other_model(record: Mapping[str, Any]) -> Reasons:
    """The size and parameters that the tool reports must be the model's own."""
    facts = record["model"] or {}
    found: Reasons = []
    for test in record.get("tests") or []:
        for key, fact in (("model_size", "tensor_bytes"), ("model_n_params", "parameters")):
            said = test["settings"].get(key)
            if isinstance(said, int) and facts.get(fact) and said != facts[fact]:
                text = f"{test['label']}: the tool says {key} {said:,}, but the file has {facts[fact]:,}"
                found.append({"code": "model-not-as-planned", "message": text})
    return found[:1]


def _steps(record: Mapping[str, Any]) -> list[tuple[str, float]]:
    """(what, decode steps per second) of everything in the record that streams all weights once a step."""
    steps = []
    for test in record.get("tests") or []:
        if test["kind"] == "decode":
            view = test.get("steady") or test.get("as_published") or {}
            steps.append((test["label"], view.get("median") or view.get("mean") or 0.0))
    for row in record.get("rows") or []:
        if row["decode_tokens_per_s"]:
            steps.append((f"{row['pl']} at once", row["decode_tokens_per_s"] / row["pl"]))
    for request in record.get("requests") or []:
        if request["server_decode_tokens_per_s"]:
            steps.append((request["name"], request["server_decode_tokens_per_s"]))
    return steps


def _bandwidth(machine: str) -> dict[str, Any] | None:
    return config.read_machines().get(machine, {}).get("memory_bandwidth")
