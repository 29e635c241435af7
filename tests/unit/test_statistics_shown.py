"""Digits shown, printed texts and units."""

import math

import pytest
from fixture_files import case
from hypothesis import given
from hypothesis import strategies as st

from tokentrail import statistics, units
from tokentrail.statistics import Interval, shown
from tokentrail.tools import lenient_json


def around(value, half):
    return Interval(value - half, value + half, 0.95, "x")


@pytest.mark.parametrize(
    ("value", "half", "unit", "text"),
    [
        (35795.52, 9666, "tokens/s", "36,000 tokens/s"),
        (35795.52, 200, "tokens/s", "35,800 tokens/s"),
        (641.99, 10.19, "tokens/s", "642 tokens/s"),
        (163.99, 0.36, "tokens/s", "164.0 tokens/s"),
        (55.757, 12.4, "ratio", "56 ×"),
        (0.7607, 0.0012, "fraction", "76.07 %"),
        (0.7607, 0.04, "fraction", "76 %"),
        (0.000123, 0.00001, "s", "0.000123 s"),
        (4671766528.0, 3e8, "bytes", "4,670,000,000 bytes"),
        (-3.21, 0.5, "ms", "-3.2 ms"),
        (12.0, 100, "ms", "10 ms"),
    ],
)
def test_digits_follow_the_interval(value, half, unit, text):
    """At most one digit beyond the first uncertain one, thousands apart, no scientific notation."""
    assert shown(value, around(value, half), unit) == text


def test_first_digit_stays():
    """A rate that is hardly known is no rate of nil; a gap that may be nil is."""
    assert shown(7.78, Interval(0.0002, 212187.0, 0.95, "t"), "tokens/s") == "8 tokens/s"
    assert shown(0.04, Interval(-0.4, 0.6, 0.95, "t"), "ms") == "0.0 ms"


@given(value=st.floats(1e-4, 1e9), share=st.floats(1e-4, 0.9))
def test_no_digit_beyond_the_interval(value, share):
    """The last digit shown stands for at least a tenth of the half-width's first digit."""
    half = value * share
    text = statistics.number(value, around(value, half)).replace(",", "")
    decimals = len(text.partition(".")[2])

    assert "e" not in text
    assert 10.0**-decimals >= 10.0 ** (math.floor(math.log10(half)) - 1) * 0.999 or decimals == 0
    assert abs(float(text) - value) <= half


def test_printed_numbers_keep_their_digits():
    """What was printed with two decimals is shown with two."""
    assert shown(12095.21, statistics.rounding_interval("12095.21"), "tokens/s") == "12,095.21 tokens/s"
    assert shown(938, statistics.rounding_interval("938"), "tokens/s") == "938 tokens/s"


def test_unknown_error_gets_few_digits_and_exact_all():
    assert shown(641.99, None, "tokens/s") == "642 tokens/s"
    assert shown(633495552, None, "bytes", exact=True) == "633,495,552 bytes"
    assert shown(13.7416, None, "ratio", exact=True) == "13.7416 ×"
    assert shown(None, None, "s") == "not measured"
    assert shown(0.0, around(0.0, 1.0), "ms") == "0.0 ms"


@pytest.mark.parametrize(
    ("text", "low", "value", "high"),
    [("12095.21", 12095.205, 12095.21, 12095.215), ("938", 937.5, 938, 938.5), ("0.07", 0.065, 0.07, 0.075),
     ("37,023", 37022.5, 37023, 37023.5), ("-1.0", -1.05, -1.0, -0.95)],
)  # fmt: skip
def test_printed_text_gives_its_rounding(text, low, value, high):
    assert statistics.printed(text) == (low, value, high)


@pytest.mark.parametrize("text", ["", "abc", "1.2.3", "nan", "inf", "1 2", "-"])
def test_text_that_is_no_number(text):
    with pytest.raises(ValueError, match="not a printed number"):
        statistics.printed(text)


def test_claims_hold_when_intervals_overlap():
    """642.0 as published and 641.99 ± 0.005 as recorded are the same; 643 is not."""
    evidence = statistics.rounding_interval("641.99")

    assert statistics.overlap(evidence, statistics.rounding_interval("642.0"))
    assert not statistics.overlap(evidence, statistics.rounding_interval("643"))


def test_gib_is_not_gb():
    """4.68 GiB of tensors are 5.02 GB; the given figures agree with their columns."""
    given_ = lenient_json.loads(case("b02", "given.json").decode())
    size, params = units.parse_bytes(given_["size_column"]), units.parse_count(given_["params_column"])

    assert size["low"] <= given_["model_size"] <= size["high"]
    assert params["low"] <= given_["model_n_params"] <= params["high"]
    assert units.convert(given_["model_size"], "B", "GB") == pytest.approx(5.0218, abs=1e-4)
    read = given_["model_size"] - given_["token_embd_bytes"]
    assert units.convert(read, "B", "GB") == pytest.approx(4.6718, abs=1e-4)
    assert units.convert(read, "B", "GiB") == pytest.approx(4.3509, abs=1e-4)
    assert round((given_["file_bytes"] - given_["token_embd_bytes"]) / 1e9, 2) == 4.68


@given(value=st.floats(0.01, 1e6), pair=st.sampled_from([("kB", "KiB"), ("MB", "MiB"), ("GB", "GiB"), ("TB", "TiB")]))
def test_decimal_and_binary_units_never_mix(value, pair):
    """Each converts to bytes by its own factor, and into each other only through bytes."""
    decimal, binary = pair
    ratio = units.BYTES[binary] / units.BYTES[decimal]

    assert ratio > 1.02
    assert units.convert(value, binary, decimal) == pytest.approx(value * ratio)
    assert units.parse_bytes(f"{value:.2f} {binary}")["value"] > units.parse_bytes(f"{value:.2f} {decimal}")["value"]
    assert units.convert(units.convert(value, decimal, binary), binary, decimal) == pytest.approx(value)


@pytest.mark.parametrize("text", ["4.68", "4.68 G", "4.68 gib", "4.68 Gb", "GiB", "-1 GiB", "4.68 B B"])
def test_unclear_sizes_are_refused(text):
    """A unit is never guessed."""
    with pytest.raises(ValueError, match="is not a size"):
        units.parse_bytes(text)


def test_size_of_a_table_column():
    found = units.parse_bytes("604.15 MiB")

    assert found["low"] <= 633495552 <= found["high"]
    assert found["high"] - found["low"] == pytest.approx(0.01 * 2**20)


def test_billion_is_no_byte():
    """The column B of parameters is 1e9, of sizes it would be one byte."""
    assert units.parse_count("8.19 B")["value"] == pytest.approx(8.19e9)
    assert units.parse_bytes("8 B")["value"] == 8
