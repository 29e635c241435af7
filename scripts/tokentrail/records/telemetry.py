"""The telemetry of a case's processes, joined into what a record keeps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def joined(processes: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """{"processes": [what happened during each], "energy_j": total of the GPUs or null, "driver_reason"}."""
    during = [p["telemetry"]["during"] for p in processes]
    return {"processes": during, "energy_j": _energy(during)}


def _energy(during: Sequence[dict[str, Any]]) -> dict[str, float | None]:
    gpu = [(d.get("energy") or {}).get("gpu_mj") or [] for d in during]
    known = all(values and None not in values for values in gpu)
    return {"gpu": sum(sum(values) for values in gpu) / 1000 if gpu and known else None}
