"""Both views of every series: as the tool publishes it, and steady (warm samples of all processes).

The first sample of each process is cold by its position, fixed beforehand; the test only tells whether it mattered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tokentrail import statistics

Sample = tuple[int, bool, float]  # process, cold, value


def of(samples: Sequence[Sample]) -> dict[str, Any]:
    """{"as_published", "steady", "cold"} of samples in order, each (process, cold by position, value)."""
    processes = sorted({process for process, _, _ in samples})
    groups = [[v for p, _, v in samples if p == process] for process in processes]
    warm = [[v for p, cold, v in samples if p == process and not cold] for process in processes]
    cold = [[v for p, is_cold, v in samples if p == process and is_cold] for process in processes]
    found: dict[str, Any] = {"as_published": _mean(groups[0]) if groups else None, "steady": None, "cold": None}
    if any(warm):
        found["steady"] = statistics.summary(warm)
    paired = [(c[0], w) for c, w in zip(cold, warm, strict=True) if c and w]
    if paired:
        found["cold"] = statistics.cold_test([c for c, _ in paired], [w for _, w in paired])
    return found


def first(value: float | None, samples: Sequence[Sample]) -> dict[str, Any]:
    """The same where what is published is one sample alone: the first."""
    found = of(samples)
    if value is not None:
        found["as_published"] = single(value)
    return found


def single(value: float, interval: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The statistic of one sample; its interval is only known where it is the rounding of a print."""
    return {"n": 1, "mean": value, "stdev": None, "median": value, "min": value, "max": value, "processes": 1,
            "interval": dict(interval) if interval else None}  # fmt: skip


def _mean(samples: Sequence[float]) -> dict[str, Any]:
    return statistics.mean_summary(samples) if samples else None
