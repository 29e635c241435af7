"""Numbers that bring llama-bench, batched-bench, the server and its client to one depth and one definition.

Each is a time per decode step in ms, moved to the mean depth of the short request: bytes of keys and values
that one tool's steps read more than the other's, over the bandwidth that llama-bench's own decode reached.
"""

from __future__ import annotations

from tokentrail.numbers.registry import Definition, each, number

_G = "reconcile"
_MOVE = " + kv_per_position * (depth - own_depth) / (bandwidth * 1e9) * 1000"


def _moved(identifier: str, label: str, time: dict, code: str, own: dict, words: str) -> Definition:
    inputs = {**time, **own, "depth": number("reconcile-depth"),
              "kv_per_position": each("kv"),
              "bandwidth": number("decode-bandwidth-{at}-complete")}  # fmt: skip
    words = f"{words}, moved to the depth of the short request"
    return Definition(identifier, label, "ms", "deeper", words, code + _MOVE, inputs, "reconcile", group=_G)


def _gap(identifier: str, label: str, words: str, later: str, earlier: str) -> Definition:
    return Definition(identifier, label, "ms", "deeper", words, "later - earlier",
                      {"later": number(later), "earlier": number(earlier)}, "reconcile", group=_G)  # fmt: skip


DEFINITIONS = [
    Definition(
        "reconcile-depth", "Mean depth of the short request", "tokens", "deeper",
        "prompt tokens and half the answer's", "prompt + answer / 2",
        {"prompt": number("prompt-tokens-short"), "answer": number("answer-tokens-short")}, "reconcile", group=_G,
    ),
    Definition(
        "bench-mean-depth", "Mean depth of llama-bench's decode", "tokens", "deeper",
        "start depth and half the tokens", "depth + answer / 2",
        {"depth": each("bench_depth"), "answer": each("bench_answer")}, "reconcile", group=_G,
    ),
    _moved("reconcile-bench", "Time per step, llama-bench", {"rate": number("decode-rate-{at}")}, "1000 / rate",
           {"own_depth": number("bench-mean-depth")}, "1000 over llama-bench's decode rate"),
    Definition(
        "batched-mean-depth", "Mean depth of batched-bench's single sequence", "tokens", "deeper",
        "prompt tokens and half the answer's", "prompt + answer / 2",
        {"prompt": each("batched_prompt"), "answer": each("batched_answer")}, "reconcile", group=_G,
    ),
    _moved("reconcile-batched", "Time per step, batched-bench alone", {"rate": number("batched-rate-1")}, "1000 / rate",
           {"own_depth": number("batched-mean-depth")}, "1000 over batched-bench's decode rate of one sequence"),
    Definition(
        "reconcile-server", "Time per step, the server's own timing", "ms", "deeper",
        "the server's time for the answer over its tokens less one", "step", {"step": number("server-tpot-short")},
        "reconcile", group=_G,
    ),
    Definition(
        "reconcile-client", "Time per step, the client's clock", "ms", "deeper",
        "from the first token to the last over the tokens less one", "step", {"step": number("tpot-short")},
        "reconcile", group=_G,
    ),
    _gap("reconcile-gap-batched", "Batched-bench over llama-bench",
         "as published, the cold first row; else nothing but another process",
         "reconcile-batched", "reconcile-bench"),
    _gap("reconcile-gap-server", "The server over llama-bench",
         "sampling, detokenizing and sending each token, which llama-bench leaves out", "reconcile-server",
         "reconcile-bench"),
    # both times are of the same requests, so their gap is taken request by request: it carries only its own spread
    Definition(
        "reconcile-gap-client", "The client over the server", "ms", "deeper",
        "HTTP, the loopback device, reading; request by request", "gap", {"gap": number("tpot-gap-short")},
        "reconcile", group=_G,
    ),
]  # fmt: skip
