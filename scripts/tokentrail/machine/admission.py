"""Whether the machine was in a state to be measured: a pure judgement over the telemetry that a case stored.

All thresholds stand here, each with its reason. A *reason* makes a record invalid; a *remark* does not, unless
`strict` is set.
"""

from __future__ import annotations

from typing import Any

# One busy core of another process took two thirds off a two-thread decode rate; half a core is clearly seen too.
OTHERS_CORES = 0.5
# Time that the hypervisor gave to other machines; a tenth of a core is beyond its usual noise.
STOLEN_CORES = 0.1
# A process stopped by its quota for 1 % of its time has lost more than the intervals we report.
THROTTLED_SHARE = 0.01
# Below this share of memory the kernel drops pages of the mapped model and reads them again.
AVAILABLE_SHARE = 0.05
# A GPU that does something before we start is not ours alone; idle ones show 0, a desktop up to a few per cent.
IDLE_UTILISATION = 5
# Hardware's own emergency brakes: the clock is then not the card's.
THROTTLE_REASONS = {"hardware-slowdown", "software-thermal", "hardware-thermal", "hardware-power-brake"}
# Limits that belong to how the card is set up: true of this machine, but worth saying.
THROTTLE_REMARKS = {"power-cap", "application-clocks", "sync-boost", "display-clocks"}
# Heat of one sample in twenty may be a blip of the sensor; more is a state.
THROTTLED_SAMPLES = 0.05

Findings = list[dict[str, str]]


def admission(
    before: dict[str, Any],
    during: dict[str, Any],
    after: dict[str, Any],
    case: dict[str, Any],
    machine: dict[str, Any],
    strict: bool = False,
) -> tuple[Findings, Findings]:
    """(reasons, remarks) of one process's telemetry, each [{"code", "message"}], in a fixed order.

    before, after: tokentrail.machine.stamp.instant; during: stamp.summary; case: of the plan; machine: schema
    `machine`. Whatever the telemetry lacks is not judged: nothing is invented for a transcribed run.
    """
    reasons: Findings = []
    remarks: Findings = []
    _gpus(before, during, after, case, reasons, remarks)
    _cpu(before, during, after, case, machine, reasons, remarks)
    _memory(before, during, after, remarks)
    if before.get("on_battery") or after.get("on_battery"):
        _add(remarks, "on-battery", "the computer ran on its battery, where clocks are usually held down")
    return (reasons + remarks, []) if strict else (reasons, remarks)


def _gpus(before: dict, during: dict, after: dict, case: dict, reasons: Findings, remarks: Findings) -> None:
    if case.get("device") == "cpu":
        return
    for number, gpu in enumerate(before.get("gpus") or []):
        index = gpu["index"]
        others = gpu.get("processes") or []
        if others:
            held = ", ".join(f"pid {p['pid']}{_mib(p.get('memory_bytes'))}" for p in others)
            _add(reasons, "gpu-shared", f"GPU {index} was used by another process before the start ({held})")
        elif (gpu.get("utilisation_percent") or 0) > IDLE_UTILISATION:
            busy = gpu["utilisation_percent"]
            _add(reasons, "gpu-shared", f"GPU {index} was {busy} % busy before the start, by a process we cannot see")
        summary = _at(during.get("gpus"), number)
        if not others and ((summary.get("processes") or {}).get("max") or 0) > 1:
            _add(reasons, "gpu-shared", f"a second process used GPU {index} while the tool ran")
        _throttling(index, summary, during.get("n") or 0, reasons, remarks)
    for limit in before.get("gpu_limits") or []:
        now, shipped = limit.get("power_limit_w"), limit.get("default_power_limit_w")
        if now and shipped and now < shipped:
            text = f"GPU {limit['index']} is limited to {now:g} W of {shipped:g} W"
            _add(remarks, "gpu-power-limit-lowered", text)


