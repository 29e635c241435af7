"""One streamed answer of llama-server -> its times, its tokens, and whether they may be trusted.

Tokens are counted by the server (`timings`, else `usage`), never by chunks: bytes of an unfinished character are
held back, and speculative steps send several tokens at once. Rates are (n − 1) over the time from the first to the
last token; the tool's own rate was n over it before build #26920 and is kept only as reported.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable

from tokentrail.tools import http_body, lenient_json, server_answers, stream_events
from tokentrail.tools.failures import reason

# Client and server agree within a few hundredths of a percent on a quiet machine.
AGREEMENT = 0.01
# Now and then a busy client finds two tokens at once; a server or proxy that holds them does so all the time.
TOGETHER = 0.05
_EMPTY_THOUGHT = re.compile(r"^\s*<think>\s*</think>")


def parse(
    chunks: Iterable[tuple[int, bytes]],
    sent_ns: int,
    max_tokens: int | None = None,
    *,
    name: str = "request",
    process: int = 0,
    index: int = 0,
    cold: bool | None = None,
    prompt: str | None = None,
    thinking: str = "auto",
) -> dict:
    """A request of a record (schema `record`, requests) from the raw bytes of its HTTP answer.

    chunks: (arrival ns, bytes) as each recv returned them; sent_ns: same clock, when the last byte of the request was
    sent. cold: None takes the first request of a process as cold. thinking: "off" makes any thinking a reason.
    TTFT ends with the arrival of the piece that completes the first event with text, reasoning or a tool call.
    """
    answer = http_body.read(chunks)
    seen = stream_events.Seen()
    streamed = answer.content_type in ("text/event-stream", "") and "content-encoding" not in answer.headers
    if answer.status == 200 and streamed:
        stream_events.collect(answer.body, seen)
        reasons = _stream_reasons(seen, answer.fault, answer.whole_body)
        if any(later < earlier for (earlier, _), (later, _) in itertools.pairwise(answer.body)):
            reasons.append(reason("clock", "a piece arrived before the one sent earlier: the clock ran backwards"))
    else:
        reasons = [_no_stream(answer)]
    request = _request(seen, sent_ns, max_tokens, thinking, reasons)
    request |= {
        "http_status": answer.status,
        "headers_ms": _ms(answer.headers_ns, sent_ns),
        "first_byte_ms": _ms(answer.first_byte_ns, sent_ns),
    }
    return _named(request, name, process, index, cold, prompt, max_tokens)


def parse_sse(
    data: str | bytes,
    max_tokens: int | None = None,
    *,
    name: str = "request",
    process: int = 0,
    index: int = 0,
    cold: bool | None = None,
    prompt: str | None = None,
    thinking: str = "auto",
) -> dict:
    """The same from the bare text of a stream, without HTTP and times: only the server's own timings remain."""
    data = data.encode("utf-8", errors="surrogateescape") if isinstance(data, str) else data
    seen = stream_events.Seen()
    stream_events.collect([(None, data)], seen)
    request = _request(seen, None, max_tokens, thinking, _stream_reasons(seen, None, data))
    request |= {"http_status": None, "headers_ms": None, "first_byte_ms": None}
    return _named(request, name, process, index, cold, prompt, max_tokens)


def _no_stream(answer: http_body.Answer) -> dict:
    coding = answer.headers.get("content-encoding", "identity")
    if coding != "identity":
        return reason("compressed", f"the answer is compressed ({coding}), which holds tokens back; ask for none")
    if answer.status is None:
        return reason("no-answer", f"no HTTP answer came ({answer.fault or 'the connection was closed'})")
    body = answer.whole_body
    if answer.status == 200:
        try:
            value = lenient_json.loads(lenient_json.as_text(body))
        except ValueError:
            value = None
        if isinstance(value, dict) and "error" not in value and ("choices" in value or "content" in value):
            return reason("not-streamed", "the answer came in one piece; ask with stream true, or it has no TTFT")
    return server_answers.error_body(answer.status, body)


