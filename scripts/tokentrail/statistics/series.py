"""Plain statistics of a series: location, spread, percentiles, the cold first sample."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tokentrail.statistics import student

COLD_LEVEL = 0.95
FEWEST_WARM = 3
# From this many warm samples of a process on, the spread is taken from the MAD, so that a second outlier
# among the warm ones cannot hide the cold one; with fewer the MAD itself is too rough.
ROBUST_FROM = 8


def mean(values: Sequence[float]) -> float | None:
    """Arithmetic mean; None for an empty series."""
    return math.fsum(values) / len(values) if len(values) else None


def stdev(values: Sequence[float]) -> float | None:
    """Sample standard deviation (n − 1); None below two samples, where it is unknown and not 0."""
    if len(values) < 2:
        return None
    if min(values) == max(values):
        return 0.0
    middle = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((v - middle) ** 2 for v in values) / (len(values) - 1))


def median(values: Sequence[float]) -> float | None:
    """Middle value, or the mean of the two middle ones; None for an empty series."""
    return float(np.median(values)) if len(values) else None


def percentile(values: Sequence[float], p: float) -> tuple[float | None, str | None]:
    """(value, None) of percentile `p` (0 < p < 100), or (None, reason) where n is too small to hold it.

    A percentile needs at least one sample expected beyond it: n ≥ 1 / (1 − p/100) for the upper side,
    100/p for the lower one (p99: 100, p95: 20); the median exists from one sample on.
    Linear interpolation between order statistics (Hyndman and Fan 1996, type 7).
    """
    if not 0 < p < 100:
        raise ValueError(f"percentile {p} is not between 0 and 100")
    tail = min(p, 100 - p)
    need = 1 if tail == 50 else math.ceil(round(100 / tail, 9))
    if len(values) < need:
        return None, f"p{p:g} needs {need} samples, {len(values)} are there"
    return float(np.percentile(values, p)), None


def between_process_spread(groups: Sequence[Sequence[float]]) -> float | None:
    """(largest − smallest) process median over the median of them; a fraction, None below two processes."""
    medians = [median(g) for g in groups if len(g)]
    if len(medians) < 2 or not median(medians):
        return None
    return (max(medians) - min(medians)) / median(medians)


def cold_test(cold: Sequence[float], warm: Sequence[Sequence[float]]) -> dict:
    """Whether the first samples, cold by their position, differ from the warm ones of their own processes.

    cold: one rate or time per process; warm: the other samples of the same processes, same order.
    Ratio = geometric mean over processes of cold / median(warm). It mattered when |ln ratio| exceeds what
    warm samples predict for so many new ones: t(N − k, 97.5 %) · s · sqrt(1/k + 1/N), with s the pooled
    spread of ln(warm) within processes, k processes, N warm samples (the prediction interval of a new
    observation: Hahn and Meeker 1991, 4.2). The test never decides which samples are left out.
    Returns {ratio, mattered (None: too few), limit, n_warm, processes, message}.
    """
    pairs = [(c, list(w)) for c, w in zip(cold, warm, strict=True) if len(w)]
    count = sum(len(w) for _, w in pairs)
    found = {"ratio": None, "mattered": None, "limit": None, "n_warm": count, "processes": len(pairs)}
    if not pairs or any(v <= 0 for c, w in pairs for v in (c, *w)):
        return {**found, "message": "no warm samples to compare the first one with"}
    ratio = math.exp(mean([math.log(c / median(w)) for c, w in pairs]))
    freedom = count - len(pairs)
    if count < FEWEST_WARM or freedom < 1:
        text = f"too few warm samples ({count}) to tell whether the first one differs"
        return {**found, "ratio": ratio, "message": text}
    scale = _within_spread([w for _, w in pairs], freedom)
    quantile = student.reach(COLD_LEVEL, freedom)
    limit = math.exp(quantile * scale * math.sqrt(1 / len(pairs) + 1 / count))
    # A last float bit is no difference: equal samples have no spread at all.
    mattered = bool(abs(math.log(ratio)) > math.log(limit) + 1e-9)
    text = f"the first sample is {ratio:.3g} times the warm median; "
    text += f"warm samples alone explain a factor of up to {limit:.3g}"
    return {**found, "ratio": ratio, "limit": limit, "mattered": mattered, "message": text}


def one_cold_inference(mean_value: float, stdev_value: float, n: int) -> dict | None:
    """What (mean, sample stdev, n) imply if one sample was cold and the n − 1 others alike.

    With n − 1 values w and one c: mean m = w − (w − c)/n and s = |w − c|/sqrt(n). Of the two solutions the
    physical one has the cold rate slower: w = m + s/sqrt(n), c = m − s (n − 1)/sqrt(n).
    An inference, not a measurement. None below two samples, without spread, or where c would be ≤ 0.
    """
    if n < 2 or not stdev_value or stdev_value < 0:
        return None
    root = math.sqrt(n)
    cold = mean_value - stdev_value * (n - 1) / root
    if cold <= 0:
        return None
    assumption = f"one cold sample among {n}, the other {n - 1} alike"
    return {"warm": mean_value + stdev_value / root, "cold": cold, "n": n, "assumption": assumption}


def _within_spread(groups: list[list[float]], freedom: int) -> float:
    logs = [np.log(g) for g in groups]
    pooled = math.sqrt(sum(float(((g - g.mean()) ** 2).sum()) for g in logs) / freedom)
    if min(len(g) for g in logs) < ROBUST_FROM:
        return pooled
    robust = 1.4826 * float(np.median(np.abs(np.concatenate([g - np.median(g) for g in logs]))))
    return robust or pooled
