"""Texts a host gives of its CPUs, its GPU's users and its driver: pure readers, no files opened here."""

from __future__ import annotations

import csv
import io
import math
import re

from tokentrail.tools.failures import reason

# Pattern, and the cause with what to do; the first that matches a line is taken, so the vaguest come last.
_DRIVER = {
    r"driver/library version mismatch": "the NVIDIA driver and its library differ; reboot, or reload the driver",
    r"forward compatibility was attempted on non supported hw": (
        "the CUDA library is newer than the driver, which this GPU does not allow; update the driver and reboot"
    ),
    r"driver version is insufficient": "the NVIDIA driver is too old for this build's CUDA; update the driver",
    r"device kernel image is invalid|no kernel image is available": (
        "the build has no code for this GPU or driver; build it for this GPU's compute capability"
    ),
    r"couldn't communicate with the nvidia driver|nvidia driver.{0,40}not loaded": "the NVIDIA driver is not loaded",
    r"no cuda-capable device is detected|failed to initialize (?:cuda|nvml)": "CUDA finds no usable GPU",
}


def cgroup_quota(cpu_max: str | None = None, quota_us: str | None = None, period_us: str | None = None) -> float | None:
    """CPUs a cgroup allows, None for no limit. v2: `cpu.max` ("200000 100000", "max 100000");
    v1: cpu.cfs_quota_us (−1: no limit) and cpu.cfs_period_us."""
    if cpu_max is not None and cpu_max.strip():
        quota, _, period = cpu_max.strip().partition(" ")
        return None if quota == "max" else int(quota) / int(period or 100000)
    if quota_us is None or not quota_us.strip() or int(quota_us) <= 0:
        return None
    return int(quota_us) / int((period_us or "100000").strip() or 100000)


def usable_cpus(visible: int, quota: float | None, physical: int | None = None) -> tuple[int, str]:
    """(threads, reason): min(visible CPUs, floor of the quota, physical cores), at least 1.

    llama.cpp's own default ignores the quota; threads above it are throttled, which makes numbers invalid.
    """
    limits = {f"{visible} CPUs visible to this process": visible}
    if quota is not None:
        limits[f"cgroup quota of {quota:g} CPUs"] = max(1, math.floor(quota))
    if physical:
        limits[f"{physical} physical cores"] = physical
    why = min(limits, key=limits.__getitem__)
    return max(1, limits[why]), why


def over_quota(threads: int, quota: float | None) -> dict | None:
    """The reason against more threads than the quota allows."""
    if quota is None or threads <= max(1, math.floor(quota)):
        return None
    sentence = f"{threads} threads on a cgroup quota of {quota:g} CPUs are throttled; numbers are invalid"
    return reason("throttled", sentence)


def lscpu(text: str) -> dict:
    """{logical, physical, threads_per_core, sockets, virtual, model, remark} from `lscpu`; unknown ones None.

    In a virtual machine one thread per core may hide SMT: these are vCPUs, not cores.
    """
    found = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in text.splitlines())}
    sockets, cores = _int(found.get("Socket(s)")), _int(found.get("Core(s) per socket"))
    threads = _int(found.get("Thread(s) per core"))
    virtual = any(key in found for key in ("Hypervisor vendor", "Virtualization type"))
    remark = None
    if threads and threads > 1:
        remark = f"{threads} threads per core (SMT): more threads than cores share one core's units"
    elif virtual:
        remark = "virtual machine: these are vCPUs, and one thread per core may hide SMT"
    return {
        "logical": _int(found.get("CPU(s)")),
        "physical": sockets * cores if sockets and cores else None,
        "threads_per_core": threads,
        "sockets": sockets,
        "virtual": virtual,
        "model": found.get("Model name"),
        "remark": remark,
    }


def gpu_processes(text: str) -> list[dict]:
    """[{pid, name, memory_mib}] from nvidia-smi's csv of --query-compute-apps=pid,process_name,used_gpu_memory."""
    lines = [row for row in csv.reader(io.StringIO(text), skipinitialspace=True) if row]
    if not lines or "pid" not in lines[0]:
        return []
    columns = {name.split(" [")[0]: place for place, name in enumerate(lines[0])}
    memory = columns.get("used_gpu_memory", columns.get("used_memory"))
    return [
        {
            "pid": int(row[columns["pid"]]),
            "name": row[columns["process_name"]] if "process_name" in columns else None,
            "memory_mib": _int(row[memory].split()[0]) if memory is not None and row[memory].split() else None,
        }
        for row in lines[1:]
        if len(row) == len(lines[0]) and row[columns["pid"]].isdigit()
    ]


def shared_gpu(processes: list[dict], own_pids: set[int], utilization_before: float | None = None) -> dict | None:
    """The reason where others use the GPU. In a container the list can be empty although they do: then a
    utilization (percent) above 0 before the start tells."""
    others = [p for p in processes if p["pid"] not in own_pids]
    if others:
        names = ", ".join(f"{p['name']} (pid {p['pid']}, {p['memory_mib']} MiB)" for p in others)
        return reason("shared-gpu", f"shared GPU: {names} uses it too; stop it, or allow it in the config")
    if not processes and utilization_before:
        sentence = f"shared GPU: no process is listed, yet it was {utilization_before:g} % busy before the start"
        return reason("shared-gpu", sentence)
    return None


def driver_problem(text: str) -> dict | None:
    """The reason in the stderr of a tool or of nvidia-smi where driver, library, build and GPU do not fit.

    llama.cpp goes on with the CPU and exits 0 where CUDA cannot start, so this is looked for beforehand.
    """
    for line in text.splitlines():
        for pattern, sentence in _DRIVER.items():
            if re.search(pattern, line, re.I):
                return reason("driver-mismatch", f"{sentence} ({line.strip()})")
    return None


def _int(text: str | None) -> int | None:
    return int(text) if text and text.strip().isdigit() else None
