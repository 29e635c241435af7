"""Both views of every series: as the tool publishes it, and steady (warm samples of all processes).

The first sample of each process is cold by its position, fixed beforehand; the test only tells whether it mattered.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from tokentrail import statistics
from tokentrail.statistics import Interval, student

Sample = tuple[int, bool, float]  # process, cold, value


def of(samples: Sequence[Sample]) -> dict[str, Any]:
    """{"as_published", "steady", "cold"} of samples in order, each (process, cold by position, value)."""
    processes = sorted({process for process, _, _ in samples})
    groups = [[v for p, _, v in samples if p == process] for process in processes]
    warm = [[v for p, cold, v in samples if p == process and not cold] for process in processes]
    cold = [[v for p, is_cold, v in samples if p == process and is_cold] for process in processes]
    found: dict[str, Any] = {"as_published": _mean(groups[0]) if groups else None, "steady": None, "cold": None}
    if any(warm):
        found["steady"] = statistics.summary(warm, _of_both_signs(warm))
    paired = [(c[0], w) for c, w in zip(cold, warm, strict=True) if c and w]
    if paired:
        found["cold"] = statistics.cold_test([c for c, _ in paired], [w for _, w in paired])
    return found


def first(value: float | None, samples: Sequence[Sample]) -> dict[str, Any]:
    """The same where what is published is one sample alone: the first, and nothing where that one is unknown."""
    return of(samples) | {"as_published": None if value is None else single(value)}


def single(value: float, interval: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The statistic of one sample; its interval is only known where it is the rounding of a print."""
    return {"n": 1, "mean": value, "stdev": None, "median": value, "min": value, "max": value, "processes": 1,
            "interval": dict(interval) if interval else None}  # fmt: skip


def _of_both_signs(groups: Sequence[Sequence[float]], level: float = statistics.intervals.LEVEL) -> Interval | None:
    """Interval of a median of gaps, which may be zero or negative: Student's t on plain values, not on logarithms.

    Units are process medians where there are several processes, else samples. None for positive series, which
    tokentrail.statistics handles, and below two units.
    """
    filled = [list(g) for g in groups if len(g)]
    samples = [v for g in filled for v in g]
    units = [statistics.median(g) for g in filled] if len(filled) > 1 else samples
    if min(samples) > 0 or len(units) < 2:
        return None
    reach = student.reach(level, len(units) - 1) * statistics.stdev(units) / math.sqrt(len(units))
    middle = statistics.median(samples)
    what = f"medians of {len(filled)} processes" if len(filled) > 1 else "samples, within one process only"
    return Interval(middle - float(reach), middle + float(reach), level, f"Student t on {what}", len(samples))


def _mean(samples: Sequence[float]) -> dict[str, Any]:
    return statistics.mean_summary(samples) if samples else None
