"""Requests as a timing program printed them, rounded: each quantity narrowed by every print that holds it.

A prompt time printed as 0.067 s lies in 0.0665 … 0.0675; the rate printed beside it as 37,023 tokens/s for
2,491 tokens narrows it to 67.282 … 67.284 ms. All prints must agree, else the record is invalid.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from tokentrail import config, statistics
from tokentrail.problems import Problem
from tokentrail.records import paired, views
from tokentrail.statistics import Interval

# name in the record, and in the print
_TIMES = {"ttft_ms": "client_ttft_s", "rest_ms": "client_rest_s"}
_HALVES = {"prompt": "prompt_ms", "predicted": "predicted_ms"}


class _Loader(config.EachKeyOnce, yaml.BaseLoader):
    """Every value as the text that is printed."""


def load(text: str) -> list[dict[str, str]]:
    """The requests of a requests.yaml with every value as printed (0.070 is not 0.07)."""
    try:
        found = yaml.load(text, Loader=_Loader)
        requests = found["requests"]
    except (yaml.YAMLError, TypeError, KeyError) as error:
        why = " ".join(str(error).split())
        raise Problem(f"requests file: it needs a list `requests` of printed values ({why})") from None
    if not isinstance(requests, list) or not requests:
        raise Problem("requests file: its list `requests` is empty; give each request's printed values")
    for request in requests:
        if not isinstance(request, dict) or not isinstance(request.get("case"), str):
            raise Problem("requests file: every request needs a `case` (its name) and printed values")
        if odd := next((key for key, value in request.items() if not isinstance(value, str)), None):
            raise Problem(f"request {request['case']}: {odd} is {request[odd]!r}, which is not a printed value")
    names = [request["case"] for request in requests]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise Problem(f"requests file: request {twice!r} stands twice; give each a name of its own")
    return requests


def read(text: str, names: Sequence[str]) -> dict[str, Any]:
    """{"requests", "request_views", "reasons", "remarks"} of the named requests."""
    chosen = [r for r in load(text) if r["case"] in names]
    requests, request_views, reasons = [], {}, []
    for index, printed in enumerate(chosen):
        request, quantities = _request(printed, index)
        reasons += request["reasons"]
        requests.append(request)
        request_views[request["name"]] = quantities
    remarks = [{"code": "transcribed", "message": "values as printed, one request each: no spread is known"}]
    return {"requests": requests, "request_views": request_views, "reasons": reasons, "remarks": remarks}


def _request(printed: Mapping[str, str], index: int) -> tuple[dict[str, Any], dict[str, Any]]:
    name = printed["case"]
    reasons: list[dict[str, str]] = []
    quantities = {}
    for key, source in _TIMES.items():
        if source in printed:
            low, value, high = (1000 * v for v in _numbers(name, source, printed[source]))
            quantities[key] = views.single(value, _interval(low, high))
    counts = {half: _count(name, printed, f"{half}_n") for half in _HALVES}
    for half, key in _HALVES.items():
        limits = _limits(name, printed, half, counts[half])
        if not limits:
            continue
        low, high = max(lo for lo, _ in limits.values()), min(hi for _, hi in limits.values())
        if low > high:
            text = f"{name}: the prints {', '.join(limits)} contradict each other; compare them with the source"
            reasons.append({"code": "prints-contradict", "message": text})
            low, high = next(iter(limits.values()))
        quantities[key] = views.single((low + high) / 2, _interval(low, high))
    values = {key: view["mean"] for key, view in quantities.items()}
    for quantity, (first, second) in paired.PAIRS.items():
        if first in quantities and second in quantities:
            ends = [Interval.from_dict(quantities[key]["interval"]) for key in (first, second)]
            quantities[quantity] = views.single(
                paired.value(values, quantity), _interval(*paired.limits(*ends, quantity))
            )
    request = {
        "name": name, "process": 0, "index": index, "cold": index == 0, "prompt_n": counts["prompt"], "cache_n": None,
        "predicted_n": counts["predicted"], "tpot_ms": None, "decode_tokens_per_s": None, "finish_reason": None,
        **{key: values.get(key) for key in ("ttft_ms", "rest_ms", "prompt_ms", "predicted_ms")},
        "total_ms": None, "server_decode_tokens_per_s": _rate(counts["predicted"], values.get("predicted_ms")),
        "valid": not reasons, "reasons": reasons, "as_printed": dict(printed),
    }  # fmt: skip
    if "max_tokens" in printed:
        request["max_tokens"] = _count(name, printed, "max_tokens")
    published = {key: {"as_published": view, "steady": None, "cold": None} for key, view in quantities.items()}
    return request, published


def _limits(name: str, printed: Mapping[str, str], half: str, count: int | None) -> dict[str, tuple[float, float]]:
    """Every print that bounds the half's time, as (low, high) in ms."""
    found = {}
    if (key := f"{half}_s") in printed:
        low, _, high = _numbers(name, key, printed[key])
        found[key] = (1000 * low, 1000 * high)
    if (key := f"{half}_tokens_per_s") in printed and count:
        low, _, high = _numbers(name, key, printed[key])
        found[key] = (1000 * count / high, 1000 * count / low)
    if (key := f"{half}_ms_per_token") in printed and count:
        low, _, high = _numbers(name, key, printed[key])
        found[key] = (count * low, count * high)
    return found


def _interval(low: float, high: float) -> dict[str, Any]:
    return {"low": low, "high": high, "level": None, "method": statistics.rounding.ROUNDING}


def _numbers(name: str, key: str, text: str) -> tuple[float, float, float]:
    try:
        low, value, high = statistics.printed(text)
    except ValueError:
        raise Problem(f"request {name}: {key} is {text!r}, which is not a printed number") from None
    if value < 0 or (value == 0 and "tokens_per_s" in key):
        raise Problem(f"request {name}: {key} is {text!r}, which no time and no rate can be")
    return max(low, 0.0), value, high


def _count(name: str, printed: Mapping[str, str], key: str) -> int | None:
    if key not in printed:
        return None
    if not printed[key].isdigit():
        raise Problem(f"request {name}: {key} is {printed[key]!r}, which is not a whole number")
    return int(printed[key])


def _rate(tokens: int | None, ms: float | None) -> float | None:
    return (tokens - 1) / ms * 1000 if tokens and tokens > 1 and ms else None


def server(text: str) -> dict[str, Any]:
    """What the file says of the server: model, context …, as printed."""
    found = yaml.load(text, Loader=_Loader)
    stated = found.get("server") or {}
    if not isinstance(stated, dict):
        raise Problem("requests file: `server` is a mapping of what is known of the server")
    return stated
