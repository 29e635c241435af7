"""Intervals: they cover the planted truth, and carry it through arithmetic."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokentrail import statistics
from tokentrail.statistics import Interval, Quantity

POSITIVE = st.floats(1e-3, 1e6)


def draw(rng, processes, samples, between, within):
    """Rates around 100 with a spread between processes and one within them."""
    factors = rng.normal(0, between, (processes, 1)) + rng.normal(0, within, (processes, samples))
    return (100 * np.exp(factors)).tolist()


def coverage(runs, make, truth=100.0):
    found = [make() for _ in range(runs)]
    return np.mean([i.low <= truth <= i.high for i in found])


@pytest.mark.parametrize(
    ("processes", "samples", "between"),
    [(1, 4, 0), (1, 19, 0), (2, 4, 0.1), (3, 4, 0.1), (3, 4, 0.02), (3, 19, 0.1), (5, 4, 0.07), (10, 4, 0.1)],
)
def test_interval_covers_the_planted_truth(processes, samples, between):
    """At 95 %, whether processes or samples scatter more; a little more is allowed, less is not."""
    rng = np.random.default_rng(11)
    rate = coverage(500, lambda: statistics.median_interval(draw(rng, processes, samples, between, 0.03)))

    assert 0.92 <= rate <= 0.995


def test_mean_interval_covers():
    """From mean, spread and n alone, as a transcribed table gives them."""
    rng = np.random.default_rng(5)

    def one():
        values = rng.normal(100, 8, 5)
        return statistics.mean_interval(values.mean(), values.std(ddof=1), 5)

    assert 0.92 <= coverage(2000, one) <= 0.98


@pytest.mark.parametrize("operation", ["ratio", "product", "subtract", "add"])
def test_carried_interval_covers(operation):
    """Two measured numbers, three processes each: what is made of them covers its truth."""
    rng = np.random.default_rng(7)
    truth = {"ratio": 2.0, "product": 20000.0, "subtract": 100.0, "add": 300.0}[operation]

    def one():
        sides = []
        for factor in (2.0, 1.0):
            groups = (np.array(draw(rng, 3, 4, 0.05, 0.02)) * factor).tolist()
            middle = statistics.median([v for g in groups for v in g])
            sides.append(Quantity(middle, statistics.median_interval(groups)))
        return getattr(statistics, operation)(*sides).interval

    assert 0.92 <= coverage(500, one, truth) <= 0.998


def test_processes_widen_what_one_process_would_claim():
    """Medians 20 % apart: the interval carries it, whatever the small spread within."""
    groups = [[100.0, 101, 99, 100], [120.0, 121, 119, 120], [110.0, 111, 109, 110]]
    one, all_of_them = statistics.median_interval(groups[:1]), statistics.median_interval(groups)

    assert one.high - one.low < 5
    assert all_of_them.high - all_of_them.low > 20
    assert "within one process only" in one.method
    assert "3 processes" in all_of_them.method


def test_equal_processes_do_not_narrow_it_below_their_own_scatter():
    """Two medians that agree by luck are no proof of precision."""
    groups = [[90.0, 100, 110, 100], [100.0, 90, 110, 100]]
    found = statistics.median_interval(groups)

    assert found.high - found.low > 8


@given(st.lists(st.lists(POSITIVE, min_size=1, max_size=12), min_size=1, max_size=12))
def test_interval_holds_its_value(groups):
    """The number shown is always inside its interval; one sample has none."""
    samples = [v for g in groups for v in g]
    found = statistics.median_interval(groups)

    if len(samples) < 2:
        assert found is None
    else:
        assert found.low <= statistics.median(samples) <= found.high


def test_same_input_same_interval():
    """Resampling is seeded: the same samples give the same digits."""
    values = [[float(v) for v in range(100, 130)]]

    assert statistics.median_interval(values) == statistics.median_interval(values)


@pytest.mark.parametrize("samples", [[], [5.0], [1.0, -1.0], [0.0, 1.0]])
def test_no_interval_without_grounds(samples):
    assert statistics.median_interval([samples]) is None


def test_summary_of_unknowns():
    """One sample: no spread, no interval; nothing: nothing."""
    one, none = statistics.summary([[5.0]]), statistics.summary([])

    assert (one["stdev"], one["interval"], one["between_process_spread"]) == (None, None, None)
    assert (none["n"], none["mean"], none["min"]) == (0, None, None)


def test_exact_numbers_stay_exact():
    found = statistics.ratio(statistics.exact(8190735360), statistics.exact(596049920))

    assert found.exact
    assert found.interval is None


def test_scaling_scales_the_limits():
    found = statistics.scale(Quantity(10.0, Interval(9, 12, 0.95, "x")), -2)

    assert (found.value, found.interval.low, found.interval.high) == pytest.approx((-20, -24, -18))


def test_rounding_is_carried_as_certain_limits():
    """Half units of the last printed digits give limits that hold for sure; nothing random is claimed."""
    found = statistics.ratio(statistics.from_printed("35795.52"), statistics.from_printed("641.99"))

    assert found.interval.level is None
    assert found.interval.low == pytest.approx(35795.515 / 641.995, rel=1e-9)
    assert found.interval.high == pytest.approx(35795.525 / 641.985, rel=1e-9)


def test_missing_interval_is_passed_on_with_its_reason():
    found = statistics.product(Quantity(5.0, reason="one sample"), statistics.exact(2))

    assert (found.value, found.interval, found.reason) == (10.0, None, "one sample")


def test_a_limit_below_zero_leaves_a_ratio_without_interval():
    found = statistics.ratio(Quantity(1.0, Interval(-1, 3, 0.95, "x")), statistics.exact(2))

    assert found.interval is None
    assert found.reason


def test_division_by_zero_is_an_error():
    with pytest.raises(ZeroDivisionError):
        statistics.ratio(statistics.exact(1), statistics.exact(0))


@given(a=POSITIVE, b=POSITIVE, e=st.floats(0.001, 0.5), f=st.floats(0.001, 0.5))
def test_ratio_of_logs_is_quadrature(a, b, e, f):
    """Two log-symmetric intervals combine in quadrature (MOVER on logarithms)."""
    first = Quantity(a, Interval(a * math.exp(-e), a * math.exp(e), 0.95, "x"))
    second = Quantity(b, Interval(b * math.exp(-f), b * math.exp(f), 0.95, "y"))
    found = statistics.ratio(first, second)

    assert math.log(found.interval.high / found.value) == pytest.approx(math.hypot(e, f), rel=1e-6)
    assert found.interval.method == "carried (MOVER) from x; y"
    assert found.interval.level == 0.95


def test_interval_survives_json():
    found = Interval(1.0, 2.0, 0.95, "x", 5)

    assert Interval.from_dict(found.as_dict()) == found
    assert Interval.from_dict(None) is None
