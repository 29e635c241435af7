"""Numbers of memory: bandwidth that decode uses, against the data sheet and against a measured ceiling."""

from __future__ import annotations

from tokentrail.numbers.bench_scopes import FITTED
from tokentrail.numbers.registry import PUBLISHED, Context, Definition, constant, each, fact, number, plain, stat

_ONE = (PUBLISHED,)


def _gpu(context: Context) -> bool:
    return context.device == "gpu"


def _untied(context: Context) -> bool:
    return (context.record.document["model"] or {}).get("tied_embedding") is False


def _plain_test(context: Context) -> bool:
    """The tests that the straight line goes through: no flag is varied in them."""
    return context.words["role"] in FITTED


def _decode(identifier: str, label: str, unit: str, words: str, code: str, inputs: dict, **more) -> Definition:
    label += ", {place}"
    return Definition(identifier, label, unit, "{step}", words, code, inputs, "decode", group="memory", **more)


_BANDWIDTH = {"bandwidth": number("decode-bandwidth-{at}")}
_COMPLETE = {"bandwidth": number("decode-bandwidth-{at}-complete")}
_SPECIFIED = {"specified": constant("memory_bandwidth")}
_CEILING = {"ceiling": number("{ceiling}")}

DEFINITIONS = [
    Definition(
        "{ceiling}", "Read bandwidth a plain kernel reaches", "GB/s", "ceiling",
        "bytes read divided by time, over all runs of a kernel that only reads", "read",
        {"read": stat("/ceiling_views", "GB/s")}, "ceiling", group="memory", headline=True,
    ),
    Definition(
        "{ceiling}-share", "Read ceiling over the data sheet's bandwidth", "fraction", "ceiling",
        "measured read ceiling divided by the data sheet's bandwidth", "ceiling * 1e9 / specified",
        {**_CEILING, **_SPECIFIED}, "ceiling", group="memory", applies=_gpu,
    ),
    _decode("decode-bandwidth-{at}", "Weights streamed per second", "GB/s",
            "decode rate times weights streamed per token", "rate * size / 1e9",
            {"rate": number("decode-rate-{at}"), "size": fact("/model/streamed_bytes_per_token", "bytes")},
            headline=True),
    _decode("decode-bandwidth-{at}-file-bytes", "Weights streamed per second, counted from the file", "GB/s",
            "decode rate times file bytes less the token embedding", "rate * size",
            {"rate": number("decode-rate-{at}"), "size": number("bytes-per-token-{label}-file-bytes")},
            applies=_untied,
            note="another convention than ours: it counts the file's metadata as if each token read it"),
    _decode("step-bytes-{at}", "Bytes read per decoded token", "bytes",
            "weights, and keys and values at the mean depth (start depth and half the answer)",
            "weights + kv_per_position * (depth + answer / 2)",
            {"weights": fact("/model/streamed_bytes_per_token", "bytes"),
             "kv_per_position": fact("/model/kv_bytes_per_position", "bytes"),
             "depth": fact("{test}/n_depth", "tokens"), "answer": fact("{test}/n_gen", "tokens")}, views=_ONE),
    _decode("decode-step-time-{at}", "Time of one decode step", "ms", "1000 over the decode rate", "1000 / rate",
            {"rate": number("decode-rate-{at}")}, applies=_plain_test),
    _decode("decode-bandwidth-{at}-complete", "Memory read per second, keys and values included", "GB/s",
            "decode rate times all bytes read per token", "rate * size / 1e9",
            {"rate": number("decode-rate-{at}"), "size": number("step-bytes-{at}")}),
    _decode("decode-bandwidth-share-{at}", "Share of the data sheet's bandwidth", "fraction",
            "weights streamed per second divided by the data sheet's bandwidth", "bandwidth * 1e9 / specified",
            {**_BANDWIDTH, **_SPECIFIED}, applies=_gpu, headline=True),
    _decode("decode-bandwidth-share-{at}-file-bytes", "Share of the data sheet's bandwidth, counted from the file",
            "fraction", "the same with file bytes less the token embedding", "bandwidth * 1e9 / specified",
            {"bandwidth": number("decode-bandwidth-{at}-file-bytes"), **_SPECIFIED},
            applies=lambda c: _gpu(c) and _untied(c)),
    _decode("decode-bandwidth-share-{at}-complete", "Share of the data sheet's bandwidth, keys and values included",
            "fraction", "memory read per second divided by the data sheet's bandwidth",
            "bandwidth * 1e9 / specified", {**_COMPLETE, **_SPECIFIED}, applies=_gpu),
    _decode("decode-bandwidth-share-{at}-of-ceiling", "Share of the measured read ceiling", "fraction",
            "memory read per second divided by what a plain read kernel reached", "bandwidth / ceiling",
            {**_COMPLETE, **_CEILING}),
    _decode("decode-rate-limit-{at}", "Decode rate if memory alone set it", "tokens/s",
            "data sheet's bandwidth divided by bytes read per token", "specified / size",
            {**_SPECIFIED, "size": number("step-bytes-{at}")}, applies=_gpu, views=_ONE),
    Definition(
        "step-fixed-cost-{device}", "Fixed time of a decode step, {place}", "ms", "deeper",
        "time at zero bytes of the straight line through time per token over bytes per token, {n} decode tests",
        "1000 * intercept(bytes_per_token, inverse(tokens_per_s))",
        {name: each(name) for name in ("bytes_per_token", "tokens_per_s")}, "fit", group="fit",
    ),
    Definition(
        "effective-bandwidth-{device}", "Bandwidth of the bytes beyond the fixed time, {place}", "GB/s", "deeper",
        "reciprocal slope of the straight line through time per token over bytes per token, {n} decode tests",
        "1 / slope(bytes_per_token, inverse(tokens_per_s)) / 1e9",
        {name: each(name) for name in ("bytes_per_token", "tokens_per_s")}, "fit", group="fit",
    ),
    _decode("decode-rate-predicted-{at}", "Decode rate the straight line predicts", "tokens/s",
            "reciprocal of fixed time and bytes per token over effective bandwidth",
            "1 / (fixed / 1000 + size / (bandwidth * 1e9))",
            {"fixed": number("step-fixed-cost-{device}"), "size": number("step-bytes-{at}"),
             "bandwidth": number("effective-bandwidth-{device}")}),
    Definition(
        "gpu-memory-used", "GPU memory in use with the server loaded", "MiB", "1",
        "device memory in use as the driver counts it", "used", {"used": plain("/gpu_memory/used_mib", "MiB")},
        "server", _ONE, group="memory",
    ),
    Definition(
        "gpu-memory-total", "GPU memory", "MiB", "1", "device memory as the driver counts it", "total",
        {"total": fact("/gpu_memory/total_mib", "MiB")}, "server", _ONE, group="memory",
    ),
    Definition(
        "spec-bandwidth", "Memory bandwidth by the data sheet", "GB/s", "7", "data sheet, in GB/s",
        "specified / 1e9", _SPECIFIED, "run", _ONE, group="constants",
    ),
]  # fmt: skip
