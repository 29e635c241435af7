"""The machine's state before, during and after a measuring process: what admission.py judges later.

`instant()` reads everything once. A separate sampler process does so five times a second while a tool runs, so that
the client that times a request shares no interpreter lock with it. Times are of the monotonic clock, in ns.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil

from tokentrail.machine import cgroup
from tokentrail.machine.gpu import Nvml

INTERVAL_S = 0.2
CPUFREQ = Path("/sys/devices/system/cpu")
RAPL = Path("/sys/class/powercap")
# Quantities of a GPU that are summarised, as gpu.Nvml.sample names them.
GPU_QUANTITIES = ("power_w", "sm_mhz", "memory_mhz", "temperature_c", "utilisation_percent", "memory_used_bytes")


def sample(nvml: Nvml) -> dict[str, Any]:
    """What changes while a tool runs, read as cheaply as can be: five times a second beside a measurement."""
    times = psutil.cpu_times()
    idle = times.idle + getattr(times, "iowait", 0.0)
    # guest time is part of user time already; counting it again would make busy exceed the clock
    total = sum(times) - getattr(times, "guest", 0.0) - getattr(times, "guest_nice", 0.0)
    steal = getattr(times, "steal", 0.0)
    return {
        "t_ns": time.perf_counter_ns(),
        "cpu": {
            "busy_s": round(total - idle - steal, 3),
            "steal_s": round(steal, 3),
            "load1": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
            "mhz": _frequencies(),
        },
        "memory": {"available_bytes": psutil.virtual_memory().available},
        "gpus": nvml.sample(),
    }


def instant(nvml: Nvml) -> dict[str, Any]:
    """Everything at one moment, before and after a process. Values that this machine does not tell are None."""
    state, swap = sample(nvml), psutil.swap_memory()
    state["cpu"] |= {"governors": _governors(), "cgroup": cgroup.throttling()}
    state["memory"] |= {
        "total_bytes": psutil.virtual_memory().total,
        "swap_used_bytes": swap.used,
        "swapped_in_bytes": swap.sin,
        "swapped_out_bytes": swap.sout,
    }
    return state | {
        "on_battery": _on_battery(),
        "rapl_uj": _rapl(),
        "gpu_limits": nvml.limits(),
        "gpu_reason": nvml.reason,
    }


def settled(nvml: Nvml, limit_s: float = 1.5) -> dict[str, Any]:
    """`instant()`, once the GPU is idle: for a moment its utilisation still shows the process before."""
    end = time.monotonic() + limit_s
    state = instant(nvml)
    while any(gpu["utilisation_percent"] for gpu in state["gpus"]) and time.monotonic() < end:
        time.sleep(0.1)
        state = instant(nvml)
    return state


class Sampler:
    """The sampler process of one case; `between` gives the samples of one tool process."""

    def __init__(self, file: Path, process: subprocess.Popen[bytes]) -> None:
        self._file, self._process = file, process

    def between(self, start_ns: int, end_ns: int) -> list[dict[str, Any]]:
        """Samples taken in this span, in order."""
        text = self._file.read_text(encoding="ascii") if self._file.exists() else ""
        samples = [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]
        return [s for s in samples if start_ns <= s["t_ns"] <= end_ns]

    def cpu_s(self) -> float:
        """CPU seconds it has used so far; it does not count as load of others."""
        with contextlib.suppress(psutil.Error):
            times = psutil.Process(self._process.pid).cpu_times()
            return times.user + times.system
        return 0.0


@contextlib.contextmanager
def sampler(file: Path, interval_s: float = INTERVAL_S) -> Iterator[Sampler]:
    """Run the sampler beside us. It ends when its standard input closes, so also when we are killed."""
    command = [sys.executable, "-m", "tokentrail.machine.sampler", str(file), str(interval_s)]
    library = str(Path(__file__).resolve().parents[2])
    environment = {**os.environ, "PYTHONPATH": library}
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
    assert process.stdin and process.stdout
    try:
        process.stdout.readline()  # it says when its imports are done: none of them falls into a measurement
        yield Sampler(file, process)
    finally:
        process.stdin.close()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


def summary(
    samples: list[dict[str, Any]], before: dict[str, Any], after: dict[str, Any], own_cpu_s: float
) -> dict[str, Any]:
    """What happened during one process: n, min, median, max per quantity, and what others did meanwhile.

    `own_cpu_s` = CPU seconds of the tool, this client and the sampler in the span; the rest of the machine's busy
    time belongs to others. In a container /proc/stat counts the whole host, so others are its other tenants too.
    """
    wall_s = (after["t_ns"] - before["t_ns"]) / 1e9
    busy_s = after["cpu"]["busy_s"] - before["cpu"]["busy_s"]
    steal_s = after["cpu"]["steal_s"] - before["cpu"]["steal_s"]
    return {
        "interval_s": INTERVAL_S,
        "n": len(samples),
        "wall_s": round(wall_s, 6),
        "cpu": {
            "own_cores": round(own_cpu_s / wall_s, 3),
            "others_cores": round(max(0.0, busy_s - own_cpu_s) / wall_s, 3),
            "stolen_cores": round(max(0.0, steal_s) / wall_s, 3),
            "mhz": spread([f for s in samples for f in s["cpu"]["mhz"] or []]),
        },
        "memory_available_bytes": spread([s["memory"]["available_bytes"] for s in samples]),
        "gpus": [_gpu_summary(index, samples) for index in range(len(before["gpus"]))],
        "energy": {
            "gpu_mj": [
                _grown(b["energy_mj"], a["energy_mj"]) for b, a in zip(before["gpus"], after["gpus"], strict=False)
            ],
            "rapl_uj": _rapl_grown(before["rapl_uj"], after["rapl_uj"]),
        },
    }


def spread(values: list[Any]) -> dict[str, Any] | None:
    """{n, min, median, max} of the values that exist; None when there are none."""
    found = [value for value in values if value is not None]
    if not found:
        return None
    return {"n": len(found), "min": min(found), "median": statistics.median(found), "max": max(found)}


def _gpu_summary(index: int, samples: list[dict[str, Any]]) -> dict[str, Any]:
    states = [s["gpus"][index] for s in samples if index < len(s["gpus"])]
    busy = [s for s in states if "gpu-idle" not in s["throttle"]]
    return {
        "index": index,
        **{name: spread([s[name] for s in states]) for name in GPU_QUANTITIES},
        # how many of the samples showed each reason: a single one says less than most of them
        "throttle": {name: sum(name in s["throttle"] for s in states) for s in states for name in s["throttle"]},
        "sm_mhz_busy": spread([s["sm_mhz"] for s in busy]),
        "processes": spread([len(s["processes"]) for s in states]),
        "pids": sorted({p["pid"] for s in states for p in s["processes"]}),
    }


def _grown(before: int | None, after: int | None) -> int | None:
    return after - before if before is not None and after is not None and after >= before else None


def _rapl_grown(before: dict[str, int] | None, after: dict[str, int] | None) -> dict[str, int | None] | None:
    if before is None or after is None:
        return None
    # a counter that wrapped round in between is left out rather than guessed
    return {name: _grown(value, after.get(name)) for name, value in before.items()}


@functools.cache
def _frequency_files() -> list[Path]:
    """One CPU in n, at most 8 of them: reading a frequency may interrupt the CPU it is of."""
    found = sorted(CPUFREQ.glob("cpu[0-9]*/cpufreq/scaling_cur_freq"))
    return found[:: max(1, -(-len(found) // 8))]


def _frequencies() -> list[float] | None:
    found = []
    for file in _frequency_files():
        with contextlib.suppress(OSError, ValueError):
            found.append(int(file.read_text()) / 1000)
    return found or None


def _governors() -> list[str] | None:
    found = set()
    for file in CPUFREQ.glob("cpu[0-9]*/cpufreq/scaling_governor"):
        with contextlib.suppress(OSError):
            found.add(file.read_text().strip())
    return sorted(found) or None


def _on_battery() -> bool | None:
    if not hasattr(psutil, "sensors_battery"):
        return None
    battery = psutil.sensors_battery()
    return None if battery is None or battery.power_plugged is None else not battery.power_plugged


def _rapl() -> dict[str, int] | None:
    """Energy counters in µJ per package, where the kernel lets us read them (often root only)."""
    found = {}
    for folder in sorted(RAPL.glob("intel-rapl:[0-9]*")):
        if folder.name.count(":") == 1:
            with contextlib.suppress(OSError, ValueError):
                found[(folder / "name").read_text().strip()] = int((folder / "energy_uj").read_text())
    return found or None