def _stream_reasons(seen: stream_events.Seen, fault: str | None, body: bytes) -> list[dict]:
    """Why a stream is no measurement: an error in it, a cut, events that are not JSON."""
    if seen.error is not None:
        return [server_answers.error_reason(None, seen.error)]
    found = []
    if seen.bad_event:
        found.append(reason("bad-event", f"an event of the stream is not JSON: {seen.bad_event[:100]!r}"))
    elif seen.joined:
        return [reason("events-joined", "the events of the stream are not set apart by empty lines, so none is one")]
    elif not seen.events and not seen.done and (start := lenient_json.as_text(body).strip(" \n\x00")):
        sentence = f"the answer holds no server-sent event; it begins with {start[:60]!r}"
        return [reason("no-events", sentence + (f" ({fault})" if fault else ""))]
    if not seen.done:
        tail = f" ({fault})" if fault else ""
        found.append(reason("stream-cut", f"the stream ended without [DONE]: the answer was cut{tail}"))
    elif seen.tokens == 0 or (seen.tokens is None and not seen.outputs):
        found.append(reason("no-tokens", "the server generated no token"))
    return found


def _request(
    seen: stream_events.Seen, sent_ns: int | None, max_tokens: int | None, thinking: str, reasons: list[dict]
) -> dict:
    remarks: list[dict] = []
    _cache(seen, reasons, remarks)
    _thinking(seen, thinking, reasons, remarks)
    timings = seen.timings
    n = seen.tokens
    # An answer that failed or was cut has no times: a part of it is not a shorter answer.
    whole = seen.done and seen.error is None
    first, last = (seen.first_ns, seen.last_ns) if whole and sent_ns is not None else (None, None)
    if first is not None and first < sent_ns:
        reasons.append(reason("clock", "the first token arrived before the request was sent: the clocks do not agree"))
    rest, ttft, prompt_ms = _ms(last, first), _ms(first, sent_ns), _number(timings.get("prompt_ms"))
    if ttft is not None and prompt_ms is not None and ttft < prompt_ms:
        sentence = f"TTFT {ttft:.4g} ms is below the server's prompt time {prompt_ms:.4g} ms"
        remarks.append(reason("ttft-below-prompt-time", sentence + ": the client noted its start too late"))
    server_ms = _number(timings.get("predicted_ms")) if whole else None
    took_no_time = server_ms is not None and (server_ms < 0 or (server_ms == 0 and (n or 0) > 1))
    if took_no_time or (prompt_ms or 0) < 0:
        sentence = f"the server's times (prompt {prompt_ms} ms, answer {server_ms} ms for {n} tokens) cannot be"
        reasons.append(reason("impossible-timings", sentence + "; its clock or build is at fault"))
    request = {
        "prompt_n": seen.prompt_n,
        "cache_n": seen.cache_n,
        "predicted_n": n,
        "ttft_ms": ttft,
        "rest_ms": rest,
        "total_ms": _ms(last, sent_ns),
        "prompt_ms": prompt_ms if whole else None,
        "predicted_ms": server_ms,
        "tpot_ms": rest / (n - 1) if rest is not None and n and n > 1 else None,
        "decode_tokens_per_s": 1e3 * (n - 1) / rest if rest and n and n > 1 else None,
        "server_decode_tokens_per_s": 1e3 * (n - 1) / server_ms if server_ms and n and n > 1 else None,
        "itl_ms": seen.gaps_ms() if whole and sent_ns is not None else None,
        "chunks": len(seen.outputs),
        "content": seen.content,
        "reasoning": seen.reasoning or None,
        "finish_reason": seen.finish_reason,
        "draft_n": stream_events.count(timings.get("draft_n")),
        "draft_n_accepted": stream_events.count(timings.get("draft_n_accepted")),
        "system_fingerprint": seen.fingerprint,
        "model": seen.model,
        "reported": seen.reported(),
    }
    _count(seen, request, max_tokens, remarks)
    return request | {"valid": not reasons, "reasons": reasons, "remarks": remarks}


def _cache(seen: stream_events.Seen, reasons: list[dict], remarks: list[dict]) -> None:
    """A prompt served from the cache is no prefill: its TTFT and prompt time are those of another question."""
    if seen.cache_n:
        total = seen.cache_n + (seen.prompt_n or 0)
        sentence = f"prompt served from cache: {seen.cache_n} of {total} tokens; send cache_prompt false"
        reasons.append(reason("prompt-from-cache", sentence))
    elif seen.cache_n is None and (seen.timings or seen.usage):
        sentence = "this build does not say how much of the prompt came from the cache"
        remarks.append(reason("cache-unknown", sentence))


