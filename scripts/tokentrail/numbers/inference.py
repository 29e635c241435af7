"""What a printed mean ± spread hides: inferences, each with its assumption, never shown as measured."""

from __future__ import annotations

from tokentrail.numbers.registry import Context, Definition, fact, number, plain, pointer

_VIEW = ("inference",)
_ASSUMED = "inferred, not measured: if one repetition was cold and the others alike, mean and spread give both"


def _printed_only(context: Context) -> bool:
    test = pointer(context.record.document, context.words["test"])
    published = test["as_published"]
    if test["samples"] is not None or not published or not published["stdev"] or published["n"] < 2:
        return False
    # without this much spread, the cold sample it would mean is no slower than chance
    return (
        published["stdev"] / published["mean"] > 0.1
        and published["mean"] > published["stdev"] * (published["n"] - 1) / published["n"] ** 0.5
    )


_MOMENTS = {"mean": plain("{test}/as_published/mean", "tokens/s"),
            "stdev": plain("{test}/as_published/stdev", "tokens/s"),
            "n": fact("{test}/as_published/n", "repetitions")}  # fmt: skip

DEFINITIONS = [
    Definition(
        "prefill-rate-{at}-inferred-warm", "Warm prefill rate implied by mean and spread, {label} on {device}",
        "tokens/s", "4", "with one cold sample among n: mean plus spread over the root of n",
        "mean + stdev / sqrt(n)", _MOMENTS, "prefill", _VIEW, "inference", applies=_printed_only, note=_ASSUMED,
    ),
    Definition(
        "prefill-rate-{at}-inferred-cold", "Cold first sample implied by mean and spread, {label} on {device}",
        "tokens/s", "4", "with one cold sample among n: mean less (n - 1) spreads over the root of n",
        "mean - (n - 1) * stdev / sqrt(n)", _MOMENTS, "prefill", _VIEW, "inference", applies=_printed_only,
        note=_ASSUMED,
    ),
    Definition(
        "prefill-decode-ratio-{at}-inferred", "Warm prefill over decode implied by the spread, {label} on {device}",
        "ratio", "4", "implied warm prefill rate divided by decode rate", "prefill / decode",
        {"prefill": number("prefill-rate-{at}-inferred-warm"), "decode": number("decode-rate-{at}")}, "prefill", _VIEW,
        "inference", applies=_printed_only, note=_ASSUMED,
    ),
    Definition(
        "batched-first-row-prefill{suffix}", "Prefill time of the first row over that of the second", "ratio", "6",
        "time to read the prompt alone, first row, over the time to read those of the next batch size: above 1, "
        "fewer tokens took longer, so the first row was cold", "first / second",
        {"first": plain("{first}/t_pp_s", "s"), "second": plain("{second}/t_pp_s", "s")}, "first-row", _VIEW,
        "inference",
    ),
    Definition(
        "batching-gain-{pl}{suffix}-over-bench", "Gain of {pl} at once over llama-bench's decode rate, {whose}",
        "ratio", "6",
        "rate of all together divided by llama-bench's decode rate of the same model, warmed up by its own pass",
        "together / alone", {"together": number("batched-rate-{pl}{suffix}"), "alone": number("decode-rate-{at}")},
        "batch-over-bench", group="inference", applies=lambda c: c.words["pl"] > 1,
        note="batched-bench's first row, the usual denominator, comes right after loading and is cold",
    ),
]  # fmt: skip
