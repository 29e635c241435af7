"""Telemetry: one moment, samples of a process's span, and their summary."""

from __future__ import annotations

import json
import time
from pathlib import Path

from tokentrail.machine import stamp
from tokentrail.machine.gpu import Nvml


def state(t_s: float, busy_s: float, **gpu) -> dict:
    """A moment at `t_s` with so much CPU time used on the machine until then."""
    known = {"power_w": 100.0, "sm_mhz": 1000, "memory_mhz": 5000, "temperature_c": 40, "utilisation_percent": 90,
             "memory_used_bytes": 1, "throttle": [], "processes": [], "energy_mj": 0}  # fmt: skip
    return {
        "t_ns": int(t_s * 1e9),
        "cpu": {"busy_s": busy_s, "steal_s": 0.0, "mhz": [1000.0, 2000.0]},
        "memory": {"available_bytes": 100},
        "rapl_uj": None,
        "gpus": [{**known, **gpu}],
    }


def test_others_are_what_we_did_not_use() -> None:
    """30 CPU seconds in 10 s, 20 of them ours: others had one core."""
    found = stamp.summary([], state(0, 100), state(10, 130), own_cpu_s=20)

    assert found["cpu"]["others_cores"] == 1.0
    assert found["cpu"]["own_cores"] == 2.0
    assert found["n"] == 0


def test_summary_of_samples() -> None:
    """n, min, median, max; throttle reasons counted; energy from the counter, not from the samples."""
    samples = [
        state(1, 0, power_w=100.0),
        state(2, 0, power_w=300.0, throttle=["power-cap"]),
        state(3, 0, power_w=None),
    ]

    found = stamp.summary(samples, state(0, 0, energy_mj=500), state(4, 1, energy_mj=1500), own_cpu_s=0)

    assert found["gpus"][0]["power_w"] == {"n": 2, "min": 100.0, "median": 200.0, "max": 300.0}
    assert found["gpus"][0]["throttle"] == {"power-cap": 1}
    assert found["energy"]["gpu_mj"] == [1000]


def test_counter_that_wrapped() -> None:
    """An energy counter that went backwards gives no energy."""
    found = stamp.summary([], state(0, 0, energy_mj=500), state(4, 1, energy_mj=10), own_cpu_s=0)

    assert found["energy"]["gpu_mj"] == [None]


def test_instant_of_this_machine() -> None:
    """Whatever this machine does not tell is None; all of it is JSON."""
    found = stamp.instant(Nvml())

    json.dumps(found, allow_nan=False)
    assert found["memory"]["available_bytes"] > 0


def test_sampler(tmp_path: Path) -> None:
    """Samples come at their interval while the context lasts, and only those of the span are given."""
    file = tmp_path / "samples.jsonl"
    with stamp.sampler(file, interval_s=0.05) as sampler:
        start = time.perf_counter_ns()
        time.sleep(0.4)
        end = time.perf_counter_ns()
        time.sleep(0.2)
        found = sampler.between(start, end)

    assert 3 <= len(found) <= 9
    assert all(start <= sample["t_ns"] <= end for sample in found)
    lines = file.read_text().count("\n")
    time.sleep(0.2)
    assert lines == file.read_text().count("\n"), "the sampler still runs"
