"""Other shapes in which llama-batched-bench's output reaches us, and rows that cannot be."""

import json

import pytest
from fixture_files import case_text, codes, messages

from tokentrail import jsonio
from tokentrail.tools import batched_bench

LINES = case_text("c01", "batched.jsonl")
ROWS = [json.loads(line) for line in LINES.splitlines() if line]
PLAN = [{k: r[k] for k in ("pp", "tg", "pl")} for r in ROWS]
TABLE = case_text("c09", "batched.txt")


def row(**changes) -> str:
    return json.dumps(ROWS[0] | changes).replace("NaN", "-nan").replace("Infinity", "inf")


def read(text, planned=None):
    found = batched_bench.parse(text, 0, "", planned, allow_tables=True)
    jsonio.dumps(found)
    return found


@pytest.mark.parametrize(
    "text",
    [
        LINES.encode("utf-16"),
        "\x1b[32m" + LINES + "\x1b[0m",
        "> " + LINES.strip().replace("\n", "\n> "),
        "```\n" + LINES + "```",
        "[" + ",".join(LINES.split("\n")[:3]) + "]",
        LINES.replace("\n", "\r\n").encode("utf-8-sig"),
    ],
    ids=["UTF-16 of a shell", "colours", "quoted", "code fence", "array", "CRLF and mark"],
)
def test_same_rows_in_other_wrappings(text):
    found = read(text, PLAN)

    assert not found["reasons"]
    assert [r["pl"] for r in found["rows"]] == [1, 2, 4]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (row(pp=True), "impossible-count"),
        (row(pl=1.0), "impossible-count"),
        (row(pp=10**40), "impossible-count"),
        (row(tg="128"), "impossible-count"),
        (row(pp=0, tg=0, n_kv=0), "impossible-row"),
        (row(n_kv=7), "impossible-row"),
        (row(t_tg=-1.0), "impossible-row"),
        (row(t_tg="0.5"), "impossible-time"),
        (row() + "\ndecode: failed to decode the batch, n_batch = 2048, ret = 1\n", "decode-failed"),
        (TABLE.replace("|   917.38 |", "|  -917.38 |"), "impossible-row"),
        (TABLE.replace("|   917.38 |", "| 1,917.38 |"), "impossible-row"),
        (row() + "\n" + row(n_kv_max=4096, pl=2, n_kv=1280), "several-runs"),
        ("usage: llama-batched-bench [options]\n", "unreadable-output"),
        (TABLE.replace("n_kv_max = 512", "n_kv_max = 1024") + TABLE, "several-runs"),
        (TABLE.replace("|   917.38 |", "|   917,38 |"), "bad-table-row"),
        (TABLE.replace("|    68.57 |", "|     slow |"), "bad-table-row"),
        (TABLE.replace("|    68.57 |", "|   917.38 |"), "impossible-row"),
        (TABLE.replace("|     40 |", "|      4 |"), "impossible-row"),
        (TABLE.replace("| 263.94 |", "|").replace("|   263.94 |", "|"), "table-row-length"),
    ],
)
def test_what_is_no_result_names_its_fault(text, code):
    """Refused for what is wrong with it; no row is dropped in silence beside good ones."""
    found = read(LINES + text if text.startswith("{") and code == "impossible-count" else text)

    assert code in codes(found["reasons"])
    assert "nothing-measured" not in codes(found["reasons"])


@pytest.mark.parametrize(
    ("text", "prefill", "decode"),
    [
        (row(tg=0, t_tg=0.0, speed_tg=float("nan"), n_kv=512), 10240.0, None),
        (row(pp=0, t_pp=0.0, speed_pp=float("nan"), n_kv=128), None, 128.0),
        (row(t_pp=0.0, speed_pp=float("inf")), None, 128.0),
        (row(t_tg=0.0, speed_tg=float("inf")), 10240.0, None),
        (row(is_pp_shared=1, pl=4, n_kv=1024, t_tg=4.0, speed_tg=128.0), 10240.0, 128.0),
        (TABLE.replace("0.035", "0.000"), 917.38, 68.57),
        (TABLE.replace("917.38", "-nan(ind)"), None, 68.57),
        (TABLE.replace("|    68.57 |", "| **68.57** |"), 917.38, 68.57),
        (TABLE.replace("917.38", "1,917.38"), 1917.38, 68.57),
        ("> ```\n> " + TABLE.strip().replace("\n", "\n> "), 917.38, 68.57),
        (TABLE.replace("llama_batched_bench:", "main:").replace("\n", "\r\n"), 917.38, 68.57),
    ],
)
def test_rates_of_rows_with_gaps(text, prefill, decode):
    """What has no time has no rate; what a table prints is taken as printed."""
    (one,) = read(text)["rows"]

    assert one["prefill_tokens_per_s"] == prefill
    assert one["decode_tokens_per_s"] == decode


def test_tables_without_a_line_between():
    """Two tables of one setting, pasted as one."""
    table = TABLE.strip()
    second = "\n".join(table.split("\n")[2:]).replace("|    2 |     40 |", "|    4 |     80 |")
    second = second.replace("917.38", "1834.76").replace("68.57", "137.14").replace("263.94", "527.88")
    found = read(table + "\n" + second)

    assert [r["pl"] for r in found["rows"]] == [2, 4]
    assert not found["reasons"], messages(found["reasons"])


def test_infinite_time_is_unknown():
    (one,) = read(row().replace('"t_tg": 1.0', '"t_tg": 1e999'))["rows"]

    assert one["decode_tokens_per_s"] is None
