"""Intervals carried through products, ratios, sums and differences.

Method of variance estimates recovery, MOVER (Zou and Donner 2008, Statistics in Medicine 27, 1693–1702):
the distance of each limit from its value is recovered from the inputs' own intervals, however these were
made (t, bootstrap), and added in quadrature; products and ratios on logarithms. It keeps asymmetric limits and
the small-sample width of each input, and needs no stored replicates. Inputs are taken as independent.
Certain limits (rounding) are not random: their distances are added plainly, so a result of certain
inputs alone keeps limits that hold for sure.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from tokentrail.statistics.intervals import Interval, Quantity

NEEDS_POSITIVE = "a factor may be zero or negative, so the interval of the product is not defined"


def exact(value: float) -> Quantity:
    """A count or a constant: no error at all."""
    return Quantity(value, exact=True)


def product(*factors: Quantity) -> Quantity:
    """Product of positive quantities (a factor without an interval leaves the product without one)."""
    return _combine(math.prod(q.value for q in factors), [(q, 1.0) for q in factors], _to_log, math.exp)


def ratio(first: Quantity, second: Quantity) -> Quantity:
    """first / second, both positive."""
    if second.value == 0:
        raise ZeroDivisionError("the divisor of a ratio is 0")
    return _combine(first.value / second.value, [(first, 1.0), (second, -1.0)], _to_log, math.exp)


def scale(quantity: Quantity, factor: float) -> Quantity:
    """quantity × an exact factor (a unit, a batch size); a negative one swaps the limits."""
    return _combine(quantity.value * factor, [(quantity, factor)], float, float)


def inverse(quantity: Quantity, factor: float = 1.0) -> Quantity:
    """factor / quantity: a time from a rate; limits swap."""
    return ratio(exact(factor), quantity)


def add(*terms: Quantity) -> Quantity:
    """Sum of quantities of one unit."""
    return _combine(math.fsum(q.value for q in terms), [(q, 1.0) for q in terms], float, float)


def subtract(first: Quantity, second: Quantity) -> Quantity:
    """first − second, of one unit."""
    return _combine(first.value - second.value, [(first, 1.0), (second, -1.0)], float, float)


def _combine(
    value: float,
    terms: Sequence[tuple[Quantity, float]],
    there: Callable[[float], float | None],
    back: Callable[[float], float],
) -> Quantity:
    """The quantity whose transformed value is the weighted sum of its terms' transformed values."""
    uncertain = [(q, weight) for q, weight in terms if not q.exact]
    if not uncertain:
        return exact(value)
    missing = next((q for q, _ in uncertain if q.interval is None), None)
    if missing is not None:
        return Quantity(value, reason=missing.reason or "an input has no interval")
    sides = [_distances(q, weight, there) for q, weight in uncertain]
    middle = there(value)
    if middle is None or None in sides:
        return Quantity(value, reason=NEEDS_POSITIVE)
    random = [side for (q, _), side in zip(uncertain, sides, strict=True) if not q.interval.certain]
    sure = [side for (q, _), side in zip(uncertain, sides, strict=True) if q.interval.certain]
    down = math.hypot(*(s[0] for s in random)) + math.fsum(s[0] for s in sure)
    up = math.hypot(*(s[1] for s in random)) + math.fsum(s[1] for s in sure)
    level, method, n = _origin([q.interval for q, _ in uncertain])
    return Quantity(value, Interval(back(middle - down), back(middle + up), level, method, n))


def _distances(quantity: Quantity, weight: float, there: Callable) -> tuple[float, float] | None:
    points = [there(x) for x in (quantity.interval.low, quantity.value, quantity.interval.high)]
    if None in points:
        return None
    low, middle, high = points
    down, up = abs(weight) * max(middle - low, 0.0), abs(weight) * max(high - middle, 0.0)
    return (down, up) if weight >= 0 else (up, down)


def _origin(intervals: Sequence[Interval]) -> tuple[float | None, str, int | None]:
    methods = list(dict.fromkeys(i.method.removeprefix("carried (MOVER) from ") for i in intervals))
    levels = [i.level for i in intervals if i.level is not None]
    if not levels:
        return None, methods[0] if len(methods) == 1 else "interval arithmetic on " + "; ".join(methods), None
    counts = [i.n for i in intervals if i.n is not None]
    parts = dict.fromkeys(part for m in methods for part in m.split("; "))
    return min(levels), "carried (MOVER) from " + "; ".join(parts), min(counts) if counts else None


def _to_log(value: float) -> float | None:
    return math.log(value) if value > 0 else None
