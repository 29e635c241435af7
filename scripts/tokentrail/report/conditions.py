"""What the machine did during each case: device and memory used, clock, power, temperature, what held it back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tokentrail.figures.data import RunData

IDLE = "gpu-idle"  # the driver's word for a clock that rests because nothing runs: no throttling
# a peak seen in fewer readings than this (a second, at five a second) is none: the tool was over before the next one
FEWEST_SAMPLES = 5


@dataclass(frozen=True)
class Conditions:
    """Columns that hold anything in this run, and a row a case."""

    columns: list[str]
    rows: list[tuple[str, list[str]]]
    remarks: list[tuple[str, list[str]]]  # each with the cases it was made of


def conditions_of(run: RunData) -> Conditions:
    """The table for every case that kept telemetry or says how long it held the device."""
    rows = [(record["title"], row(record)) for record in run.records]
    names = list(dict.fromkeys(name for _, cells in rows for name, text in cells.items() if text))
    kept = [(title, [cells.get(name, "") for name in names]) for title, cells in rows if any(cells.values())]
    return Conditions(names, kept, remarks(run.records))


def row(record: dict[str, Any]) -> dict[str, str]:
    """One case's cells by column; empty text where nothing was read."""
    during = (record.get("telemetry") or {}).get("processes") or []
    gpus = [gpu for process in during for gpu in process.get("gpus") or []]
    cpus = [process["cpu"] for process in during if process.get("cpu")]
    on_gpu = record.get("device") != "cpu"
    backend = (record.get("engine") or {}).get("backend") if record.get("device") == "gpu" else None
    device = (record.get("device") or "").upper() + (f" ({backend})" if backend else "")
    often = [gpu for gpu in gpus if (gpu.get("memory_used_bytes") or {}).get("n", 0) >= FEWEST_SAMPLES]
    mib = [value / 2**20 for value in ends(often, "memory_used_bytes", "max")]
    held = record.get("held_gpu_s")
    return {
        "ran on": device if during or held else "",
        "held for": f"{held:.1f} s" if held is not None else "",
        "GPU memory": f"{max(mib):,.0f} MiB" if mib else "too short to sample" if gpus else "",
        "GPU clock": reach(ends(gpus, "sm_mhz_busy", "min", "max"), "MHz"),
        "GPU power": reach(ends(gpus, "power_w", "median", "max"), "W"),
        "GPU temperature": reach(ends(gpus, "temperature_c", "min", "max"), "°C"),
        "held back by": held_back(gpus) if gpus else "",
        "CPU clock": "" if on_gpu else reach(ends(cpus, "mhz", "min", "max"), "MHz"),
        "CPU cores, own and others'": cores(cpus),
    }


def ends(parts: Iterable[dict[str, Any]], key: str, *which: str) -> list[float]:
    """The named ends of a reading over all processes; empty where it was not read."""
    return [part[key][end] for part in parts if part.get(key) for end in which if part[key].get(end) is not None]


def reach(values: list[float], unit: str) -> str:
    """`1,980 MHz`, `148 to 252 W`."""
    if not values:
        return ""
    low, high = f"{min(values):,.0f}", f"{max(values):,.0f}"
    return f"{low} {unit}" if low == high else f"{low} to {high} {unit}"


def held_back(gpus: list[dict[str, Any]]) -> str:
    """The driver's throttle reasons with the samples they were seen in; "nothing" where there was none."""
    seen: dict[str, int] = {}
    total = sum((gpu.get("utilisation_percent") or gpu.get("sm_mhz") or {}).get("n", 0) for gpu in gpus)
    for gpu in gpus:
        for reason, samples in (gpu.get("throttle") or {}).items():
            if reason != IDLE:
                seen[reason] = seen.get(reason, 0) + samples
    return ", ".join(f"{reason} in {n} of {total} samples" for reason, n in seen.items()) or "nothing"


def cores(cpus: list[dict[str, Any]]) -> str:
    """The most cores that the tool used, and others took meanwhile."""
    own = [cpu["own_cores"] for cpu in cpus if cpu.get("own_cores") is not None]
    others = [cpu["others_cores"] for cpu in cpus if cpu.get("others_cores") is not None]
    return f"{max(own):.1f}, {max(others, default=0):.1f}" if own else ""


def remarks(records: Iterable[dict[str, Any]]) -> list[tuple[str, list[str]]]:
    """Every remark with the cases it was made of; of a case's many remarks of one kind, the first and their count."""
    found: dict[str, list[str]] = {}
    for record in records:
        kinds: dict[str, list[str]] = {}
        for remark in record.get("remarks") or []:
            kinds.setdefault(remark["code"], []).append(remark["message"])
        for texts in kinds.values():
            more = f" (and {len(texts) - 1} more such remarks)" if len(set(texts)) > 1 else ""
            found.setdefault(texts[0] + more, []).append(record["title"])
    return list(found.items())
