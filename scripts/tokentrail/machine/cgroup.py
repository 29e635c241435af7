"""What the control group allows this process: CPU quota, memory limit, and how often it was throttled.

Both generations are read: v2 (cpu.max, cpu.stat with throttled_usec) and v1 (cpu.cfs_quota_us, cpu.stat with
throttled_time in ns). Limits of parents bind too, so the smallest on the way up counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tokentrail.tools.host_texts import cgroup_quota

# v1 writes a number near 2^63 where there is no memory limit.
NO_LIMIT = 1 << 60


def quota(root: Path = Path("/")) -> float | None:
    """CPUs' worth of time that the group may use, e.g. 7.65; None where nothing limits it."""
    found = [value for folder in _folders(root, "cpu") if (value := _quota_of(folder)) is not None]
    return min(found, default=None)


def memory_limit(root: Path = Path("/")) -> int | None:
    """Bytes of memory that the group may use; None where nothing limits it."""
    found = []
    for folder in _folders(root, "memory"):
        for name in ("memory.max", "memory.limit_in_bytes"):
            text = _text(folder / name)
            if text and text.isdigit() and int(text) < NO_LIMIT:
                found.append(int(text))
    return min(found, default=None)


def throttling(root: Path = Path("/")) -> dict[str, int] | None:
    """{nr_periods, nr_throttled, throttled_ns} of the nearest group that counts them; None where none does."""
    for folder in _folders(root, "cpu"):
        found = parse_stat(_text(folder / "cpu.stat") or "")
        if found:
            return found
    return None


def parse_stat(text: str) -> dict[str, int] | None:
    """cpu.stat of either generation; None when it holds no throttle counters (no quota is set, v2)."""
    fields = {}
    for line in text.splitlines():
        name, _, value = line.partition(" ")
        if value.strip().isdigit():
            fields[name] = int(value)
    if "nr_throttled" not in fields:
        return None
    nanoseconds = fields.get("throttled_time", fields.get("throttled_usec", 0) * 1000)
    return {
        "nr_periods": fields.get("nr_periods", 0),
        "nr_throttled": fields["nr_throttled"],
        "throttled_ns": nanoseconds,
    }


def _quota_of(folder: Path) -> float | None:
    if (text := _text(folder / "cpu.max")) is not None:
        return cgroup_quota(cpu_max=text)
    return cgroup_quota(quota_us=_text(folder / "cpu.cfs_quota_us"), period_us=_text(folder / "cpu.cfs_period_us"))


def _folders(root: Path, controller: str) -> Iterator[Path]:
    """Folders of our group and its parents, nearest first. A path that a container hides falls back to the mount."""
    base = root / "sys/fs/cgroup"
    for line in (_text(root / "proc/self/cgroup") or "").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controllers == "":
            mounts = [base, base / "unified"]
        elif controller in controllers.split(","):
            mounts = [base / controllers, base / controller]
        else:
            continue
        for mount in mounts:
            folder = mount / path.strip("/")
            while mount.is_dir():
                if folder.is_dir():
                    yield folder
                if folder == mount:
                    break
                folder = folder.parent


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return None


def facts(root: Path = Path("/")) -> dict[str, Any]:
    """All three at once, as the telemetry stores them."""
    return {"quota": quota(root), "throttling": throttling(root)}