def _throttling(index: int, summary: dict, n: int, reasons: Findings, remarks: Findings) -> None:
    seen = summary.get("throttle") or {}
    for name in sorted(seen):
        share = seen[name] / n if n else 1.0
        text = f"GPU {index} was held back by {name} in {seen[name]} of {n} samples"
        if name in THROTTLE_REASONS and share > THROTTLED_SAMPLES:
            _add(reasons, "gpu-throttled", text)
        elif name in THROTTLE_REASONS or name in THROTTLE_REMARKS:
            _add(remarks, f"gpu-{name}", text)


def _cpu(
    before: dict, during: dict, after: dict, case: dict, machine: dict, reasons: Findings, remarks: Findings
) -> None:
    start, end = before.get("cpu") or {}, after.get("cpu") or {}
    middle = during.get("cpu") or {}
    _quota_throttling(start.get("cgroup"), end.get("cgroup"), during.get("wall_s"), reasons, remarks)
    threads, cpu = (case.get("threads") or {}).get("value"), machine.get("cpu") or {}
    if threads and cpu.get("quota") and threads > cpu["quota"]:
        text = f"{threads} threads on a quota of {cpu['quota']:g} CPUs stop each other; use {int(cpu['quota']) or 1}"
        _add(reasons, "threads-over-quota", text)
    if threads and cpu.get("affinity") and threads > cpu["affinity"]:
        _add(reasons, "threads-over-cpus", f"{threads} threads on {cpu['affinity']} usable CPUs wait for each other")
    elif threads and cpu.get("physical") and threads > cpu["physical"]:
        _add(remarks, "threads-share-cores", f"{threads} threads on {cpu['physical']} physical cores share cores (SMT)")
    if (middle.get("others_cores") or 0) > OTHERS_CORES:
        text = f"other processes used {middle['others_cores']:.1f} cores meanwhile; stop them and measure again"
        _add(remarks, "cpu-shared", text)
    if (middle.get("stolen_cores") or 0) > STOLEN_CORES:
        text = f"the hypervisor gave {middle['stolen_cores']:.1f} cores of time to other machines"
        _add(remarks, "cpu-stolen", text)
    if "powersave" in (start.get("governors") or []):
        _add(
            remarks, "governor-powersave", "the CPU frequency governor is powersave; performance gives steadier numbers"
        )


def _quota_throttling(
    start: dict | None, end: dict | None, wall_s: float | None, reasons: Findings, remarks: Findings
) -> None:
    """A brief touch of the quota is a remark when the time lost is known to be small; else it spoils the number."""
    if not start or not end:
        return
    times = end["nr_throttled"] - start["nr_throttled"]
    if times <= 0:
        return
    lost_s = (end.get("throttled_ns", 0) - start.get("throttled_ns", 0)) / 1e9
    text = f"the CPU quota stopped the processes {times} times, for {lost_s:.2f} s in all"
    if wall_s and 0 < lost_s <= THROTTLED_SHARE * wall_s:
        _add(remarks, "cpu-throttled-briefly", text)
    else:
        _add(reasons, "cpu-throttled", text + "; use fewer threads or a larger quota")


def _memory(before: dict, during: dict, after: dict, remarks: Findings) -> None:
    start, end = before.get("memory") or {}, after.get("memory") or {}
    swapped = (end.get("swapped_in_bytes") or 0) - (start.get("swapped_in_bytes") or 0)
    if swapped > 0:
        _add(remarks, "swapped", f"{swapped / 1e6:.0f} MB came back from swap meanwhile; free some memory")
    total, lowest = start.get("total_bytes"), (during.get("memory_available_bytes") or {}).get("min")
    if total and lowest is not None and lowest < AVAILABLE_SHARE * total:
        _add(remarks, "memory-low", f"only {lowest / 1e9:.1f} GB of {total / 1e9:.1f} GB of memory were left")


def _add(found: Findings, code: str, message: str) -> None:
    found.append({"code": code, "message": message})


def _at(items: list[dict] | None, number: int) -> dict[str, Any]:
    return items[number] if items and number < len(items) else {}


def _mib(size: int | None) -> str:
    return f", {size / (1 << 20):,.0f} MiB" if size else ""
