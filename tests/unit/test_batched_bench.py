"""llama-batched-bench output, whole and broken."""

import json

import pytest
from fixture_files import FIXTURES, case, case_status, case_text, codes, messages

from tokentrail import jsonio
from tokentrail.tools import batched_bench


def parse(number, planned=None, stderr="", name="batched.jsonl", **options):
    return batched_bench.parse(case(number, name), case_status(number), stderr, planned, **options)


def rows(pp, tg, *sizes):
    return [{"pp": pp, "tg": tg, "pl": pl} for pl in sizes]


def test_three_rows_with_rates_per_sequence():
    """Speeds are sums over the sequences; one user's share is the sum over their number."""
    found = parse("c01", rows(512, 128, 1, 2, 4))

    assert found["reasons"] == found["remarks"] == []
    each = [r["decode_tokens_per_s_per_sequence"] for r in found["rows"]]
    assert each == pytest.approx([128.0, 121.90, 116.36], rel=1e-4)
    assert [r["prefill_tokens_per_s"] for r in found["rows"]] == pytest.approx([10240.0] * 3)


def test_first_row_of_a_process_is_cold():
    """Cold by its place, whatever the batch size."""
    assert [r["cold"] for r in parse("c05", rows(16, 4, 1, 2, 4))["rows"]] == [True, False, False]


@pytest.mark.parametrize("number", ["c01", "c04", "c05", "c10"])
def test_rows_fit_the_record_schema(number):
    """Rows are valid parts of a record, NaN never among them."""
    found = parse(number)["rows"]
    jsonio.dumps(found)
    schema = {"type": "array", "items": jsonio._validator("record").schema["properties"]["rows"]["items"]}

    assert list(jsonio._validator("record").evolve(schema=schema).iter_errors(found)) == []


def test_row_left_out_is_found_by_the_plan():
    """Exit 0, yet the largest batch is missing; the sentence says what context it needs."""
    found = parse("c02", rows(300, 8, 1, 2, 4))

    assert codes(found["reasons"]) == ["row-missing"]
    assert "pl=4" in messages(found["reasons"])
    assert "set -c 1232 or more" in messages(found["reasons"])


def test_row_missing_for_another_cause_gives_no_wrong_advice():
    """A row that would have fitted is only said to be missing."""
    assert "-c" not in messages(parse("c01", rows(512, 128, 1, 2, 4, 8))["reasons"])


def test_nan_rate_is_unknown():
    """-ntg 0: no decode, so no decode rate; never 0."""
    row = parse("c04", rows(16, 0, 1))["rows"][0]

    assert row["decode_tokens_per_s"] is None
    assert row["reported"]["speed_tg"] is None
    assert row["kind"] == "prefill"
    assert row["prefill_tokens_per_s"] == pytest.approx(1698.33, rel=1e-4)


@pytest.mark.parametrize("token", ["-nan", "nan", "inf", "-inf", "NaN"])
def test_no_prompt_gives_no_prefill_rate(token):
    """-npp 0, in every spelling."""
    text = case_text("c04", "batched.jsonl").replace('"pp": 16, "tg": 0', '"pp": 0, "tg": 16').replace("-nan", token)
    row = batched_bench.parse(text, 0, "", rows(0, 16, 1))["rows"][0]

    assert (row["prefill_tokens_per_s"], row["kind"]) == (None, "decode")


def test_rows_keep_their_order_and_sort_for_a_curve():
    """Order measured is kept; a curve is drawn from a sorted view; a shared prompt counts once."""
    found = parse("c05", rows(16, 4, 4, 2, 1))["rows"]

    assert [r["pl"] for r in found] == [4, 2, 1]
    assert [r["pl"] for r in batched_bench.by_batch(found)] == [1, 2, 4]
    assert found[0]["prefill_tokens_per_s"] == pytest.approx(16 / 0.013869)


def test_context_per_sequence_too_small():
    """Empty stdout, exit 1: the cause is the share of one sequence."""
    found = parse("c07", rows(512, 128, 1, 4), case_text("c07", "stderr.txt"))

    assert codes(found["reasons"]) == ["tool-failed", "context-per-sequence"]
    assert "llama_decode() failed" in found["reasons"][0]["message"]
    assert "max(npl)·(pp + tg)" in found["reasons"][1]["message"]
    assert "here 3072" in found["reasons"][1]["message"]


def test_stderr_of_older_builds_has_no_clock():
    """The same cause without time and level letter."""
    stderr = "".join(line[15:] + "\n" for line in case_text("c07", "stderr.txt").splitlines())

    assert codes(parse("c07", None, stderr)["reasons"]) == ["tool-failed", "context-per-sequence"]