def _thinking(seen: stream_events.Seen, thinking: str, reasons: list[dict], remarks: list[dict]) -> None:
    if not seen.reasoning and not re.search(r"<think>", seen.content or ""):
        return
    if not seen.reasoning and _EMPTY_THOUGHT.match(seen.content):
        remarks.append(reason("empty-thought", "the answer holds an empty <think></think>, whose tokens are counted"))
    elif thinking == "off":
        sentence = "model was thinking; use --reasoning off (or chat_template_kwargs enable_thinking false)"
        reasons.append(reason("thinking-on", sentence))
    else:
        remarks.append(reason("thinking-on", "thinking was on: the first token is one of the reasoning"))


def _count(seen: stream_events.Seen, request: dict, max_tokens: int | None, remarks: list[dict]) -> None:
    """Whether chunks stand for tokens, so which side's time per token decides (client or server)."""
    n, chunks = seen.tokens, len(seen.outputs)
    if seen.error is not None or not seen.events:
        request["decided_by"] = None
        return
    has_server = request["server_decode_tokens_per_s"] is not None
    request["decided_by"] = "client" if request["tpot_ms"] is not None else "server" if has_server else None
    if seen.choices > 1:
        remarks.append(reason("several-choices", f"{seen.choices} answers came at once; only the first is timed"))
    if seen.damaged:
        remarks.append(reason("bad-utf8", "the stream holds bytes that are no UTF-8"))
    if n is None:
        remarks.append(reason("tokens-not-counted", "the server did not say how many tokens it generated"))
        return
    if max_tokens is not None and max_tokens < 2 and n:
        remarks.append(reason("one-token", server_answers.decode_plan_problem(max_tokens)))
    elif n == 1:
        remarks.append(reason("one-token", "one token was generated: it has a TTFT but no decode rate"))
    if max_tokens and n > max_tokens:
        remarks.append(reason("more-than-asked", f"{n} tokens were generated, {max_tokens} asked for"))
    if request["draft_n"]:
        accepted = request["draft_n_accepted"]
        sentence = f"speculative decoding: {accepted} of {request['draft_n']} drafted tokens were accepted"
        remarks.append(reason("speculative", sentence))
    # The end-of-sequence token is counted but has no text, so a stopped answer has one chunk less.
    if not chunks:
        remarks.append(reason("no-text", f"{n} tokens gave no whole character, so no chunk and no TTFT"))
    elif chunks not in {n, n - 1 if seen.finish_reason != "length" else n}:
        request["decided_by"] = "server" if has_server else None
        remarks.append(reason("chunks-are-not-tokens", _bias(n, chunks, request)))
    elif chunks > 1 and request["tpot_ms"] == 0:
        request["decided_by"] = "server" if has_server else None
        request["tpot_ms"] = None
        remarks.append(
            reason("arrived-at-once", f"all {chunks} chunks arrived at once: something in between held them")
        )
    elif came_together(request["itl_ms"] or []):
        request["decided_by"] = "server" if has_server else None
        sentence = "tokens arrived several at a time: something in between held them, so the server's timings decide"
        remarks.append(reason("arrived-together", sentence))
    elif has_server and request["tpot_ms"]:
        server = 1e3 / request["server_decode_tokens_per_s"]
        if abs(request["tpot_ms"] / server - 1) > AGREEMENT:
            text = f"the client saw {request['tpot_ms']:.4g} ms per token, the server {server:.4g} ms"
            remarks.append(reason("client-server-differ", text + ": a chunk was delivered late"))


def came_together(gaps_ms: list[float]) -> bool:
    """Whether a part of the tokens that matters came in one piece with the token before."""
    return sum(gap == 0 for gap in gaps_ms) > TOGETHER * len(gaps_ms)


def _bias(n: int, chunks: int, request: dict) -> str:
    text = f"{n} tokens came in {chunks} chunks, so gaps between chunks are not times per token"
    client, rate = request["tpot_ms"], request["server_decode_tokens_per_s"]
    if client is None or not rate:
        return text + "; the server's timings decide"
    server = 1e3 / rate
    text += (
        f"; (last − first) / (n − 1) is biased too, because the first chunk holds more than one token: {client:.4g} ms"
    )
    return text + f" against the server's {server:.4g} ms ({100 * (client / server - 1):+.1f} %), which decides"


def _named(
    request: dict, name: str, process: int, index: int, cold: bool | None, prompt: str | None, max_tokens: int | None
) -> dict:
    cold = index == 0 if cold is None else cold
    place = {"name": name, "process": process, "index": index, "cold": cold}
    return place | {"prompt": prompt, "max_tokens": max_tokens} | request


def _ms(later: int | None, earlier: int | None) -> float | None:
    return None if later is None or earlier is None else (later - earlier) / 1e6


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
