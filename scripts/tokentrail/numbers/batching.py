"""Numbers of llama-batched-bench: what many users at once gain together and lose each."""

from __future__ import annotations

from tokentrail.numbers.registry import Definition, constant, fact, number, stat

_PL = {"users": fact("{batch}/pl", "sequences")}
_MANY = {"applies": lambda c: c.words["pl"] > 1, "group": "batching"}

DEFINITIONS = [
    Definition(
        "batched-rate-{pl}{suffix}", "Decode rate of {pl} at once, together, {whose}", "tokens/s", "6",
        "tokens of all {pl} sequences per second while they decode", "rate",
        {"rate": stat("{batch}/decode", "tokens/s")}, "batch", group="batching", headline=True,
    ),
    Definition(
        "batched-prefill-rate-{pl}{suffix}", "Prefill rate of {pl} at once, together, {whose}", "tokens/s", "6",
        "prompt tokens of all {pl} sequences per second while they are read", "rate",
        {"rate": stat("{batch}/prefill", "tokens/s")}, "batch", group="batching",
    ),
    Definition(
        "rate-per-user-{pl}{suffix}", "Decode rate of each of {pl}, {whose}", "tokens/s", "6",
        "rate of all together divided by their number", "together / users",
        {"together": number("batched-rate-{pl}{suffix}"), **_PL}, "batch", group="batching", headline=True,
    ),
    Definition(
        "batching-gain-{pl}{suffix}", "Gain of {pl} at once over one alone, {whose}",
        "ratio", "6",
        "rate of all together divided by the rate of one alone", "together / alone",
        {"together": number("batched-rate-{pl}{suffix}"), "alone": number("batched-rate-1{suffix}")}, "batch", **_MANY,
    ),
    Definition(
        "slowdown-per-user-{pl}{suffix}", "Slowdown of each of {pl} against one alone, {whose}", "ratio", "6",
        "rate of one alone divided by the rate of each", "alone / each",
        {"alone": number("batched-rate-1{suffix}"), "each": number("rate-per-user-{pl}{suffix}")}, "batch", **_MANY,
    ),
    Definition(
        "batch-bytes-per-step-{pl}{suffix}", "Bytes read per decode step of {pl} at once, {whose}", "GB", "6",
        "weights streamed once, and each sequence's keys and values at the mean depth (prompt and half the answer)",
        "(weights + users * kv_per_position * (prompt + answer / 2)) / 1e9",
        {"weights": fact("/model/streamed_bytes_per_token", "bytes"), **_PL,
         "kv_per_position": fact("/model/kv_bytes_per_position", "bytes"),
         "prompt": fact("{batch}/pp", "tokens"), "answer": fact("{batch}/tg", "tokens")}, "batch", group="batching",
    ),
    Definition(
        "batch-bandwidth-{pl}{suffix}", "Memory read rate of {pl} at once, {whose}", "GB/s", "6",
        "bytes read per step times steps per second", "bytes_per_step * together / users",
        {"bytes_per_step": number("batch-bytes-per-step-{pl}{suffix}"),
         "together": number("batched-rate-{pl}{suffix}"), **_PL}, "batch", group="batching",
    ),
    Definition(
        "batch-bandwidth-share-{pl}{suffix}", "Share of the data sheet's bandwidth, {pl} at once, {whose}",
        "fraction", "6",
        "memory read rate divided by the data sheet's bandwidth", "bandwidth * 1e9 / specified",
        {"bandwidth": number("batch-bandwidth-{pl}{suffix}"), "specified": constant("memory_bandwidth")}, "batch",
        group="batching", applies=lambda c: c.device == "gpu",
    ),
    Definition(
        "batch-bandwidth-of-ceiling-{pl}{suffix}", "Share of the measured read ceiling, {pl} at once, {whose}",
        "fraction", "6",
        "memory read rate divided by what a plain read kernel reached", "bandwidth / ceiling",
        {"bandwidth": number("batch-bandwidth-{pl}{suffix}"), "ceiling": number("{ceiling}")}, "batch",
        group="batching",
    ),
    Definition(
        "step-time-{pl}{suffix}", "Time of one decode step of {pl} at once, {whose}", "ms", "6",
        "1000 times the number of sequences divided by their rate together", "1000 * users / together",
        {"together": number("batched-rate-{pl}{suffix}"), **_PL}, "batch", group="batching",
    ),
]  # fmt: skip
