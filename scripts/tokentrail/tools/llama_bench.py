"""llama-bench: its output in any format and of any build -> tests with their samples, or why not.

Rates are computed here from `samples_ns`, exact integers; the tool's own averages are only compared
(its stddev can wrap around and be wildly wrong, so it is not even that).
"""

from __future__ import annotations

import math
from collections import Counter

from tokentrail import statistics
from tokentrail.tools import devices, llama_bench_rows
from tokentrail.tools.failures import decode_failure, failed, reason
from tokentrail.tools.llama_bench_plan import check, key_of, label_of
from tokentrail.tools.version_text import known_build, known_commit

REQUIRED = ("n_prompt", "n_gen")
# `samples_ts` has 6 significant digits (5e-6 at worst), `avg_ts` 6 decimals.
RELATIVE, ABSOLUTE = 5.001e-6, 5.1e-7
DEFAULT_REPETITIONS = 5
# A clock that ran backwards gives a 64-bit time near 2^64; a count is a 32-bit integer in the tool.
WRAPPED_NS, COUNTS_BELOW = 2**62, 2**31
# About mid-May 2025; earlier builds went on after a failed decode and printed a rate for work not done.
CHECKS_DECODE_FROM = 5400
_RESULTS = {"avg_ns", "stddev_ns", "avg_ts", "stddev_ts", "samples_ns", "samples_ts", "test_time", "printed"}
# Builds before 2026 say false and true, which are 0 and 1 to Python.
_WORDS = {-1: "auto", 0: "off", 1: "on"}


def parse(
    stdout: str | bytes,
    exit_status: int | None,
    stderr: str,
    planned: list[dict] | None = None,
    *,
    process: int = 0,
    allow_tables: bool = False,
    repetitions: int | None = None,
) -> dict:
    """{"tests", "reasons", "remarks", "reported"} of one llama-bench process; json, jsonl, csv or Markdown.

    planned: the tests asked for, each {n_prompt, n_gen, n_depth} and any setting that tells two apart
    (n_batch, n_ubatch …). allow_tables: take a Markdown table, which has no samples, as evidence (transcribed
    runs); csv has none either. repetitions: of a table's rows, which do not say. Any reason makes it invalid.
    """
    found = llama_bench_rows.read(stdout)
    reasons, remarks = list(found.reasons), list(found.remarks)
    tests = [_test(row, process, repetitions, reasons, remarks) for row in found.rows if _complete(row, reasons)]
    total = len(planned) if planned is not None else None
    if exit_status != 0:
        finished = f"{len(tests)} of {total} planned tests finished" if planned else f"{len(tests)} tests finished"
        reasons = failed("llama-bench", exit_status, stderr, finished) + reasons
    else:
        reasons += check(tests, planned, found.cut, bool(reasons))
        if line := decode_failure(stderr) or decode_failure("\n".join(found.noise)):
            reasons.append(reason("decode-failed", f"work was not done although it exited 0: {line}"))
    if tests and found.format in ("markdown", "csv") and not allow_tables:
        sentence = f"a {found.format} output has no samples, so nothing can be derived from it; run with -o jsonl"
        reasons.append(reason("no-samples", sentence))
    elif tests and found.format == "markdown":
        remarks.append(reason("no-samples", "a table has means and spreads as printed, but no samples"))
    reported = _reported(found, remarks)
    return {"tests": tests, "reasons": reasons, "remarks": _once(remarks), "reported": reported}


def _complete(row: dict, reasons: list[dict]) -> bool:
    """Fields without which a row is no test; a missing depth is 0 (builds before 2025)."""
    missing = [name for name in REQUIRED if row.get(name) is None] + ["samples_ns"] * ("samples_ns" not in row)
    if missing:
        reasons.append(reason("missing-fields", f"a row of the output lacks {', '.join(missing)}"))
        return False
    counts = {name: 0 if row.get(name) is None else row[name] for name in (*REQUIRED, "n_depth")}
    bad = [f"{name} {v!r:.40}" for name, v in counts.items() if type(v) is not int or not 0 <= v < COUNTS_BELOW]
    if bad:
        sentence = f"a row of the output has {', '.join(bad)}; a count is 0 or more, and below {COUNTS_BELOW}"
        reasons.append(reason("impossible-count", sentence))
    return not bad


def _test(row: dict, process: int, repetitions: int | None, reasons: list[dict], remarks: list[dict]) -> dict:
    n_prompt, n_gen, n_depth = key_of(row)
    label, tokens = label_of(row), n_prompt + n_gen
    test = {
        "kind": "mixed" if n_prompt and n_gen else "decode" if n_gen else "prefill",
        "label": label,
        "n_prompt": n_prompt,
        "n_gen": n_gen,
        "n_depth": n_depth,
        "tokens": tokens,
        "samples": None,
        "reported": {name: row[name] for name in row if name in _RESULTS and name != "samples_ns"},
        "settings": _settings(row),
    }
    if row["samples_ns"] is None:
        test["as_published"] = _printed_mean(row, repetitions, remarks)
        if not test["as_published"]["mean"] or test["as_published"]["mean"] < 0:
            reasons.append(reason("impossible-rate", f"{label} has no rate above 0"))
        return test
    test["samples"] = _samples(row["samples_ns"], tokens, process, label, reasons)
    rates = [s["tokens_per_s"] for s in test["samples"]]
    _compare(label, rates, row, remarks)
    return test | {"as_published": statistics.mean_summary(rates) if rates else None}


