"""Statistics of measurements: series, intervals, their propagation, rounding, and digits shown."""

from tokentrail.statistics.intervals import (
    Interval,
    Quantity,
    mean_interval,
    mean_summary,
    median_interval,
    summary,
    two_level_bootstrap,
)
from tokentrail.statistics.propagation import add, exact, inverse, product, ratio, scale, subtract
from tokentrail.statistics.rounding import from_printed, overlap, printed, rounding_interval
from tokentrail.statistics.series import (
    between_process_spread,
    cold_test,
    mean,
    median,
    one_cold_inference,
    percentile,
    stdev,
)
from tokentrail.statistics.shown import number, shown

__all__ = [
    "Interval",
    "Quantity",
    "add",
    "between_process_spread",
    "cold_test",
    "exact",
    "from_printed",
    "inverse",
    "mean",
    "mean_interval",
    "mean_summary",
    "median",
    "median_interval",
    "number",
    "one_cold_inference",
    "overlap",
    "percentile",
    "printed",
    "product",
    "ratio",
    "rounding_interval",
    "scale",
    "shown",
    "stdev",
    "subtract",
    "summary",
    "two_level_bootstrap",
]
