"""What rows of llama-batched-bench can be: counts and prints that agree, every planned row, a context that fits."""

from __future__ import annotations

import math
import re
from collections import Counter

from tokentrail.statistics import rounding
from tokentrail.tools.failures import plain_lines, reason

# Context is given out in pieces of 256 tokens per sequence.
PAD = 256
COUNTS = ("pp", "tg", "pl", "n_kv")
TIMES = ("t_pp", "speed_pp", "t_tg", "speed_tg", "t", "speed")
PAIR = re.compile(r"(\w+)\s*=\s*(-?[\w.]+)")
_PER_SEQUENCE = re.compile(r"n_tokens = (\d+) > size = (\d+)|failed to find a memory slot|failed to find kv cache slot")


def context_needed(pp: int, tg: int, pl: int, shared: bool = False, unified: bool = False) -> int:
    """Tokens of context a row needs: pl·(pp + tg); a shared prompt in a unified cache counts once."""
    return pp + pl * tg if shared and unified else pl * (pp + tg)


def several(headers: list[str], raw: list[dict]) -> list[dict]:
    """The reason where one text holds runs of different settings: their rows must not be mixed."""
    if len(headers) > 1 and len(set(headers)) == 1:
        sentence = f"{len(headers)} outputs stand in one text, each with a cold first row of its own; one file for each"
        return [reason("several-runs", sentence)]
    says = [dict(PAIR.findall(header)) for header in headers]
    says += [{k: str(v) for k, v in row.items() if k not in COUNTS + TIMES and k != "printed"} for row in raw]
    for name in sorted({name for one in says for name in one}):
        values = list(dict.fromkeys(one[name] for one in says if name in one))
        if len(values) > 1:
            sentence = f"the rows come from runs of different settings ({name} {', '.join(values)}); one file for each"
            return [reason("several-runs", sentence)]
    return []


def impossible(row: dict) -> str | None:
    """What a row cannot be: without sequences or tokens, of negative times, or of counts that contradict each other."""
    pp, tg, pl, n_kv = (row[name] for name in ("pp", "tg", "pl", "n_kv"))
    what = f"row pp={pp}, tg={tg}, pl={pl}"
    if pl < 1 or pp + tg == 0 or min(row["t_pp_s"] or 0, row["t_tg_s"] or 0) < 0:
        return f"{what} has no sequence, no token or a time below 0"
    rates = (row["prefill_tokens_per_s"] or 0, row["decode_tokens_per_s"] or 0)
    if min(rates) < 0:
        return f"{what} has a rate below 0"
    if n_kv not in (pl * (pp + tg), pp + pl * tg):
        return f"{what} says n_kv {n_kv}, its counts give {pl * (pp + tg)}: were columns mixed up?"
    for printed, counts, t, rate in _prints(row):
        low, _, high = rounding.printed(t)
        slow, _, fast = rounding.printed(rate)
        fits = [n / high <= fast * 1.001 and slow <= n / low * 1.001 for n in counts if low > 0 and n]
        if fits and not any(fits):
            return f"{what} prints {printed} {t} s and {rate} t/s, which contradict each other"
    return None


def _prints(row: dict) -> list[tuple[str, tuple[int, ...], str, str]]:
    """(column, possible tokens, printed time, printed rate) of a table row, where both are numbers.

    A row does not say whether its prompt was shared, so read once.
    """
    printed = row.get("as_printed") or {}
    pp, tg, pl = row["pp"], row["tg"], row["pl"]
    halves = (("T_PP", (pl * pp, pp), "t_pp", "speed_pp"), ("T_TG", (pl * tg,), "t_tg", "speed_tg"),
              ("T", (row["n_kv"],), "t", "speed"))  # fmt: skip
    pairs = [(column, n, printed[t], printed[s]) for column, n, t, s in halves if t in printed and s in printed]
    return [p for p in pairs if not any(isinstance(number(text), str | None) for text in p[2:])]


def check(rows: list[dict], planned: list[dict] | None, reported: dict) -> list[dict]:
    """Reasons where the rows of a run that exited 0 are not the planned ones."""
    if not rows:
        sentence = "llama-batched-bench exited 0 but measured nothing" + _fit(planned, reported)
        return [reason("nothing-measured", sentence)]
    if planned is None:
        return []
    found = []
    wanted, got = (Counter((r["pp"], r["tg"], r["pl"]) for r in each) for each in (planned, rows))
    for (pp, tg, pl), count in (wanted - got).items():
        missing = [{"pp": pp, "tg": tg, "pl": pl}]
        times = f" ({count} times)" if count > 1 else ""
        text = f"row pp={pp}, tg={tg}, pl={pl} is missing{times} although it exited 0"
        found.append(reason("row-missing", text + _fit(missing, reported)))
    for (pp, tg, pl), count in (got - wanted).items():
        planned_too = (pp, tg, pl) in wanted
        code = "duplicate-row" if planned_too else "row-not-planned"
        text = f"came {count} time(s) more than planned" if planned_too else "was not planned"
        found.append(reason(code, f"row pp={pp}, tg={tg}, pl={pl} {text}"))
    return found


def _fit(missing: list[dict] | None, reported: dict) -> str:
    limit = reported.get("n_kv_max")
    if not missing:
        return ": was -npl given?"
    shared = bool(reported.get("is_pp_shared"))
    need = max(context_needed(r["pp"], r["tg"], r["pl"], shared) for r in missing)
    if isinstance(limit, int) and need <= limit:
        return ""
    has = f"the context has {limit}" if limit else "more than the context has"
    return f": it needs {need} tokens, {has}; rows that do not fit are left out without a word, set -c {need} or more"


def too_small(stderr: str, planned: list[dict] | None) -> list[dict]:
    """The reason where one sequence's share of the context was too small (split cache: -c / max(npl))."""
    match = next((m for line in plain_lines(stderr) if (m := _PER_SEQUENCE.search(line))), None)
    if not match:
        return []
    text = "context per sequence too small"
    if match[1]:
        text += f" ({match[1]} tokens for a share of {match[2]})"
    text += f": set -c to at least max(npl)·(pp + tg), each share rounded up to {PAD}"
    if planned:
        share = max(math.ceil((r["pp"] + r["tg"]) / PAD) * PAD for r in planned)
        text += f", here {share * max(r['pl'] for r in planned)}"
    return [reason("context-per-sequence", text)]


def number(text: str) -> int | float | str | None:
    """A printed cell: a number, None for nan and inf, else the text itself."""
    if re.fullmatch(r"[+-]?(?:nan|inf)(?:\(\w+\))?", text, re.I):
        return None
    try:
        value = rounding.printed(text)[1]
    except ValueError:
        return text
    return int(value) if re.fullmatch(r"-?\d+", text) else value
