"""Whether a machine was fit to be measured, judged from stored telemetry alone."""

from __future__ import annotations

import copy

import pytest

from tokentrail.machine.admission import admission

GPU = {"index": 0, "utilisation_percent": 0, "processes": [], "throttle": ["gpu-idle"]}
BEFORE = {
    "cpu": {"cgroup": {"nr_periods": 100, "nr_throttled": 0, "throttled_ns": 0}, "governors": ["performance"]},
    "memory": {"total_bytes": 16e9, "swapped_in_bytes": 0},
    "on_battery": False,
    "gpus": [GPU],
    "gpu_limits": [{"index": 0, "power_limit_w": 700.0, "default_power_limit_w": 700.0}],
}
AFTER = {
    "cpu": {"cgroup": {"nr_periods": 200, "nr_throttled": 0, "throttled_ns": 0}},
    "memory": {"swapped_in_bytes": 0},
}
DURING = {
    "n": 100,
    "wall_s": 10.0,
    "cpu": {"others_cores": 0.1, "stolen_cores": 0.0},
    "memory_available_bytes": {"min": 8e9},
    "gpus": [{"index": 0, "throttle": {"gpu-idle": 3}, "processes": {"max": 1}}],
}
CASE = {"device": "gpu", "threads": {"value": 8}}
MACHINE = {"cpu": {"quota": None, "affinity": 16, "physical": 8}}


def judged(where: str = "", value=None, *, strict: bool = False, case: dict = CASE, machine: dict = MACHINE):
    """Codes of (reasons, remarks) after one change: where = "during.gpus.0.throttle"."""
    state = copy.deepcopy({"before": BEFORE, "during": DURING, "after": AFTER})
    if where:
        *path, last = where.split(".")
        target = state
        for step in path:
            target = target[int(step) if step.isdigit() else step]
        target[last] = value
    reasons, remarks = admission(**state, case=case, machine=machine, strict=strict)
    return [r["code"] for r in reasons], [r["code"] for r in remarks]


def test_quiet_machine() -> None:
    """Nothing to say of a machine that did nothing else."""
    assert judged() == ([], [])


@pytest.mark.parametrize(
    ("where", "value", "code"),
    [
        ("before.gpus.0.processes", [{"pid": 5151, "memory_bytes": 20 << 30}], "gpu-shared"),
        ("before.gpus.0.utilisation_percent", 40, "gpu-shared"),
        ("during.gpus.0.processes", {"max": 2}, "gpu-shared"),
        ("during.gpus.0.throttle", {"hardware-thermal": 50}, "gpu-throttled"),
        ("during.gpus.0.throttle", {"hardware-power-brake": 6}, "gpu-throttled"),
        ("after.cpu.cgroup", {"nr_periods": 200, "nr_throttled": 9, "throttled_ns": 2_000_000_000}, "cpu-throttled"),
        ("after.cpu.cgroup", {"nr_periods": 200, "nr_throttled": 9}, "cpu-throttled"),
    ],
)
def test_invalid(where: str, value: object, code: str) -> None:
    """What spoils a number makes it invalid."""
    assert judged(where, value) == ([code], [])


@pytest.mark.parametrize(
    ("where", "value", "code"),
    [
        ("during.gpus.0.throttle", {"power-cap": 90}, "gpu-power-cap"),
        ("during.gpus.0.throttle", {"software-thermal": 1}, "gpu-software-thermal"),
        ("during.cpu.others_cores", 0.8, "cpu-shared"),
        ("during.cpu.stolen_cores", 0.5, "cpu-stolen"),
        ("before.cpu.governors", ["powersave"], "governor-powersave"),
        ("before.on_battery", True, "on-battery"),
        ("after.memory.swapped_in_bytes", 5_000_000, "swapped"),
        ("during.memory_available_bytes", {"min": 1e8}, "memory-low"),
        ("before.gpu_limits", [{"index": 0, "power_limit_w": 300.0, "default_power_limit_w": 450.0}],
         "gpu-power-limit-lowered"),
        ("after.cpu.cgroup", {"nr_throttled": 1, "throttled_ns": 5_000_000}, "cpu-throttled-briefly"),
    ],
)  # fmt: skip
def test_remark(where: str, value: object, code: str) -> None:
    """What should be known is a remark; `strict` makes it a reason."""
    assert judged(where, value) == ([], [code])
    assert judged(where, value, strict=True) == ([code], [])


def test_threads() -> None:
    """Above the quota or the usable CPUs: invalid. Above the cores: a remark."""
    tight = {"cpu": {"quota": 2.0, "affinity": 16, "physical": 8}}

    assert judged(machine=tight)[0] == ["threads-over-quota"]
    assert judged(case={"device": "cpu", "threads": {"value": 32}})[0] == ["threads-over-cpus"]
    assert judged(case={"device": "cpu", "threads": {"value": 12}}) == ([], ["threads-share-cores"])


def test_gpu_is_no_matter_for_the_cpu() -> None:
    """A case that leaves the GPU alone does not mind who uses it."""
    assert judged("before.gpus.0.processes", [{"pid": 1}], case={**CASE, "device": "cpu"}) == ([], [])


def test_no_telemetry() -> None:
    """A transcribed run has none: nothing is invented, for good or ill."""
    assert admission({}, {}, {}, {}, {}) == ([], [])


def test_message_says_who() -> None:
    """A person can find the other process."""
    before = {**BEFORE, "gpus": [{**GPU, "processes": [{"pid": 5151, "memory_bytes": 19135 << 20}]}]}

    (found,), _ = admission(before, DURING, AFTER, CASE, MACHINE)

    assert "pid 5151, 19,135 MiB" in found["message"]
