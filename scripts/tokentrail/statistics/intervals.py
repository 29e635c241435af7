"""Confidence intervals that hold for the few samples and processes a benchmark has.

Which method, and why (checked by simulation in tests/unit/test_statistics_intervals.py):

- The percentile bootstrap of a median cannot leave the range of the samples: with 4 or 5 of them it
  covers at most 1 − 2/2^n (88 or 94 %), in practice less. Below BOOTSTRAP_FROM units we use Student's t
  on logarithms (rates and times are positive and err by factors), which covers at its nominal rate.
- Processes are the unit that repeats: clocks, memory layout and neighbours change between processes far
  more than within one. With two or more of them t is taken over process medians, k − 1 degrees of
  freedom, and never narrower than the samples within the processes allow.
- From BOOTSTRAP_FROM units on, the bootstrap (scipy, percentile, seeded) needs no assumption on shape.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tokentrail.statistics import student
from tokentrail.statistics.series import between_process_spread, mean, median, stdev

LEVEL = 0.95
RESAMPLES = 2000
SEED = 0
BOOTSTRAP_FROM = 10


@dataclass(frozen=True)
class Interval:
    """low … high with its confidence level (None: certain limits, such as rounding) and how it was made."""

    low: float
    high: float
    level: float | None
    method: str
    n: int | None = None

    def as_dict(self) -> dict:
        """The JSON form used by records and numbers."""
        found = {"low": self.low, "high": self.high, "level": self.level, "method": self.method}
        return found if self.n is None else {**found, "n": self.n}

    @property
    def certain(self) -> bool:
        """Limits that hold for sure (rounding), not with a probability."""
        return self.level is None

    @staticmethod
    def from_dict(found: dict | None) -> Interval | None:
        """Read the JSON form back; None stays None."""
        if not found:
            return None
        return Interval(found["low"], found["high"], found.get("level"), found["method"], found.get("n"))


@dataclass(frozen=True)
class Quantity:
    """A value, its interval, and why there is none (reason) unless it is exact (exact: no error at all)."""

    value: float
    interval: Interval | None = None
    reason: str | None = None
    exact: bool = False


def median_interval(groups: Sequence[Sequence[float]], level: float = LEVEL) -> Interval | None:
    """Interval of the median of a positive series; groups: the warm samples of each process.

    None below two samples in all (nothing is known of the spread). See the module text for the method.
    """
    groups = [list(g) for g in groups if len(g)]
    samples = [v for g in groups for v in g]
    if len(samples) < 2 or min(samples) <= 0:
        return None
    if len(groups) == 1:
        found = _within_one(samples, level)
    elif len(groups) >= BOOTSTRAP_FROM:
        found = two_level_bootstrap(groups, level)
    else:
        found = _over_processes(groups, level)
    # Samples of n = 4 need not be symmetric: the interval of a number always holds the number.
    middle = median(samples)
    return Interval(min(found.low, middle), max(found.high, middle), level, found.method, len(samples))


def mean_interval(mean_value: float, stdev_value: float | None, n: int, level: float = LEVEL) -> Interval | None:
    """Interval of a mean from (mean, sample stdev, n): m · exp(± t(n−1) · s / (m · sqrt(n))).

    Student's t carried to the logarithm to first order, since a rate cannot be negative.
    None below two samples: their spread is unknown. Holds too when only a printed mean ± stdev is left.
    """
    if n < 2 or stdev_value is None or mean_value <= 0:
        return None
    reach = student.reach(level, n - 1) * stdev_value / (mean_value * math.sqrt(n))
    method = f"Student t of the mean of {n} repetitions, within one process only"
    return Interval(mean_value * math.exp(-reach), mean_value * math.exp(reach), level, method, n)


def two_level_bootstrap(groups: Sequence[Sequence[float]], level: float = LEVEL) -> Interval:
    """Percentile bootstrap of the median over processes of the process medians, seeded.

    Processes are drawn with replacement, then samples within each drawn one (Davison and Hinkley 1997,
    3.8). Fit for ten processes or more; with fewer the drawn set hardly varies and the interval is too short.
    """
    rng = np.random.default_rng(SEED)
    drawn = np.empty((RESAMPLES, len(groups)))
    medians = np.array([np.median(rng.choice(g, (RESAMPLES, len(g))), axis=1) for g in groups])
    picks = rng.integers(len(groups), size=(RESAMPLES, len(groups)))
    for column in range(len(groups)):
        # The same process drawn twice in one resample gets two draws of its samples.
        drawn[:, column] = medians[picks[:, column], rng.permutation(RESAMPLES)]
    replicates = np.median(drawn, axis=1)
    low, high = np.quantile(replicates, [(1 - level) / 2, (1 + level) / 2])
    method = f"two-level bootstrap of the median ({len(groups)} processes, samples within them)"
    return Interval(float(low), float(high), level, method)


def summary(groups: Sequence[Sequence[float]], interval: Interval | None = None) -> dict:
    """Statistics of a series as records keep them; groups: samples of each process.

    {n, mean, stdev, median, min, max, processes, between_process_spread, interval}; unknown ones are None.
    """
    groups = [list(g) for g in groups if len(g)]
    samples = [v for g in groups for v in g]
    interval = interval or median_interval(groups)
    return {
        "n": len(samples),
        "mean": mean(samples),
        "stdev": stdev(samples),
        "median": median(samples),
        "min": min(samples, default=None),
        "max": max(samples, default=None),
        "processes": len(groups),
        "between_process_spread": between_process_spread(groups),
        "interval": interval.as_dict() if interval else None,
    }


def mean_summary(samples: Sequence[float]) -> dict:
    """Statistics of the as-published view: all repetitions of one process, interval of their mean."""
    middle = mean(samples)
    interval = mean_interval(middle, stdev(samples), len(samples)) if samples else None
    return {**summary([samples]), "interval": interval.as_dict() if interval else None}


def _within_one(samples: list[float], level: float) -> Interval:
    if len(samples) >= BOOTSTRAP_FROM and len(set(samples)) > 1:
        from scipy import stats  # half a second to import, and few steps come here

        rng = np.random.default_rng(SEED)
        options = {"method": "percentile", "n_resamples": RESAMPLES, "confidence_level": level, "rng": rng}
        found = stats.bootstrap((np.asarray(samples),), np.median, **options).confidence_interval
        method = "bootstrap of the median over samples, within one process only"
        return Interval(float(found.low), float(found.high), level, method)
    center, error = _log_mean([[v] for v in samples])
    reach = error * student.reach(level, len(samples) - 1)
    return _around(center, reach, level, "Student t on log samples, within one process only")


def _over_processes(groups: list[list[float]], level: float) -> Interval:
    center, error = _log_mean(groups)
    reach = error * student.reach(level, len(groups) - 1)
    freedom = sum(len(g) - 1 for g in groups)
    if freedom:
        squares = sum(float(((np.log(g) - np.log(g).mean()) ** 2).sum()) for g in groups)
        within = math.sqrt(squares / freedom / sum(len(g) for g in groups))
        reach = max(reach, within * student.reach(level, freedom))
    return _around(center, reach, level, f"Student t on log medians of {len(groups)} processes")


def _log_mean(groups: list[list[float]]) -> tuple[float, float]:
    logs = [math.log(median(g)) for g in groups]
    return mean(logs), stdev(logs) / math.sqrt(len(logs))


def _around(center: float, reach: float, level: float, method: str) -> Interval:
    return Interval(math.exp(center - reach), math.exp(center + reach), level, method)
