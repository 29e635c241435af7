"""The telemetry of a case's processes, joined into what a record keeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def joined(processes: Sequence[Mapping[str, Any]], record: Mapping[str, Any]) -> dict[str, Any]:
    """{"processes": what happened during each, "energy_j": {"gpu", "cpu"}, "tokens": processed in all samples}."""
    during = [p["telemetry"]["during"] for p in processes]
    energy = [d.get("energy") or {} for d in during]
    return {
        "processes": during,
        "energy_j": {
            "gpu": _sum([e.get("gpu_mj") for e in energy], 1e3),
            "cpu": _sum([list((e.get("rapl_uj") or {}).values()) for e in energy], 1e6),
        },
        "tokens": tokens(record),
    }


def tokens(record: Mapping[str, Any]) -> int:
    """Prompt and answer tokens of all samples of a record, cold ones too: what its energy was spent on."""
    total = sum(test["tokens"] * len(test["samples"] or []) for test in record.get("tests") or [])
    total += sum(row["pl"] * (row["pp"] + row["tg"]) for row in record.get("rows") or [])
    for request in record.get("requests") or []:
        total += (request["prompt_n"] or 0) + (request["predicted_n"] or 0)
    return total


def _sum(values: Sequence[Sequence[int | None] | None], unit: float) -> float | None:
    """Joules of all processes; None where one of them has no reading."""
    if not values or any(not one or None in one for one in values):
        return None
    return sum(sum(one) for one in values) / unit
