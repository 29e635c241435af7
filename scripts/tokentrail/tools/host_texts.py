"""Texts a host gives of its CPUs, its GPU's users and its driver: pure readers, no files opened here."""

from __future__ import annotations

import csv
import math
import re

from tokentrail import units
from tokentrail.tools import lenient_json
from tokentrail.tools.failures import reason

# Pattern, and the cause with what to do; the first that matches a line is taken, so the vaguest come last.
PERIOD_US = 100_000
_DRIVER = {
    r"driver/library version mismatch": "the NVIDIA driver and its library differ; reboot, or reload the driver",
    r"forward compatibility was attempted on non supported hw": (
        "the CUDA library is newer than the driver, which this GPU does not allow; update the driver and reboot"
    ),
    r"driver version is insufficient": "the NVIDIA driver is too old for this build's CUDA; update the driver",
    r"device kernel image is invalid|no kernel image is available": (
        "the build has no code for this GPU or driver; build it for this GPU's compute capability"
    ),
    r"unsupported display driver|ptx was compiled with an unsupported toolchain": (
        "driver and CUDA library do not fit each other; update the driver and reboot"
    ),
    r"hiperrornobinaryforgpu|cannot read tensilelibrary": (
        "the build has no code for this GPU (ROCm); build it for this GPU's gfx number"
    ),
    r"system not yet initialized": "the fabric manager of this machine's GPUs does not run; start it",
    r"libcuda\.so\S*:? cannot open": (
        "the NVIDIA driver's library is not here; install it, or give the container the GPU"
    ),
    r"lib(?:cudart|cublas\w*|amdhip64|rocblas)\.so\S*:? cannot open": (
        "a library that the build was linked to is missing; install that runtime or build again"
    ),
    r"couldn't communicate with the nvidia driver|nvidia driver.{0,40}not loaded": "the NVIDIA driver is not loaded",
    r"no cuda-capable device is detected|failed to initialize (?:cuda|nvml)|cuda error: initialization error": (
        "CUDA finds no usable GPU; see what nvidia-smi says, and whether the container was given the GPU"
    ),
}


def cgroup_quota(cpu_max: str | None = None, quota_us: str | None = None, period_us: str | None = None) -> float | None:
    """CPUs a cgroup allows, None for no limit. v2: `cpu.max` ("200000 100000", "max 100000");
    v1: cpu.cfs_quota_us (−1: no limit) and cpu.cfs_period_us. A text that is neither limits nothing we could name."""
    words = (cpu_max or "").split() or [*(quota_us or "").split()[:1], *(period_us or "").split()]
    quota = _int(words[0]) if words else None
    period = _int(words[1]) if len(words) > 1 else PERIOD_US
    return quota / (period or PERIOD_US) if quota else None


def usable_cpus(visible: int, quota: float | None, physical: int | None = None) -> tuple[int, str]:
    """(threads, reason): min(visible CPUs, floor of the quota, physical cores), at least 1.

    llama.cpp's own default ignores the quota; threads above it are throttled, which makes numbers invalid.
    """
    limits = {f"{visible} CPUs visible to this process": visible}
    if quota is not None:
        limits[f"cgroup quota of {quota:g} CPUs"] = max(1, math.floor(quota + 1e-9))
    if physical:
        limits[f"{physical} physical cores"] = physical
    why = min(limits, key=limits.__getitem__)
    return max(1, limits[why]), why


def over_quota(threads: int, quota: float | None) -> dict | None:
    """The reason against more threads than the quota allows."""
    if quota is None or threads <= max(1, math.floor(quota + 1e-9)):
        return None
    sentence = f"{threads} threads on a cgroup quota of {quota:g} CPUs are throttled; numbers are invalid"
    return reason("throttled", sentence)


def lscpu(text: str) -> dict:
    """{logical, physical, threads_per_core, sockets, virtual, model, remark}; unknown ones None.

    text: of `lscpu` (English, or its --json) or of macOS's `sysctl hw machdep.cpu`.
    In a virtual machine one thread per core may hide SMT: these are vCPUs, not cores.
    """
    said = _fields(text)
    found = {key: values[-1] for key, values in said.items()}
    # A processor of big and little cores has one block of lines for each kind.
    sockets = _ints(said.get("Socket(s)")) or _ints(said.get("Cluster(s)"))
    cores = _ints(said.get("Core(s) per socket")) or _ints(said.get("Core(s) per cluster"))
    physical = sum(a * b for a, b in zip(sockets, cores, strict=True)) if len(sockets) == len(cores) else None
    threads = max(_ints(said.get("Thread(s) per core")), default=None)
    virtual = any(key in found for key in ("Hypervisor vendor", "Virtualization type"))
    remark = None
    if threads and threads > 1:
        remark = f"{threads} threads per core (SMT): more threads than cores share one core's units"
    elif virtual:
        remark = "virtual machine: these are vCPUs, and one thread per core may hide SMT"
    logical = _int(found.get("CPU(s)")) or _int(found.get("hw.logicalcpu"))
    if text.strip() and not (logical and (cores or "hw.physicalcpu" in found)):
        remark = "cores and threads are not told here; is this lscpu in another language? Run it with LC_ALL=C"
    return {
        "logical": logical,
        "physical": physical or _int(found.get("hw.physicalcpu")),
        "threads_per_core": threads,
        "sockets": sum(sockets) or None,
        "virtual": virtual,
        "model": ", ".join(dict.fromkeys(said.get("Model name", []))) or found.get("machdep.cpu.brand_string"),
        "remark": remark,
    }


