"""llama-batched-bench: JSON lines or its table -> one row per (pp, tg, pl), or why not.

The tool measures each row once, in the order asked for, names neither model nor build, and leaves out rows that do
not fit its context without a word and with exit status 0. Rates are computed here from counts and times;
only a table, whose times are rounded to 1 ms, is taken by its printed speeds.
"""

from __future__ import annotations

import math
import re

from tokentrail.tools import batched_bench_checks as checks
from tokentrail.tools import lenient_json, markdown_tables
from tokentrail.tools.failures import decode_failure, failed, plain_lines, reason, unreadable

_COLUMNS = {"PP": "pp", "TG": "tg", "B": "pl", "N_KV": "n_kv", "T_PP s": "t_pp", "S_PP t/s": "speed_pp",
            "T_TG s": "t_tg", "S_TG t/s": "speed_tg", "T s": "t", "S t/s": "speed"}  # fmt: skip
_TIME = int | float | None
_HEADER = re.compile(r"(?:main|llama[-_]batched[-_]bench):\s*(n_kv_max\s*=.*)")


def parse(
    stdout: str | bytes,
    exit_status: int | None,
    stderr: str,
    planned: list[dict] | None = None,
    *,
    process: int = 0,
    allow_tables: bool = False,
) -> dict:
    """{"rows", "reasons", "remarks", "reported"} of one llama-batched-bench process; jsonl or Markdown.

    planned: the rows asked for, each {pp, tg, pl}; one that is asked for twice is listed twice.
    The first row of a process is cold by its position. Rows stay in the order measured (by_batch sorts).
    """
    text = lenient_json.printed_text(stdout)
    reasons, remarks, reported = [], [], {}
    headers = _HEADER.findall(text) or _HEADER.findall("\n".join(plain_lines(stderr)))[-1:]
    if headers:
        reported = {name: checks.number(value) for name, value in checks.PAIR.findall(headers[0])}
    table = any(set(t.header) >= {"PP", "TG", "B"} for t in markdown_tables.tables(text))
    raw = _table(text, reasons) if table else _jsonl(text, reasons, remarks)
    if not raw and not reasons and not table and text.strip(" \n[]"):
        reasons.append(unreadable("llama-batched-bench", text, "JSON lines or a Markdown table"))
    reasons += checks.several(headers, raw)
    rows = [_row(values, index, process, remarks) for index, values in enumerate(raw)]
    reasons += [reason("impossible-row", sentence) for row in rows if (sentence := checks.impossible(row))]
    if raw and not table:
        reported = {name: v for name, v in raw[0].items() if name not in checks.COUNTS + checks.TIMES} | reported
    reported["format"] = "markdown" if table else "jsonl"
    if exit_status != 0:
        total = f" of {len(planned)} planned" if planned else ""
        reasons = failed("llama-batched-bench", exit_status, stderr, f"{len(rows)}{total} rows finished") + reasons
        reasons += checks.too_small(stderr, planned)
    else:
        # An output that could not be read at all says nothing of what was measured.
        reasons += checks.check(rows, planned, reported) if rows or not reasons else []
        if line := decode_failure(stderr) or decode_failure(text):
            reasons.append(reason("decode-failed", f"work was not done although it exited 0: {line}"))
    if table and rows:
        sentence = "a table has times rounded to 1 ms and speeds to 2 decimals; run with --output-format jsonl"
        (remarks if allow_tables else reasons).append(reason("table-only", sentence))
    return {"rows": rows, "reasons": reasons, "remarks": remarks, "reported": reported}


def planned_rows(arguments: dict) -> list[dict]:
    """The rows a campaign's llama-batched-bench arguments ask for, in the tool's order (pp, tg, then pl).

    With `repeat_first` the first batch size is asked for twice, so that the cold first row has a warm twin.
    """
    sizes = batch_sizes(arguments)
    return [{"pp": pp, "tg": tg, "pl": pl} for pp in arguments["npp"] for tg in arguments["ntg"] for pl in sizes]


def batch_sizes(arguments: dict) -> list[int]:
    """`-npl` as passed: the first size twice with `repeat_first`."""
    sizes = list(arguments["npl"])
    return sizes[:1] + sizes if arguments.get("repeat_first") else sizes


def by_batch(rows: list[dict]) -> list[dict]:
    """Rows for a curve: sorted by pp, tg, then batch size, whatever order was asked for."""
    return sorted(rows, key=lambda r: (r["pp"], r["tg"], r["pl"], r["process"], r["index"]))


