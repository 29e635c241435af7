"""How many threads a measurement uses, and why: never a tool's default, which counts the host's CPUs."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import psutil

from tokentrail.machine import cgroup


def choose(affinity: int | None, quota: float | None, physical: int | None) -> dict[str, Any]:
    """{"value", "reason"}: the smallest of usable CPUs, whole CPUs of the quota, and physical cores.

    A thread above the quota is put to sleep in the middle of a step, which costs far more than it brings; two
    threads of one core share its arithmetic units. At least 1, also for a quota below one CPU.
    """
    limits = []
    if affinity:
        limits.append((affinity, f"{affinity} usable CPUs"))
    if quota is not None:
        limits.append((max(1, math.floor(quota + 1e-9)), f"a quota of {quota:g} CPUs"))
    if physical:
        limits.append((physical, f"{physical} physical cores"))
    if not limits:
        return {"value": 1, "reason": "neither CPUs nor a quota could be read"}
    value, decided = min(limits, key=lambda limit: limit[0])
    others = [text for _, text in limits if text != decided]
    return {"value": value, "reason": f"{decided} decide" + (f" (also seen: {', '.join(others)})" if others else "")}


def threads(root: Path = Path("/")) -> dict[str, Any]:
    """The choice for this process on this machine."""
    return choose(len(affinity()), cgroup.quota(root), cores_among(affinity()))


def affinity() -> set[int]:
    """CPUs this process may run on (all of them where the system does not say, as on macOS)."""
    if hasattr(os, "sched_getaffinity"):
        return set(os.sched_getaffinity(0))
    return set(range(os.cpu_count() or 1))


def cores_among(cpus: set[int], sysfs: Path = Path("/sys/devices/system/cpu")) -> int | None:
    """Physical cores behind these CPUs: SMT siblings count once. None where the system does not say."""
    siblings = set()
    for cpu in cpus:
        try:
            siblings.add((sysfs / f"cpu{cpu}/topology/thread_siblings_list").read_text().strip())
        except OSError:
            return psutil.cpu_count(logical=False)
    return len(siblings) or None
