"""Formulas: what they compute, which intervals they give, and what they refuse.

Covers: arithmetic and lists, rounding limits that add, confidence limits that add in quadrature, agreement with the
library's own propagation, straight lines, values put in for a reader, code that is no formula.
"""

import math

import pytest

from tokentrail import statistics
from tokentrail.numbers import formula
from tokentrail.problems import Problem
from tokentrail.statistics import Interval, Quantity


def measured(value: float, low: float, high: float, level: float | None = 0.95) -> Quantity:
    return Quantity(value, Interval(low, high, level, "test"))


def test_formula_of_exact_inputs_is_exact():
    """Counts and constants give a number without an interval."""
    result = formula.evaluate(
        "bandwidth * 1e9 / specified", [("bandwidth", formula.exact(504)), ("specified", formula.exact(1.008e12))]
    )

    assert result.exact
    assert result.value == pytest.approx(0.5)


def test_rounding_limits_add_up():
    """12095.21 ± 0.005 over 163.99 ± 0.005: the ratio can lie at both ends at once."""
    pairs = [("a", statistics.from_printed("12095.21")), ("b", statistics.from_printed("163.99"))]

    result = formula.evaluate("a / b", pairs)

    assert result.interval.level is None
    assert result.interval.low == pytest.approx(12095.205 / 163.995, rel=1e-7)
    assert result.interval.high == pytest.approx(12095.215 / 163.985, rel=1e-7)


def test_confidence_limits_add_in_quadrature():
    """Two independent 10 % give 14 % in a ratio, as the library's own propagation says."""
    a, b = measured(100, 90, 111), measured(10, 9, 11)

    result = formula.evaluate("a / b", [("a", a), ("b", b)])
    library = statistics.ratio(a, b)

    assert result.interval.low == pytest.approx(library.interval.low)
    assert result.interval.high == pytest.approx(library.interval.high)


def test_a_single_sample_leaves_no_interval():
    """What one input does not know, the result does not know either; the reason is carried."""
    result = formula.evaluate("a * 2", [("a", Quantity(3.0, reason="one sample"))])

    assert (result.value, result.interval, result.reason) == (6.0, None, "one sample")


def test_difference_may_cross_zero():
    """A gap of two close times has an interval on both sides of zero."""
    result = formula.evaluate("a - b", [("a", measured(1.0, 0.9, 1.1)), ("b", measured(1.0, 0.9, 1.1))])

    assert result.value == 0
    assert result.interval.low == pytest.approx(-math.sqrt(0.02))


def test_straight_line_is_found_again():
    """time = 0.001 + bytes / 2e9: intercept 1 ms and slope of 2 GB/s."""
    sizes = [1e9, 2e9, 5e9]
    pairs = [("size", formula.exact(s)) for s in sizes] + [
        ("rate", formula.exact(1 / (0.001 + s / 2e9))) for s in sizes
    ]

    assert formula.evaluate("intercept(size, inverse(rate))", pairs).value == pytest.approx(0.001)
    assert formula.evaluate("1 / slope(size, inverse(rate))", pairs).value == pytest.approx(2e9)


def test_values_are_put_in():
    """A reader sees the figures where the names stood."""
    assert (
        formula.with_values("rate * size / 1e9", [("rate", 163.99), ("size", 4671766528)])
        == "163.99 * 4.671767e+09 / 1e+09"
    )


@pytest.mark.parametrize("code", ["__import__('os')", "a.b", "[a]", "a if a else b", "lambda: 1"])
def test_other_code_is_refused(code):
    """A formula is arithmetic over names; anything else is refused before it runs."""
    with pytest.raises(Problem, match=r"formulas do not know|lacks"):
        formula.compute(code, {"a": 1})


@pytest.mark.parametrize(("code", "values"), [("a / b", {"a": 1, "b": 0}), ("sqrt(a)", {"a": -1}), ("a + b", {"a": 1})])
def test_no_value_is_said(code, values):
    """Division by zero, a root of a negative, a missing input: one sentence that names the formula."""
    with pytest.raises(Problem, match=r"formula '"):
        formula.compute(code, values)
