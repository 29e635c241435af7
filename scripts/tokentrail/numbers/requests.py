"""Numbers of single requests: the wait, the answer, and each half's cost per token.

`decode-per-token` is the lesson's: the server's decode time over all answer tokens. That time runs from the
first token to the last, so it holds one step fewer; `tpot` and `server-tpot` divide by n − 1.
"""

from __future__ import annotations

from tokentrail.numbers.registry import PUBLISHED, Definition, constant, fact, number, stat


def _made(step: str, scope_filter) -> list[Definition]:
    def one(identifier, label, unit, words, code, inputs, **more):
        return Definition(f"{identifier}-{{called}}", f"{label}, {{called}} request", unit, step, words, code, inputs,
                          "request", group="requests", applies=scope_filter, **more)  # fmt: skip

    def view(quantity):
        return stat(f"{{views}}/{quantity}", "ms")

    prompt = {"prompt": fact("{first}/prompt_n", "tokens")}
    answer = {"answer": fact("{first}/predicted_n", "tokens")}
    return [
        one("ttft", "Time to first token", "s", "from the last byte sent to the first token of the answer, client",
            "wait / 1000", {"wait": view("ttft_ms")}, headline=True),
        one("rest", "Time of the rest of the answer", "s", "from the first token to the end, client", "rest / 1000",
            {"rest": view("rest_ms")}),
        one("prompt-tokens", "Prompt", "tokens", "tokens of the prompt, template included, as the server counts",
            "prompt", prompt, views=(PUBLISHED,)),
        one("answer-tokens", "Answer", "tokens", "tokens of the answer, as the server counts", "answer", answer,
            views=(PUBLISHED,)),
        one("prefill-time", "Time the server read the prompt", "s", "the server's own time for the prompt",
            "time / 1000", {"time": view("prompt_ms")}),
        one("prefill-rate", "Prefill rate", "tokens/s", "prompt tokens divided by the server's time for them",
            "prompt / time", {**prompt, "time": number("prefill-time-{called}")}),
        one("prefill-per-token", "Time per prompt token", "ms", "the server's time for the prompt over its tokens",
            "1000 * time / prompt", {"time": number("prefill-time-{called}"), **prompt}),
        one("decode-time", "Time the server wrote the answer", "s", "the server's own time for the answer",
            "time / 1000", {"time": view("predicted_ms")}),
        one("decode-rate", "Decode rate", "tokens/s", "answer tokens divided by the server's time for them",
            "answer / time", {**answer, "time": number("decode-time-{called}")}),
        one("decode-per-token", "Time per answer token", "ms", "the server's time for the answer over its tokens",
            "1000 * time / answer", {"time": number("decode-time-{called}"), **answer}),
        one("per-token-ratio", "Answer token over prompt token", "ratio",
            "time per answer token divided by time per prompt token", "decode / prefill",
            {"decode": number("decode-per-token-{called}"), "prefill": number("prefill-per-token-{called}")}),
        one("prefill-share-of-wait", "Prefill's share of the wait", "fraction",
            "the server's time for the prompt divided by time to first token, request by request", "share",
            {"share": stat("{views}/prefill_share", "fraction")}),
        one("server-tpot", "Time per step, server", "ms", "the server's time for the answer over its tokens less one",
            "1000 * time / (answer - 1)", {"time": number("decode-time-{called}"), **answer}),
        one("tpot", "Time per step, client", "ms", "from the first token to the last over the tokens less one",
            "step", {"step": view("tpot_ms")}),
        *(one(f"itl-p{p}", f"Gap between tokens, {name}", "ms",
              f"{name} of the times between the arrivals of two tokens that follow each other, in one request, client",
              "gap", {"gap": view(f"itl_p{p}_ms")})
          for p, name in ((50, "median"), (95, "95th percentile"), (99, "99th percentile"))),
        one("ttft-gap", "Wait outside the server's prefill", "ms",
            "time to first token less the server's time for the prompt, request by request: queue, template, "
            "tokenizing, first step, HTTP", "gap", {"gap": view("ttft_gap_ms")}),
        one("tpot-gap", "Client's time per step over the server's", "ms",
            "time per step, client less server, request by request", "gap", {"gap": view("tpot_gap_ms")}),
        one("request-bandwidth", "Memory read per second while answering", "GB/s",
            "weights, and keys and values at the mean depth, over the server's time per step",
            "(weights + kv_per_position * (prompt + answer / 2)) / (step / 1000) / 1e9",
            {"weights": fact("/model/streamed_bytes_per_token", "bytes"),
             "kv_per_position": fact("/model/kv_bytes_per_position", "bytes"), **prompt, **answer,
             "step": number("server-tpot-{called}")}),
        Definition(
            "request-bandwidth-share-{called}", "Share of the data sheet's bandwidth, {called} request", "fraction",
            step, "memory read per second divided by the data sheet's bandwidth", "bandwidth * 1e9 / specified",
            {"bandwidth": number("request-bandwidth-{called}"), "specified": constant("memory_bandwidth")}, "request",
            group="requests", applies=lambda c: c.device == "gpu" and scope_filter(c),
        ),
        one("request-bandwidth-of-ceiling", "Share of the measured read ceiling", "fraction",
            "memory read per second divided by what a plain read kernel reached", "bandwidth / ceiling",
            {"bandwidth": number("request-bandwidth-{called}"), "ceiling": number("{ceiling}")}),
    ]  # fmt: skip


DEFINITIONS = [
    *_made("2", lambda c: c.words["role"] == "request-short"),
    *_made("3", lambda c: c.words["role"] == "request-long"),
    *_made("check-3", lambda c: c.words["role"] == "request-long-warm"),
    Definition(
        "prompt-length-ratio", "Long prompt over short prompt", "ratio", "3",
        "prompt tokens of the long request divided by those of the short one", "long / short",
        {"long": number("prompt-tokens-long"), "short": number("prompt-tokens-short")}, group="requests",
    ),
    Definition(
        "ttft-growth", "Wait of the long request over the short one", "ratio", "3",
        "time to first token, long request over short one", "long / short",
        {"long": number("ttft-long"), "short": number("ttft-short")}, group="requests", headline=True,
    ),
]  # fmt: skip