def _jsonl(text: str, reasons: list[dict], remarks: list[dict]) -> list[dict]:
    found = lenient_json.objects(text)
    rows = [o for o in found.objects if any(name in o for name in checks.COUNTS)]
    if found.broken or found.cut:
        sentence = f"llama-batched-bench's output is {found.broken or 'cut off within a row'}"
        reasons.append(reason("bad-json" if found.broken else "cut-off", sentence))
    if found.noise and rows:
        sentence = f"{len(found.noise)} line(s) of the output are no result, the first: {found.noise[0][:100]}"
        remarks.append(reason("extra-output", sentence))
    missing = sorted({n for row in rows for n in ("pp", "tg", "pl", "t_pp", "t_tg") if n not in row})
    if missing:
        reasons.append(reason("missing-fields", f"rows of the output lack {', '.join(missing)}"))
    words = {f"{n} {row[n]!r}" for row in rows for n in ("t_pp", "t_tg") if not isinstance(row.get(n), _TIME)}
    if words:
        reasons.append(
            reason("impossible-time", f"a row of the output has {', '.join(sorted(words))}; a time is a number")
        )
    whole = [all(_is_count(r.get(name)) for name in ("pp", "tg", "pl")) for r in rows]
    good = [r for r, fits in zip(rows, whole, strict=True) if fits]
    bad = next((r for r, fits in zip(rows, whole, strict=True) if not fits), {})
    if {"pp", "tg", "pl"} <= set(bad):
        said = ", ".join(f"{name} {bad[name]!r}" for name in ("pp", "tg", "pl"))
        reasons.append(reason("impossible-count", f"a row of the output has {said}; a count is a whole number"))
    return good


def _table(text: str, reasons: list[dict]) -> list[dict]:
    rows = []
    for table in markdown_tables.tables(text):
        for line in table.ragged:
            sentence = f"table line {line} has not as many cells as its header, or names a column twice"
            reasons.append(reason("table-row-length", f"{sentence}; restore the table as printed"))
        for cells in table.rows if set(table.header) >= {"PP", "TG", "B"} else []:
            printed = {_COLUMNS.get(name, name): cell for name, cell in cells.items()}
            values = {name: checks.number(cell) for name, cell in printed.items()}
            words = [f"{name} {values[name]!r}" for name in checks.TIMES if isinstance(values.get(name), str)]
            if words:
                sentence = f"the table row {' | '.join(cells.values())} has no number as {', '.join(words)}"
                reasons.append(reason("bad-table-row", sentence))
            elif all(_is_count(values.get(name)) for name in ("pp", "tg", "pl")):
                rows.append(values | {"printed": printed})
            else:
                sentence = f"the table row {' | '.join(cells.values())} has no whole PP, TG, B"
                reasons.append(reason("bad-table-row", sentence))
    return rows


def _row(values: dict, index: int, process: int, remarks: list[dict]) -> dict:
    pp, tg, pl = values["pp"], values["tg"], values["pl"]
    prompts = 1 if values.get("is_pp_shared") else pl
    t_pp, t_tg = (_finite(values.get(name)) for name in ("t_pp", "t_tg"))
    printed = values.get("printed")
    rates = []
    for tokens, seconds, name in ((prompts * pp, t_pp, "speed_pp"), (pl * tg, t_tg, "speed_tg")):
        own = _finite(values.get(name)) if tokens else None
        rate = own if printed else tokens / seconds if tokens and seconds else None
        rates.append(rate)
        _compare(f"row pp {pp}, tg {tg}, B {pl}: {name}", rate, own, seconds, remarks)
    row = {
        "process": process,
        "index": index,
        "pp": pp,
        "tg": tg,
        "pl": pl,
        "kind": "prefill" if not tg else "decode" if not pp else "both",
        "n_kv": values["n_kv"] if _is_count(values.get("n_kv")) else prompts * pp + pl * tg,
        "t_pp_s": t_pp,
        "t_tg_s": t_tg,
        "prefill_tokens_per_s": rates[0],
        "decode_tokens_per_s": rates[1],
        "decode_tokens_per_s_per_sequence": rates[1] / pl if rates[1] is not None and pl else None,
        "cold": index == 0,
        "reported": {name: values[name] for name in values if name != "printed"},
    }
    return row | ({"as_printed": printed} if printed else {})


def _compare(what: str, rate: float | None, own: float | None, seconds: float | None, remarks: list[dict]) -> None:
    """The tool computes speeds in 32-bit floats from times that it prints to 1 µs."""
    if rate is None or own is None or not seconds:
        return
    if not math.isclose(rate, own, rel_tol=1e-6 + 0.6e-6 / seconds):
        remarks.append(reason("tool-speed-differs", f"{what} is {own:g}, tokens over time give {rate:g}"))


def _finite(value: object) -> float | None:
    good = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if good else None


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31