def _samples(values: object, tokens: int, process: int, label: str, reasons: list[dict]) -> list[dict]:
    """Repetitions in order; the first is cold by its position, whatever its value."""
    values = values if isinstance(values, list) else []
    if not values:
        reasons.append(reason("empty-samples", f"row without samples: {label} (was -r 0 asked?)"))
    bad = [v for v in values if isinstance(v, bool) or not isinstance(v, int) or not 0 < v < WRAPPED_NS]
    if bad:
        sentence = f"{label} has a sample of {bad[0]!r} ns; a time is a positive integer, and no wrapped one"
        reasons.append(reason("impossible-sample", sentence))
    if tokens <= 0:
        reasons.append(reason("no-tokens", f"{label} counts no tokens, so it has no rate"))
    good = [(i, v) for i, v in enumerate(values) if v not in bad and tokens > 0]
    return [
        {"process": process, "index": i, "ns": ns, "tokens_per_s": tokens * 1e9 / ns, "cold": i == 0} for i, ns in good
    ]


def _compare(label: str, rates: list[float], row: dict, remarks: list[dict]) -> None:
    average, mean = row.get("avg_ts"), statistics.mean(rates)
    if rates and _is_number(average) and not _close(average, mean):
        sentence = f"{label}: the tool's average {average:g} is not the mean {mean:.6f} of its samples"
        remarks.append(reason("tool-average-differs", sentence))
    own = row.get("samples_ts")
    if not isinstance(own, list) or not rates:
        return
    pairs = [(v, r) for v, r in zip(own, rates, strict=False) if v is not None]
    if len(own) != len(rates) or not all(_is_number(v) and _close(v, r) for v, r in pairs):
        remarks.append(reason("tool-samples-differ", f"{label}: samples_ts does not follow from samples_ns"))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _close(first: float, second: float) -> bool:
    return math.isclose(first, second, rel_tol=RELATIVE, abs_tol=ABSOLUTE)


def _printed_mean(row: dict, repetitions: int | None, remarks: list[dict]) -> dict:
    """As published, from a table or csv: mean and spread as printed; the number of repetitions is not in it."""
    n = repetitions or DEFAULT_REPETITIONS
    if repetitions is None:
        sentence = f"how often each test ran is not printed; llama-bench's default of {n} repetitions is assumed"
        remarks.append(reason("repetitions-assumed", sentence))
    printed = row.get("printed") or {"mean": row.get("avg_ts"), "stdev": row.get("stddev_ts")}
    mean, stdev = (_as_float(printed[name]) for name in ("mean", "stdev"))
    stdev = None if n < 2 else stdev
    interval = statistics.mean_interval(mean, stdev, n) if mean else None
    found = {"n": n, "mean": mean, "stdev": stdev, "median": None, "min": None, "max": None, "processes": 1}
    return {**found, "interval": interval.as_dict() if interval else None}


def _as_float(value: object) -> float | None:
    """A number as printed or read, None where there is none (an empty cell of a csv, a word)."""
    try:
        found = float(str(value).replace(",", ""))
    except ValueError:
        return None
    return found if math.isfinite(found) else None


def _settings(row: dict) -> dict:
    """Everything a row says of how it was run, unknown fields verbatim; auto, off, on in words."""
    settings = {name: value for name, value in row.items() if name not in _RESULTS | {"n_prompt", "n_gen", "n_depth"}}
    if isinstance(settings.get("flash_attn"), int):
        settings["flash_attn"] = _WORDS.get(settings["flash_attn"], settings["flash_attn"])
    if settings.get("n_gpu_layers") == -1:
        settings["n_gpu_layers_meaning"] = "auto: as many layers as fit"
    return settings | {"device": devices.device(row)}


def _reported(found: llama_bench_rows.Rows, remarks: list[dict]) -> dict:
    first = found.rows[0] if found.rows else {}
    build, commit = known_build(first.get("build_number")), known_commit(first.get("build_commit"))
    if first and (build is None or commit is None) and not any(r["code"] == "unknown-build" for r in remarks):
        unknown = " or ".join(name for name, found in (("number", build), ("commit", commit)) if found is None)
        sentence = f"the build does not know its {unknown} (built without git); the binary's hash identifies it"
        remarks.append(reason("unknown-build", sentence))
    if build and build < CHECKS_DECODE_FROM:
        sentence = f"build {build} may print a rate for work that failed (builds before about mid-May 2025)"
        remarks.append(reason("decode-errors-unchecked", sentence))
    for row in found.rows:
        if sentence := devices.several_gpus(row):
            remarks.append(reason("several-gpus", sentence))
        if "gpu_info" in row and devices.device(row) == "cpu" != devices.device({**row, "gpu_info": "any"}):
            saw = f"only {row['gpu_info']}, a driver in software" if row["gpu_info"] else "no GPU"
            sentence = f"a {'/'.join(devices.backends(row))} build that saw {saw}: it ran on the CPU"
            remarks.append(reason("gpu-not-seen", sentence))
    labels = Counter(devices.device(row) for row in found.rows)
    names = ("cpu_info", "gpu_info", "backends", "model_filename", "model_type", "model_size", "model_n_params")
    return {
        **{name: first.get(name) for name in names},
        "format": found.format,
        "build_number": build,
        "build_commit": commit,
        "gpus": devices.gpus(first),
        "backend_names": devices.backends(first) if first else [],
        "device": next(iter(labels)) if len(labels) == 1 else None,
    }


def _once(items: list[dict]) -> list[dict]:
    return list({(i["code"], i["message"]): i for i in items}.values())
