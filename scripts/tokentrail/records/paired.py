"""Quantities of one request that pair two of its times: taken request by request, since both times share their causes.

A gap between two medians would carry the spread of both; the median of the gaps carries only its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tokentrail import statistics
from tokentrail.statistics import Interval
from tokentrail.tools import server_stream

# quantity -> (the two times, as they stand in a request; how they are paired)
PAIRS = {
    "ttft_gap_ms": ("ttft_ms", "prompt_ms"),
    "prefill_share": ("prompt_ms", "ttft_ms"),
    "tpot_gap_ms": ("tpot_ms", "server_tpot_ms"),
}
# percentiles of the gaps between the tokens of one request
PERCENTILES = {"itl_p50_ms": 50, "itl_p95_ms": 95, "itl_p99_ms": 99}


def percentile(request: Mapping[str, Any], quantity: str) -> tuple[float | None, str | None]:
    """(ms, None), or (None, why not): too few gaps, or gaps between chunks that are not tokens or came together."""
    gaps = request.get("itl_ms") or []
    if server_stream.came_together(gaps):
        return None, "tokens of this answer arrived several at a time, so its gaps are not times between tokens"
    if request.get("decided_by") != "client":
        return None, "chunks of this answer are not tokens, so its gaps are not times between tokens"
    return statistics.percentile(gaps, PERCENTILES[quantity])


def value(request: Mapping[str, Any], quantity: str) -> float | None:
    """A quantity of a request (ms, or a fraction); None where one of its times is not known."""
    if quantity == "server_tpot_ms":
        rate = request.get("server_decode_tokens_per_s")
        return 1000 / rate if rate else None
    if quantity in PERCENTILES:
        return percentile(request, quantity)[0]
    if quantity not in PAIRS:
        return request.get(quantity)
    first, second = (value(request, name) for name in PAIRS[quantity])
    if first is None or second is None:
        return None
    if quantity.endswith("_share"):
        return first / second if second else None
    return first - second


def limits(first: Interval, second: Interval, quantity: str) -> tuple[float, float]:
    """Certain limits of a pair of printed times."""
    if quantity.endswith("_share"):
        return first.low / second.high, first.high / second.low
    return first.low - second.high, first.high - second.low
