"""Numbers of arithmetic: operations per second and per byte that both halves reach, against the tensor peak."""

from __future__ import annotations

from tokentrail.numbers.registry import PUBLISHED, Definition, constant, fact, number

_ONE = (PUBLISHED,)
_PEAK = {"peak": constant("tensor_flops")}


def _flops(suffix: str, device: str) -> list[Definition]:
    def here(context) -> bool:
        words = context.words
        return context.device == device and words["role"].startswith("bench-") and "at" in words

    return [
        Definition(
            f"prefill-flops-{{label}}{suffix}", "Operations per second in prefill, {place}", "TFLOP/s",
            "deeper", "prefill rate times operations per parameter times parameters",
            "rate * flops_per_weight * parameters / 1e12",
            {"rate": number("prefill-rate-{at}"), "parameters": fact("/model/parameters", "parameters"),
             "flops_per_weight": constant("flops_per_weight")}, "prefill", group="compute", applies=here,
        ),
        Definition(
            f"prefill-flops-share-{{label}}{suffix}", "Prefill's share of the tensor peak, {place}",
            "fraction", "deeper", "operations per second in prefill divided by the tensor peak of the data sheet",
            "flops * 1e12 / peak", {"flops": number(f"prefill-flops-{{label}}{suffix}"), **_PEAK}, "prefill",
            group="compute", applies=lambda c: here(c) and device == "gpu",
            note="quantized weights are multiplied as 8-bit integers, whose peak is higher, so the share may exceed 1",
        ),
        Definition(
            f"prefill-intensity-{{label}}{suffix}", "Operations per byte of weights in prefill, {place}",
            "FLOP/byte", "deeper", "operations for all prompt tokens over the weights read once for all of them",
            "flops_per_weight * parameters * prompt / size",
            {"parameters": fact("/model/parameters", "parameters"), "prompt": fact("{test}/n_prompt", "tokens"),
             "size": fact("/model/streamed_bytes_per_token", "bytes"),
             "flops_per_weight": constant("flops_per_weight")}, "prefill", _ONE, group="compute", applies=here,
            note="taken as if the whole prompt went through the model in one pass",
        ),
        Definition(
            f"decode-flops-{{label}}{suffix}", "Operations per second in decode, {place}", "TFLOP/s",
            "deeper", "decode rate times operations per parameter times parameters",
            "rate * flops_per_weight * parameters / 1e12",
            {"rate": number("decode-rate-{at}"), "parameters": fact("/model/parameters", "parameters"),
             "flops_per_weight": constant("flops_per_weight")}, "decode", group="compute", applies=here,
        ),
        Definition(
            f"decode-intensity-{{label}}{suffix}", "Operations per byte of weights in decode, {place}",
            "FLOP/byte", "deeper", "operations for one token over the weights read for it",
            "flops_per_weight * parameters / size",
            {"parameters": fact("/model/parameters", "parameters"),
             "size": fact("/model/streamed_bytes_per_token", "bytes"),
             "flops_per_weight": constant("flops_per_weight")}, "decode", _ONE, group="compute", applies=here,
        ),
    ]  # fmt: skip


DEFINITIONS = [
    Definition(
        "spec-tensor-flops", "Tensor peak by the data sheet", "TFLOP/s", "deeper",
        "data sheet, dense FP16 with FP32 accumulate", "peak / 1e12", _PEAK, "run", _ONE, group="constants",
    ),
    Definition(
        "spec-intensity", "Operations per byte at which both limits meet", "FLOP/byte", "deeper",
        "tensor peak divided by memory bandwidth, both by the data sheet", "peak / specified",
        {**_PEAK, "specified": constant("memory_bandwidth")}, "run", _ONE, group="constants",
    ),
    Definition(
        "decode-flops-per-weight", "Operations per weight and token", "FLOP", "deeper",
        "a multiplication and an addition", "flops_per_weight", {"flops_per_weight": constant("flops_per_weight")},
        "run", _ONE, group="constants",
    ),
    *_flops("", "gpu"), *_flops("-cpu", "cpu"),
]  # fmt: skip