def test_table_is_no_source_unless_transcribed():
    """Times rounded to a millisecond are no measurement to derive from, unless nothing else is left."""
    refused = parse("c09", name="batched.txt")
    taken = parse("c09", rows(16, 4, 2), name="batched.txt", allow_tables=True)

    assert codes(refused["reasons"]) == ["table-only"]
    assert "--output-format jsonl" in messages(refused["reasons"])
    assert taken["reasons"] == []
    assert taken["rows"][0]["decode_tokens_per_s"] == 68.57
    assert taken["rows"][0]["as_printed"]["speed_tg"] == "68.57"
    assert taken["reported"]["n_kv_max"] == 512


def test_header_of_old_builds():
    """The settings line began with main: and lacked is_tg_separate."""
    text = case_text("c09", "batched.txt").replace("llama_batched_bench:", "main:").replace("is_tg_separate = 0, ", "")

    assert batched_bench.parse(text, 0, "", None, allow_tables=True)["reported"]["n_threads"] == 8


def test_malformed_table_row_is_named():
    """A cell lost is not guessed."""
    text = case_text("c09", "batched.txt").replace("|     40 |", "|")

    assert "table-row-length" in codes(batched_bench.parse(text, 0, "", None, allow_tables=True)["reasons"])


def test_padded_context_is_fine():
    """n_kv_max is rounded up to 256 a sequence and need not be -c."""
    found = parse("c10", rows(16, 8, 64))

    assert found["reasons"] == []
    assert found["reported"]["n_kv_max"] == 16384


def test_repeated_first_size_is_planned_twice():
    """The first batch size runs twice, its first row is cold; a third time would be too many."""
    arguments = {"npp": [512], "ntg": [128], "npl": [1, 2, 4], "repeat_first": True}
    lines = case_text("c01", "batched.jsonl").strip().splitlines()
    planned = batched_bench.planned_rows(arguments)

    assert [r["pl"] for r in planned] == [1, 1, 2, 4]
    found = batched_bench.parse("\n".join([lines[0], *lines]), 0, "", planned)
    assert found["reasons"] == []
    assert [(r["pl"], r["cold"]) for r in found["rows"]] == [(1, True), (1, False), (2, False), (4, False)]
    assert codes(batched_bench.parse("\n".join(lines), 0, "", planned)["reasons"]) == ["row-missing"]
    three = batched_bench.parse("\n".join([lines[0], lines[0], *lines]), 0, "", planned)
    assert codes(three["reasons"]) == ["duplicate-row"]


@pytest.mark.parametrize("text", ["", "\n", "\r\n"])
def test_exit_0_with_nothing_measured(text):
    """Without -npl, or when nothing fits, one empty line comes with exit 0."""
    assert codes(batched_bench.parse(text, 0, "", None)["reasons"]) == ["nothing-measured"]


def test_line_cut_within_a_row():
    """A cut row is not a row."""
    text = case_text("c01", "batched.jsonl").strip()[:-40]

    assert codes(batched_bench.parse(text, 0, "", rows(512, 128, 1, 2, 4))["reasons"]) == ["cut-off", "row-missing"]


def test_unplanned_row_is_named():
    assert codes(parse("c01", rows(512, 128, 1, 2))["reasons"]) == ["row-not-planned"]


def test_unknown_format_is_named():
    """`--output-format json` is not known to the tool."""
    found = batched_bench.parse("", 1, "error: invalid argument: --output-format\n", rows(1, 1, 1))

    assert codes(found["reasons"]) == ["unknown-flag"]


@pytest.mark.parametrize("change", [{"pl": 0}, {"t_tg": -1.0}])
def test_impossible_row_is_refused(change):
    row = json.loads(case_text("c01", "batched.jsonl").splitlines()[0]) | change

    assert "impossible-row" in codes(batched_bench.parse(json.dumps(row), 0, "", None)["reasons"])


def test_wrong_speed_is_a_remark():
    """Speed and time of a row that contradict each other are said."""
    row = json.loads(case_text("c01", "batched.jsonl").splitlines()[0]) | {"speed_tg": 130.0}

    assert codes(batched_bench.parse(json.dumps(row), 0, "", None)["remarks"]) == ["tool-speed-differs"]


@pytest.mark.parametrize("name", ["llama-batched-bench-8b.jsonl", "llama-batched-bench-0.6b.md"])
def test_recorded_gpu_runs(name):
    """Real runs on an H200, in both formats."""
    text = (FIXTURES / "recorded/h200" / name).read_bytes()

    assert batched_bench.parse(text, 0, "", None, allow_tables=True)["reasons"] == []
