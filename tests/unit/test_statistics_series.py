"""Series: spread, percentiles, and the cold first sample."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokentrail import statistics

# 256-token prefills of a real GPU run, ns; the first one is cold.
H200_PP256 = [17365026, 7721856, 7586660, 7526561, 7551706, 7656372, 7561547, 7573986, 7604667, 7523722, 7509650,
              7657904, 7522470, 7564954, 7478354, 7476231, 7519574, 7461190, 7416666, 7455957]  # fmt: skip


def test_plain_statistics():
    assert statistics.mean([1, 2, 6]) == 3
    assert statistics.median([1, 2, 6]) == 2
    assert statistics.stdev([1, 2, 6]) == pytest.approx(math.sqrt(7))


def test_spread_of_one_sample_is_unknown():
    """0 would say that there is none."""
    assert statistics.stdev([5.0]) is None
    assert statistics.stdev([5.0, 5.0]) == 0
    assert statistics.mean([]) is None
    assert statistics.median([]) is None


@pytest.mark.parametrize(("p", "need"), [(50, 1), (90, 10), (95, 20), (99, 100), (1, 100), (99.9, 1000)])
def test_percentile_needs_enough_samples(p, need):
    """One sample less, and it is null with the reason."""
    values = list(range(1, need + 1))

    assert statistics.percentile(values, p)[1] is None
    value, reason = statistics.percentile(values[1:], p)
    assert value is None
    assert str(need) in reason


def test_percentile_out_of_range():
    with pytest.raises(ValueError, match="not between"):
        statistics.percentile([1], 100)


def test_recorded_cold_prefill_is_found():
    """The first of 20 repetitions took 2.3 times as long."""
    found = statistics.cold_test(H200_PP256[:1], [H200_PP256[1:]])

    assert found["mattered"] is True
    assert found["ratio"] == pytest.approx(2.30, abs=0.01)


@given(
    seed=st.integers(0, 2**32 - 1),
    factor=st.sampled_from([0.4, 1.5, 2.5, 10.0]),
    processes=st.integers(1, 4),
    warm=st.integers(4, 30),
    noise=st.floats(0, 0.02),
)
def test_planted_cold_sample_is_found(seed, factor, processes, warm, noise):
    """A first sample that differs by far more than the warm ones scatter is found, slow or fast."""
    rng = np.random.default_rng(seed)
    groups = np.exp(rng.uniform(-noise, noise, (processes, warm))).tolist()

    assert statistics.cold_test([factor] * processes, groups)["mattered"] is True


@pytest.mark.parametrize(("processes", "warm"), [(1, 4), (1, 19), (3, 4), (5, 4)])
def test_cold_test_seldom_finds_what_is_not_there(processes, warm):
    """With nothing planted it speaks up in about 5 % of the runs."""
    rng = np.random.default_rng(3)
    samples = np.exp(rng.normal(0, 0.03, (2000, processes, warm + 1)))
    found = [statistics.cold_test(s[:, 0].tolist(), s[:, 1:].tolist())["mattered"] for s in samples]

    assert np.mean(found) < 0.1


def test_one_outlier_among_the_warm_does_not_hide_the_cold_one():
    """From eight warm samples on the spread is robust."""
    assert statistics.cold_test([2.0], [[1.0, 1.01, 0.99, 1.02, 0.98, 1.0, 1.01, 3.0]])["mattered"] is True


@pytest.mark.parametrize("warm", [[], [1.0], [1.0, 1.1]])
def test_cold_test_with_too_few_samples(warm):
    """Not told is not the same as not there."""
    assert statistics.cold_test([2.0], [warm])["mattered"] is None


def test_cold_test_of_equal_samples():
    assert statistics.cold_test([5.0], [[5.0, 5.0, 5.0]])["mattered"] is False
    assert statistics.cold_test([6.0], [[5.0, 5.0, 5.0]])["mattered"] is True


def test_one_cold_sample_implied_by_mean_and_spread():
    """35,796 ± 7,785 over 5 is four of 39,277 and one of 21,870: 61 times decode, not 56."""
    found = statistics.one_cold_inference(35795.52, 7784.54, 5)

    assert found["warm"] == pytest.approx(39277, abs=1)
    assert found["cold"] == pytest.approx(21870, abs=1)
    assert found["warm"] / 641.99 == pytest.approx(61.2, abs=0.05)
    assert "one cold sample among 5" in found["assumption"]


@given(warm=st.floats(1, 1e6), share=st.floats(0.01, 0.99), n=st.integers(2, 50))
def test_inference_inverts_the_statistics(warm, share, n):
    """Made from one cold sample among equal warm ones, mean and spread give both back."""
    values = [warm * share] + [warm] * (n - 1)
    found = statistics.one_cold_inference(statistics.mean(values), statistics.stdev(values), n)

    assert found["warm"] == pytest.approx(warm, rel=1e-6)
    assert found["cold"] == pytest.approx(warm * share, rel=1e-6)


@pytest.mark.parametrize(("mean", "stdev", "n"), [(100, 0, 5), (100, None, 5), (100, 10, 1), (10, 100, 5)])
def test_no_inference_without_grounds(mean, stdev, n):
    """No spread, one sample, or a cold rate below zero: nothing is inferred."""
    assert statistics.one_cold_inference(mean, stdev, n) is None


def test_spread_between_processes():
    assert statistics.between_process_spread([[1.0, 1.0], [1.1], [1.2]]) == pytest.approx(0.2 / 1.1)
    assert statistics.between_process_spread([[1.0, 2.0]]) is None
