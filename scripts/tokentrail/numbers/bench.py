"""Numbers of llama-bench: the rates of both halves, their spread, their ratios, GPU against CPU."""

from __future__ import annotations

from tokentrail.numbers.registry import PUBLISHED, Context, Definition, fact, number, plain, pointer, stat


def _several_processes(context: Context) -> bool:
    steady = pointer(context.record.document, context.words["test"])["steady"]
    return bool(steady) and steady.get("between_process_spread") is not None


DEFINITIONS = [
    Definition(
        "prefill-rate-{at}", "Prefill rate, {place}", "tokens/s", "{step}",
        "prompt tokens per second of llama-bench's {n_prompt}-token prefill test at depth {n_depth}", "rate",
        {"rate": stat("{test}", "tokens/s")}, "prefill", group="bench", headline=True,
    ),
    Definition(
        "decode-rate-{at}", "Decode rate, {place}", "tokens/s", "{step}",
        "tokens per second of llama-bench's {n_gen}-token decode test at depth {n_depth}", "rate",
        {"rate": stat("{test}", "tokens/s")}, "decode", group="bench", headline=True,
    ),
    Definition(
        "mixed-rate-{at}", "Prompt and answer together, {place}", "tokens/s", "{step}",
        "all tokens per second of llama-bench's test of {n_prompt} prompt tokens and {n_gen} answer tokens after them",
        "rate", {"rate": stat("{test}", "tokens/s")}, "mixed", group="bench",
    ),
    *(
        Definition(
            f"{kind}-spread-{{at}}", f"Spread of {kind}, {{place}}", "fraction", "{step}",
            "sample standard deviation of the repetitions divided by their mean", "stdev / mean",
            {"stdev": plain("{test}/as_published/stdev", "tokens/s"),
             "mean": plain("{test}/as_published/mean", "tokens/s")}, kind, (PUBLISHED,), group="bench",
        )
        for kind in ("prefill", "decode")
    ),
    *(
        Definition(
            f"{kind}-between-processes-{{at}}", f"Spread of {kind} between processes, {{place}}",
            "fraction", "{step}", "largest less smallest process median, divided by the median of them", "spread",
            {"spread": plain("{test}/steady/between_process_spread", "fraction")}, kind, ("other",), group="bench",
            applies=_several_processes,
        )
        for kind in ("prefill", "decode")
    ),
    Definition(
        "prefill-decode-ratio-{at}", "Prefill over decode, {place}", "ratio", "{step}",
        "prefill rate divided by decode rate", "prefill / decode",
        {"prefill": number("prefill-rate-{at}"), "decode": number("decode-rate-{at}")}, "halves",
        group="bench", headline=True,
    ),
    Definition(
        "prefill-time-{n_prompt}", "Time to read a prompt of {n_prompt} tokens", "s", "4",
        "prompt tokens divided by the prefill rate of the small model", "n_prompt / rate",
        {"n_prompt": fact("{test}/n_prompt", "tokens"), "rate": number("prefill-rate-{at}")}, "prefill",
        group="bench", applies=lambda c: c.words["role"] == "bench-small",
    ),
    Definition(
        "prefill-gpu-over-cpu", "Prefill, GPU over CPU", "ratio", "5",
        "prefill rate with the GPU divided by that without", "gpu / cpu",
        {"gpu": number("prefill-rate-{gpu_at}"), "cpu": number("prefill-rate-{cpu_at}")}, "both-devices",
        group="gpu-cpu", headline=True,
    ),
    Definition(
        "decode-gpu-over-cpu", "Decode, GPU over CPU", "ratio", "5",
        "decode rate with the GPU divided by that without", "gpu / cpu",
        {"gpu": number("decode-rate-{gpu_at}"), "cpu": number("decode-rate-{cpu_at}")}, "both-devices",
        group="gpu-cpu", headline=True,
    ),
    Definition(
        "decode-slowdown-bigger-model", "Decode rate, small model over bigger one", "ratio", "7",
        "decode rate of the small model divided by that of the bigger one", "small / big",
        {"small": number("decode-rate-{small_at}"), "big": number("decode-rate-{big_at}")}, "two-models",
        group="bench",
    ),
    Definition(
        "hurt-ratio", "How much more prefill loses without a GPU than decode", "ratio", "5",
        "prefill's GPU over CPU divided by decode's", "prefill / decode",
        {"prefill": number("prefill-gpu-over-cpu"), "decode": number("decode-gpu-over-cpu")}, "both-devices",
        group="gpu-cpu",
    ),
]  # fmt: skip
