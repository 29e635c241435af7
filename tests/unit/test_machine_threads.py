"""Threads come from what this process may use: affinity, quota, physical cores. Quotas of both cgroup generations."""

from __future__ import annotations

from pathlib import Path

import pytest

from tokentrail.machine import cgroup
from tokentrail.machine.threads import choose, cores_among


@pytest.mark.parametrize(
    ("affinity", "quota", "physical", "value", "word"),
    [
        pytest.param(16, 2.0, 8, 2, "quota of 2 CPUs decide", id="quota below all"),
        pytest.param(16, 7.65, 8, 7, "quota of 7.65", id="quota is floored"),
        pytest.param(16, None, 8, 8, "8 physical cores decide", id="SMT siblings are no cores"),
        pytest.param(3, None, 8, 3, "3 usable CPUs decide", id="affinity"),
        pytest.param(4, 0.5, 4, 1, "quota of 0.5", id="never below one"),
        pytest.param(None, None, None, 1, "neither", id="nothing known"),
    ],
)
def test_choose(affinity, quota, physical, value, word) -> None:
    """The smallest limit decides, and the reason names it."""
    found = choose(affinity, quota, physical)

    assert value == found["value"]
    assert word in found["reason"]


def put(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def test_quota_v2(tmp_path: Path) -> None:
    """A parent's quota binds as well; the smaller one counts."""
    root = put(
        tmp_path,
        {
            "proc/self/cgroup": "0::/user/job\n",
            "sys/fs/cgroup/user/cpu.max": "200000 100000\n",
            "sys/fs/cgroup/user/job/cpu.max": "max 100000\n",
        },
    )

    assert cgroup.quota(root) == 2.0


def test_quota_v1(tmp_path: Path) -> None:
    """Two files, and a path that a container hides: then the mount itself is read."""
    root = put(
        tmp_path,
        {
            "proc/self/cgroup": "4:cpu,cpuacct:/docker/abc\n1:name=systemd:/\n",
            "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "765000\n",
            "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n",
        },
    )

    assert cgroup.quota(root) == pytest.approx(7.65)


def test_no_quota(tmp_path: Path) -> None:
    """No control groups at all, "max", and -1 all mean: no limit."""
    assert cgroup.quota(tmp_path) is None
    put(tmp_path, {"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "max 100000"})
    assert cgroup.quota(tmp_path) is None


def test_memory_limit(tmp_path: Path) -> None:
    """v1 writes a huge number for "no limit"."""
    files = {"proc/self/cgroup": "4:memory:/\n"}
    root = put(tmp_path, {**files, "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712"})
    assert cgroup.memory_limit(root) is None
    put(root, {"sys/fs/cgroup/memory/memory.limit_in_bytes": "1073741824"})
    assert cgroup.memory_limit(root) == 1 << 30


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("nr_periods 10\nnr_throttled 3\nthrottled_usec 500\n", (10, 3, 500_000)),
        ("nr_periods 10\nnr_throttled 3\nthrottled_time 500\n", (10, 3, 500)),
    ],
    ids=["v2 in microseconds", "v1 in nanoseconds"],
)
def test_throttle_counters(text: str, expected: tuple[int, int, int]) -> None:
    """Both generations give nanoseconds."""
    found = cgroup.parse_stat(text)

    assert expected == (found["nr_periods"], found["nr_throttled"], found["throttled_ns"])


def test_no_throttle_counters() -> None:
    """v2 without a quota counts nothing: that is not "never throttled"."""
    assert cgroup.parse_stat("usage_usec 5\nuser_usec 3\n") is None


def test_cores_among(tmp_path: Path) -> None:
    """Two CPUs of one core are one core."""
    for cpu, siblings in enumerate(("0,2", "1,3", "0,2", "1,3")):
        put(tmp_path, {f"cpu{cpu}/topology/thread_siblings_list": siblings})

    assert cores_among({0, 2}, tmp_path) == 1
    assert cores_among({0, 1, 2, 3}, tmp_path) == 2
