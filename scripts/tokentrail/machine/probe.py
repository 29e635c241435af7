"""The computer as a record (schema `machine`): no host name, no path, no UUID in clear."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import psutil

from tokentrail import config
from tokentrail.machine import cgroup
from tokentrail.machine.gpu import Nvml
from tokentrail.machine.threads import affinity, threads
from tokentrail.problems import Problem

# Words of a CPU's marketing name that say nothing about which CPU it is.
NOISE = r"\((r|tm)\)|\b(intel|amd|cpu|processor|genuine|with radeon.*|\d+-core|quad-core|eight-core)\b|@.*$"


def probe(wanted: str = "auto", machines: dict[str, Any] | None = None) -> dict[str, Any]:
    """What this computer is. `wanted` = config's `machine`; `machines` = those of config/machines.yaml.

    Raises Problem when a machine named by hand is not the one found: its data-sheet figures would be wrong.
    """
    known = machines if machines is not None else config.read_machines()
    nvml = Nvml()
    gpus = nvml.facts()
    cpu = _cpu()
    usable = _usable(cpu)
    missing = {}
    if not gpus:
        missing["gpus"] = nvml.reason or "none found"
    return {
        "schema_version": 1,
        "machine": identify(wanted, known, [gpu["name"] for gpu in gpus], cpu["model"], usable),
        "cpu": cpu,
        "threads": threads(),
        "memory_bytes": min(psutil.virtual_memory().total, cgroup.memory_limit() or 1 << 62),
        "gpus": gpus,
        "driver": nvml.driver(),
        "os": _os(),
        # the numbers only: what follows them is often a company's own name for its kernel
        "kernel": f"{platform.system()} {re.split(r'[^0-9.]', platform.release())[0]}",
        "container": container_hint(),
        "missing": missing,
    }


def identify(wanted: str, known: dict[str, Any], gpus: list[str], cpu_model: str | None, cpus: int) -> str:
    """The machine's id: the name wanted, or the first entry that fits, or a slug of its GPU, or of its CPU."""
    if wanted != "auto":
        pattern = known.get(wanted, {}).get("match", {}).get("gpu_name")
        if pattern and gpus and not any(re.search(pattern, name) for name in gpus):
            raise Problem(
                f"config/config.yaml: machine is {wanted}, but the GPU here is {gpus[0]}, whose bandwidth and price "
                "are others; use machine: auto, or add this GPU to config/machines.yaml"
            )
        return wanted
    for name, entry in known.items():
        if _fits(entry.get("match", {}), gpus, cpu_model, cpus):
            return name
    if gpus:
        return slug(re.sub(r"(?i)nvidia|geforce|tesla", " ", gpus[0]))
    return f"cpu-{cpu_slug(cpu_model)}-{cpus}c"


def cpu_slug(model: str | None) -> str:
    """ "Intel(R) Xeon(R) Platinum 8480+" -> "xeon-platinum-8480"; "AMD EPYC" -> "epyc"."""
    return slug(re.sub(NOISE, " ", (model or "").lower())) or "unknown"


def slug(text: str) -> str:
    """Lower-case letters and digits, joined by single hyphens."""
    return "-".join(re.findall(r"[a-z0-9]+", text.lower()))


def _fits(match: dict[str, Any], gpus: list[str], cpu_model: str | None, cpus: int) -> bool:
    if "gpu_name" in match:
        return any(re.search(match["gpu_name"], name) for name in gpus)
    if gpus or "cpu_model" not in match:
        return False
    return bool(re.search(match["cpu_model"], cpu_model or "")) and match.get("cpus", cpus) == cpus


def container_hint(root: Path = Path("/")) -> str | None:
    """The kind of container we seem to be in, or None; a hint, since a container may hide it."""
    if "KUBERNETES_SERVICE_HOST" in os.environ:
        return "kubernetes"
    for name, kind in ((".dockerenv", "docker"), ("run/.containerenv", "podman"), (".singularity.d", "apptainer")):
        if (root / name).exists():
            return kind
    try:
        first = (root / "proc/1/cgroup").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    return next((kind for kind in ("kubepods", "docker", "lxc", "podman") if kind in first), None)


def _usable(cpu: dict[str, Any]) -> int:
    limits = [cpu["affinity"], cpu["logical"], cpu["quota"] and max(1, int(cpu["quota"]))]
    return min((limit for limit in limits if limit), default=1)


def _cpu() -> dict[str, Any]:
    info = _cpuinfo()
    flags = info.get("flags") or info.get("Features")
    physical, logical = psutil.cpu_count(logical=False), psutil.cpu_count()
    return {
        "model": info.get("model name") or _sysctl("machdep.cpu.brand_string") or info.get("Model"),
        "logical": logical,
        "physical": physical,
        "affinity": len(affinity()),
        "quota": cgroup.quota(),
        "virtual": "hypervisor" in flags.split() if flags and "flags" in info else None,
        "smt": logical > physical if logical and physical else None,
    }


def _cpuinfo() -> dict[str, str]:
    """The first processor's block of /proc/cpuinfo; empty where there is none (macOS)."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}
    pairs = (line.split(":", 1) for line in text.split("\n\n")[0].splitlines() if ":" in line)
    return {name.strip(): value.strip() for name, value in pairs}


def _sysctl(name: str) -> str | None:
    """A macOS kernel value; None elsewhere."""
    if platform.system() != "Darwin" or not shutil.which("sysctl"):
        return None
    answer = subprocess.run(["sysctl", "-n", name], capture_output=True, text=True, check=False)
    return answer.stdout.strip() or None


def _os() -> str | None:
    if platform.system() == "Darwin":
        return f"macOS {platform.mac_ver()[0]}"
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME")
    except OSError:
        return platform.system() or None