def gpu_processes(text: str) -> list[dict]:
    """[{pid, name, memory_mib}] from nvidia-smi's csv of --query-compute-apps=pid,process_name,used_gpu_memory."""
    lines = [_cells(line) for line in lenient_json.as_text(text).split("\n") if line.strip()]
    if lines and len(lines[0]) >= 3 and lines[0][0].isdigit():
        lines.insert(0, ["pid", "process_name", "used_gpu_memory"])  # --format=csv,noheader
    if not lines or "pid" not in lines[0]:
        return []
    columns = [name.split(" [")[0] for name in lines[0]]
    return [_gpu_process(columns, row) for row in lines[1:] if len(row) >= len(columns)]


def _cells(line: str) -> list[str]:
    """Cells of one csv line; nvidia-smi does not quote, so a lone quotation mark is only a character."""
    quoting = csv.QUOTE_NONE if line.count('"') % 2 else csv.QUOTE_MINIMAL
    return [cell.strip() for cell in next(csv.reader([line], skipinitialspace=True, quoting=quoting))]


def _gpu_process(columns: list[str], row: list[str]) -> dict:
    """One process; a name with commas has more cells than the header, which are the name's."""
    name_at = next((columns.index(c) for c in ("process_name", "name") if c in columns), None)
    more = len(row) - len(columns)
    if more and name_at is not None:
        row = [*row[:name_at], ", ".join(row[name_at : name_at + more + 1]), *row[name_at + more + 1 :]]
    said = dict(zip(columns, row, strict=False))
    memory = said.get("used_gpu_memory", said.get("used_memory", ""))
    try:
        size = units.parse_bytes(memory if memory.split()[1:] else f"{memory} MiB")["value"] / 2**20
    except ValueError:
        size = None
    return {
        "pid": _int(said["pid"]),
        "name": row[name_at] if name_at is not None else None,
        "memory_mib": int(size) if size is not None and size == int(size) else size,
    }


def shared_gpu(processes: list[dict], own_pids: set[int], utilization_before: float | None = None) -> dict | None:
    """The reason where others use the GPU. In a container the list can be empty although they do: then a
    utilization (percent) above 0 before the start tells."""
    others = [p for p in processes if p["pid"] not in own_pids]
    if others:
        names = ", ".join(_named(p) for p in others)
        return reason("shared-gpu", f"shared GPU: {names} uses it too; stop it, or allow it in the config")
    if not processes and utilization_before:
        sentence = f"shared GPU: no process is listed, yet it was {utilization_before:g} % busy before the start"
        return reason("shared-gpu", sentence)
    return None


def _named(process: dict) -> str:
    pid = f"pid {process['pid']}" if process["pid"] is not None else "pid not told"
    memory = f", {process['memory_mib']:g} MiB" if process["memory_mib"] is not None else ""
    return f"{process['name'] or 'a process'} ({pid}{memory})"


def driver_problem(text: str) -> dict | None:
    """The reason in the stderr of a tool or of nvidia-smi where driver, library, build and GPU do not fit.

    llama.cpp goes on with the CPU and exits 0 where CUDA cannot start, so this is looked for beforehand.
    """
    for line in text.splitlines():
        for pattern, sentence in _DRIVER.items():
            if re.search(pattern, line, re.I):
                return reason("driver-mismatch", f"{sentence} ({line.strip()})")
    return None


def _fields(text: str) -> dict[str, list[str]]:
    """Values by key, in order: of `key: value` lines, or of lscpu's JSON with its nested children."""
    pairs = [line.partition(":")[::2] for line in text.splitlines()]
    if text.lstrip().startswith("{"):
        try:
            value = lenient_json.loads(text)
        except ValueError:
            return {}
        pairs, todo = [], [value.get("lscpu")] if isinstance(value, dict) else []
        while todo:
            one = todo.pop(0)
            if isinstance(one, list):
                todo = one + todo
            elif isinstance(one, dict):
                pairs.append((str(one.get("field")).strip().removesuffix(":"), str(one.get("data") or "")))
                todo.insert(0, one.get("children"))
    found: dict[str, list[str]] = {}
    for key, value in pairs:
        found.setdefault(key.strip(), []).append(value.strip())
    return found


def _ints(texts: list[str] | None) -> list[int]:
    return [n for text in texts or [] if (n := _int(text)) is not None]


def _int(text: str | None) -> int | None:
    return int(text) if text and text.strip().isdigit() else None
