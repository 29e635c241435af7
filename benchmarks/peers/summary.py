"""What the requests of a run say about each tool, as Markdown."""

from __future__ import annotations

import math
import random
import statistics
from typing import Any

from peers.foreign import CALLS

LABELS = {"own": "Tokentrail", "raw": "raw socket", "urllib": "urllib"}
# The targets for our own client.
TARGETS = {"tpot_median": 0.03, "tpot_worst": 0.5, "ttft_over_raw_ms": 0.3, "core_share": 2.0}


def tools(run: dict[str, Any]) -> list[dict[str, Any]]:
    """For each tool measured: errors against the server's own timings, over all requests but the first of a process."""
    return [
        _tool(name, run["requests"][name], run["asked"][name])
        for name in sorted(run["requests"], key=list(CALLS).index)
        if any(not r.get("problem") and not r["cold"] for r in run["requests"][name])
    ]


def _tool(name: str, requests: list[dict], asked: int) -> dict[str, Any]:
    good = [r for r in requests if not r.get("problem")]
    warm, cold = [r for r in good if not r["cold"]], [r for r in good if r["cold"]]
    over = [r["ttft_ms"] - r["prompt_ms"] for r in warm]
    errors = [error(r["tpot_ms"], r["server_tpot_ms"]) for r in warm]
    named = [error(r["named_tpot_ms"], r["server_tpot_ms"]) for r in warm if r.get("named_tpot_ms")]
    timed = [r for r in warm if r["cpu_ms"] is not None]
    return {
        "tool": name,
        "requests": len(warm),
        "lost": asked - len(good),
        "ttft_over_ms": statistics.median(over),
        "ttft_over_worst_ms": max(over),
        "ttft_over_first_ms": statistics.median(r["ttft_ms"] - r["prompt_ms"] for r in cold) if cold else None,
        "tpot_error": statistics.median(errors),
        "tpot_error_worst": max(errors, key=abs),
        "named_tpot_error": statistics.median(named) if named else None,
        "cpu_ms": statistics.median(r["cpu_ms"] for r in timed) if timed else None,
        "core_share": 100 * sum(r["cpu_ms"] for r in timed) / sum(r["wall_ms"] for r in timed) if timed else None,
    }


def error(value: float, truth: float) -> float:
    """In per cent."""
    return 100 * (value / truth - 1)


def own_over_raw(run: dict[str, Any], draws: int = 2000) -> tuple[float, float, float]:
    """Our TTFT over prompt_ms less that of the raw socket, ms: difference of medians, and its 95 % interval."""
    over = {
        name: [r["ttft_ms"] - r["prompt_ms"] for r in run["requests"][name] if not r["cold"] and not r.get("problem")]
        for name in ("own", "raw")
    }
    dice, middle = random.Random(1), statistics.median
    drawn = sorted(
        middle(dice.choices(over["own"], k=len(over["own"]))) - middle(dice.choices(over["raw"], k=len(over["raw"])))
        for _ in range(draws)
    )
    cut = math.floor(0.025 * draws)
    return middle(over["own"]) - middle(over["raw"]), drawn[cut], drawn[-cut - 1]


def verdicts(run: dict[str, Any]) -> list[tuple[str, str, str, bool]]:
    """(target, limit, measured, held) for our own client."""
    ours = next(tool for tool in tools(run) if tool["tool"] == "own")
    gap, low, high = own_over_raw(run)
    rows = [
        ("median TPOT error", "≤ 0.03 %", f"{ours['tpot_error']:+.4f} %", abs(ours["tpot_error"]) <= 0.03),
        ("worst single TPOT", "≤ 0.5 %", f"{ours['tpot_error_worst']:+.3f} %", abs(ours["tpot_error_worst"]) <= 0.5),
        ("TTFT over the raw socket's", "≤ 0.3 ms", f"{gap:+.3f} ms (95 %: {low:+.3f} to {high:+.3f})", abs(gap) <= 0.3),
        ("requests lost", "0", str(ours["lost"]), ours["lost"] == 0),
        ("share of a core", "< 2 %", f"{ours['core_share']:.2f} %", ours["core_share"] < 2),
    ]
    return rows


def markdown(run: dict[str, Any]) -> str:
    """The whole run as text."""
    lines = [
        f"{run['machine']}, build {run['build']}, {run['model']}, server `{run['flags']}`, {run['date']}; "
        f"{run['prompt_n']} prompt tokens, {run['max_tokens']} answer tokens, {run['rounds']} rounds, tools in turns.",
        "",
        "| tool | requests | lost | TTFT over `prompt_ms`, median / worst | first of a process | TPOT error, median / "
        "worst | CPU per request | share of a core |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for tool in tools(run):
        name = tool["tool"]
        version = run["versions"].get(name)
        label = LABELS.get(name, name) + (f" {version}" if version else "")
        lines.append(
            f"| {label} | {tool['requests']} | {tool['lost']} "
            f"| {tool['ttft_over_ms']:.2f} / {tool['ttft_over_worst_ms']:.2f} ms "
            f"| {_shown(tool['ttft_over_first_ms'])} "
            f"| {tool['tpot_error']:+.4f} / {tool['tpot_error_worst']:+.3f} % "
            f"| {_shown(tool['cpu_ms'])} | {_shown(tool['core_share'], '%')} |"
        )
    for name, why in run["not_measured"].items():
        steps = [r["server_tpot_ms"] for r in run["requests"].get(name, []) if not r.get("problem")]
        beside = f"; beside it the server took {min(steps):.0f} ms or more for a token" if steps else ""
        lines.append(f"| {name} | not measured: {why}{beside} | | | | | | |")
    lines += ["", "What each calls TPOT:", ""]
    for tool in tools(run):
        wrong = f" ({tool['named_tpot_error']:+.0f} %)" if tool["named_tpot_error"] is not None else ""
        lines.append(f"- {LABELS.get(tool['tool'], tool['tool'])}: {CALLS[tool['tool']]}{wrong}")
    lines += ["", "| target for our client | limit | measured | |", "|---|---|---|---|"]
    lines += [
        f"| {what} | {limit} | {found} | {'held' if held else 'missed'} |" for what, limit, found, held in verdicts(run)
    ]
    to_text = [
        error(r["last_text_tpot_ms"], r["server_tpot_ms"])
        for r in run["requests"].get("own", [])
        if not r["cold"] and r.get("last_text_tpot_ms")
    ]
    if to_text:
        lines += ["", f"Up to the last text instead of the finish event: median {statistics.median(to_text):+.4f} %."]
    return "\n".join(lines + _emoji(run.get("emoji") or []))


def _emoji(requests: list[dict[str, Any]]) -> list[str]:
    """Where chunks are not tokens: what the counting of chunks would give."""
    good = [r for r in requests if not r.get("problem") and not r["cold"]]
    if not good:
        return []
    first = good[0]
    rest = [r["tpot_ms"] * (r["predicted_n"] - 1) for r in good]
    per_chunk = [ms / (r["chunks"] - 1) / r["server_tpot_ms"] for ms, r in zip(rest, good, strict=True)]
    biased = statistics.median(error(r["tpot_ms"], r["server_tpot_ms"]) for r in good)
    decided = max(abs(error(r["decided_tpot_ms"], r["server_tpot_ms"])) for r in good)
    return [
        "",
        f"An answer of emoji ({first['predicted_n']} tokens in {first['chunks']} chunks, {len(good)} requests): time "
        f"per chunk {statistics.median(per_chunk):.2f} × the time per token; (last − first) / (n − 1) {biased:+.2f} %; "
        f"our record (decided by: {first['decided_by']}) at most {decided:.4f} % off.",
    ]


def _shown(value: float | None, unit: str = "ms") -> str:
    return "" if value is None else f"{value:.2f} {unit}"
