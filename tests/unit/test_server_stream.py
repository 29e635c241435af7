"""Streams of llama-server: what was received, when, and how many tokens it was."""

import itertools
import json

import pytest
from fixture_files import FIXTURES, case, codes, messages, recorded_stream
from hypothesis import given
from hypothesis import strategies as st

from tokentrail import jsonio
from tokentrail.tools import server_stream

MS = 1_000_000


def chunk(finish=None, **rest) -> dict:
    delta = {k: rest.pop(k) for k in ("role", "content", "reasoning_content", "tool_calls") if k in rest}
    return {"choices": [{"finish_reason": finish, "index": 0, "delta": delta}], **rest}


def timings(n, ms, prompt_n=10, cache_n=0, **more) -> dict:
    return {"cache_n": cache_n, "prompt_n": prompt_n, "prompt_ms": 20.0, "predicted_n": n, "predicted_ms": ms, **more}


def event(value) -> bytes:
    return b"data: " + (value if isinstance(value, bytes) else json.dumps(value, ensure_ascii=False).encode()) + b"\n\n"


DONE = event(b"[DONE]")
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunked(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def answer(*timed: tuple[float, bytes], end: bool = True) -> list[tuple[int, bytes]]:
    """Pieces as received: headers at 1 ms, then each (ms, bytes) as a chunk of its own."""
    pieces = [(1 * MS, HEAD)] + [(round(ms * MS), chunked(data)) for ms, data in timed]
    return pieces + ([(pieces[-1][0], b"0\r\n\r\n")] if end else [])


def four_tokens(n=4, ms=60.0, finish="length") -> list[tuple[float, bytes]]:
    role = chunk(role="assistant", content=None)
    words = [(50 + 20 * i, event(chunk(content=f"w{i} "))) for i in range(4)]
    last = (words[-1][0], event(chunk(finish, timings=timings(n, ms))) + DONE)
    return [(30, event(role)), *words, last]


def parse_case(number, name="stream.sse", **options):
    return server_stream.parse_sse(case(number, name), **options)


@pytest.mark.parametrize("number", ["d01", "d02", "d05", "d06", "d08", "d09", "d14", "d21"])
def test_requests_fit_the_record_schema(number):
    """Whatever came, the request is a valid part of a record."""
    schema = {"type": "array", "items": jsonio._validator("record").schema["properties"]["requests"]["items"]}
    request = parse_case(number)
    jsonio.dumps(request)

    assert list(jsonio._validator("record").evolve(schema=schema).iter_errors([request])) == []


def test_plain_stream():
    """Text, end and tokens; the end-of-sequence token counts without a chunk of its own."""
    found = parse_case("d01")

    assert (found["content"], found["finish_reason"]) == ("Hello!", "stop")
    assert (found["prompt_n"], found["predicted_n"], found["cache_n"], found["chunks"]) == (10, 4, 0, 3)
    assert found["server_decode_tokens_per_s"] == pytest.approx(50.0)
    assert (found["valid"], found["remarks"]) == (True, [])


def test_times_of_a_stream():
    """TTFT ends at the first text, not at headers, role or ping; rates are (n − 1) over first to last."""
    pieces = answer((20, b": ping\n\n"), *four_tokens())
    found = server_stream.parse(pieces, sent_ns=0)

    assert found["ttft_ms"] == pytest.approx(50)
    assert found["rest_ms"] == pytest.approx(60)
    assert found["total_ms"] == pytest.approx(110)
    assert found["tpot_ms"] == pytest.approx(20)
    assert found["decode_tokens_per_s"] == pytest.approx(50)
    assert found["itl_ms"] == pytest.approx([20, 20, 20])
    assert (found["headers_ms"], found["http_status"], found["decided_by"]) == (1, 200, "client")
    assert found["reported"]["pings"] == 1
    assert (found["valid"], found["remarks"]) == (True, [])


def test_last_token_of_a_stopped_answer_is_the_finish_event():
    """The end-of-sequence token has no text: its arrival is that of the finish event."""
    pieces = four_tokens(n=5, ms=80.0, finish="stop")
    pieces[-1] = (130, pieces[-1][1])
    found = server_stream.parse(answer(*pieces), 0)

    assert found["tpot_ms"] == pytest.approx(20)
    assert found["remarks"] == []


def test_usage_chunk_without_choices():
    """The last chunk may have no choices; timings and usage sit there, and reading goes on to [DONE]."""
    found = parse_case("d02")

    assert found["finish_reason"] == "length"
    assert (found["predicted_n"], found["cache_n"]) == (1, 9)
    assert codes(found["reasons"]) == ["prompt-from-cache"]


def test_rate_is_the_same_whatever_the_build_calls_it():
    """(n − 1)/ms for both builds; the tool's own figure is kept as reported."""
    new, old = (parse_case("d03", f"{n}.sse") for n in ("new", "old"))

    assert new["server_decode_tokens_per_s"] == old["server_decode_tokens_per_s"] == pytest.approx(50.0)
    assert old["reported"]["timings"]["predicted_per_second"] == pytest.approx(66.667, rel=1e-4)


@pytest.mark.parametrize("name", ["new.sse", "old.sse", "old_inf.sse"])
def test_one_token_has_no_rate(name):
    """Neither 0 nor 35,714 nor a division by zero."""
    found = parse_case("d04", name)

    assert (found["decode_tokens_per_s"], found["server_decode_tokens_per_s"], found["tpot_ms"]) == (None, None, None)
    assert found["valid"]
    assert "one-token" in codes(found["remarks"])


def test_one_token_still_has_a_ttft():
    found = server_stream.parse(
        answer((50, event(chunk(content="a"))), (50, event(chunk("length", timings=timings(1, 0.0))) + DONE)), 0
    )

    assert (found["ttft_ms"], found["tpot_ms"], found["decode_tokens_per_s"]) == (50, None, None)


def test_cached_prompt_is_no_prefill():
    """236 of 237 tokens came from the cache: not this prompt's TTFT."""
    found = parse_case("d05")

    assert codes(found["reasons"]) == ["prompt-from-cache"]
    assert "236 of 237" in messages(found["reasons"])


@pytest.mark.parametrize(
    "usage", [{"prompt_tokens": 237}, {"prompt_tokens": 237, "prompt_tokens_details": {"cached_tokens": 236}}]
)
def test_cached_prompt_of_a_build_without_cache_n(usage):
    """The prompt's length against what was processed tells it too."""
    old = {k: v for k, v in timings(2, 10.0, prompt_n=1).items() if k != "cache_n"}
    stream = event(chunk(content="a")) + event(chunk(content="b"))
    found = server_stream.parse_sse(stream + event(chunk("length", timings=old, usage=usage)) + DONE)

    assert found["cache_n"] == 236
    assert codes(found["reasons"]) == ["prompt-from-cache"]


def test_reasoning_is_text_for_ttft_and_a_fault_where_none_was_wanted():
    """Tokens that come only as reasoning count; a run without thinking refuses them."""
    found, refused = parse_case("d06"), parse_case("d06", thinking="off")

    assert (found["predicted_n"], found["content"], found["reasoning"]) == (3, None, "Okay, the")
    assert found["valid"]
    assert "thinking-on" in codes(found["remarks"])
    assert "--reasoning off" in messages(refused["reasons"])
    timed = server_stream.parse(
        answer(
            (40, event(chunk(reasoning_content="Okay"))), (60, event(chunk(reasoning_content=","))),
            (60, event(chunk("length", timings=timings(2, 20.0))) + DONE),
        ), 0,
    )  # fmt: skip
    assert timed["ttft_ms"] == 40


@pytest.mark.parametrize(
    ("text", "code"),
    [("<think>hmm</think>a", "thinking-on"), ("<think>\n\n</think>\n\na", "empty-thought"), ("a", None)],
)
def test_think_tags_in_content(text, code):
    """Old servers leave the reasoning in the content."""
    stream = event(chunk(content=text)) + event(chunk("stop", timings=timings(2, 20.0))) + DONE
    found = server_stream.parse_sse(stream, thinking="off")

    assert (code in codes(found["reasons"] + found["remarks"])) if code else found["valid"]
    assert found["valid"] == (code != "thinking-on")


def test_no_role_and_no_text_at_all():
    """Bytes that never formed a character: three tokens, no chunk, the server's time decides."""
    found = parse_case("d08")

    assert (found["predicted_n"], found["chunks"], found["ttft_ms"]) == (3, 0, None)
    assert found["server_decode_tokens_per_s"] == pytest.approx(155.87, rel=1e-4)
    assert found["decided_by"] == "server"
    assert "no-text" in codes(found["remarks"])


def test_error_in_the_stream_discards_the_times():
    """HTTP 200, text, then an error and no [DONE]."""
    found = parse_case("d09")
    timed = server_stream.parse(answer((50, event(chunk(content="Hel"))), (60, case("d09", "stream.sse"))), 0)

    for each in (found, timed):
        assert not each["valid"]
        assert len(each["reasons"]) == 1
        assert "code 500: Context size has been exceeded" in messages(each["reasons"])
        assert each["ttft_ms"] is None
        assert each["tpot_ms"] is None


@pytest.mark.parametrize(
    "line",
    [
        b'error: {"code":500,"message":"boom","type":"server_error"}\n\n',
        b'event: error\ndata: {"code":500,"message":"boom"}\n\n',
        b'data: {"error":{"code":500,"message":"boom"}}\n\n',
        b'data: {"error":"boom"}\n\n',
        b"event: error\ndata: boom\n\n",
    ],
)
def test_error_events_of_all_builds(line):
    """Old builds wrote a line `error:` and then [DONE]."""
    found = server_stream.parse_sse(event(chunk(content="a")) + line + DONE)

    assert "boom" in messages(found["reasons"])
    assert not found["valid"]


@pytest.mark.parametrize("drop", [1, 2])
def test_stream_cut_without_done(drop):
    """An answer that ended early is not a shorter answer."""
    pieces = four_tokens()
    pieces[-1] = (pieces[-1][0], pieces[-1][1].removesuffix(DONE))
    found = server_stream.parse(answer(*pieces[: len(pieces) - drop + 1], end=False), 0)

    assert codes(found["reasons"]) == ["stream-cut"]
    assert (found["ttft_ms"], found["tpot_ms"], found["server_decode_tokens_per_s"]) == (None, None, None)


def test_stream_cut_within_a_chunk():
    """The connection closed in the middle of an HTTP chunk and of an event."""
    pieces = answer(*four_tokens(), end=False)
    found = server_stream.parse([*pieces[:-1], (pieces[-1][0], pieces[-1][1][:30])], 0)

    assert codes(found["reasons"]) == ["stream-cut"]


def test_context_overflow_answer():
    """Plain JSON with another status although a stream was asked for."""
    pieces, body = recorded_stream("overflow")
    found = server_stream.parse(pieces, 0, body["max_tokens"])

    assert codes(found["reasons"]) == ["context-overflow"]
    assert "prompt has 3031 tokens, context is 2048" in messages(found["reasons"])
    assert found["http_status"] == 400


@pytest.mark.parametrize(
    ("status", "kind", "body", "code"),
    [
        (503, "application/json", b'{"error":{"message":"Loading model","code":503}}', "server-loading"),
        (401, "application/json", b'{"error":{"message":"Invalid API Key","code":401}}', "server-error"),
        (200, "application/json", b'{"error":{"message":"Context size has been exceeded."}}', "context-overflow"),
        (404, "text/html", b"<html>no</html>", "not-llama-server"),
        (200, "text/html", b"<html>hello</html>", "not-llama-server"),
        (502, "text/plain", b"", "not-llama-server"),
        (200, "application/json", b'{"choices":[{"message":{"content":"a"}}]}', "not-streamed"),
    ],
)  # fmt: skip
def test_answers_that_are_no_stream(status, kind, body, code):
    """Status and content type are looked at before the body is read as a stream."""
    head = f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    found = server_stream.parse([(MS, head + body)], 0)

    assert codes(found["reasons"]) == [code]
    assert found["ttft_ms"] is None


@pytest.mark.parametrize("pieces", [[], [(MS, b"")], [(MS, b"garbage\r\n\r\n")], [(MS, b"HTTP/1.1 200 OK\r\nCont")]])
def test_no_http_answer(pieces):
    """Nothing, or something that is not HTTP."""
    assert codes(server_stream.parse(pieces, 0)["reasons"]) == ["no-answer"]


def test_timings_of_the_last_chunk_that_has_them():
    """Progress and per-token timings come with many chunks; role chunks are not tokens."""
    found = parse_case("d14")

    assert (found["predicted_n"], found["chunks"], found["predicted_ms"]) == (2, 2, 5.758)
    assert found["cache_n"] == 9


def test_max_tokens_zero_still_gives_one():
    """It is said that no decode rate can come of it."""
    found = parse_case("d21", max_tokens=0)

    assert found["predicted_n"] == 1
    assert "max_tokens 0" in messages(found["remarks"])


def test_chunks_are_not_tokens():
    """A real answer of emoji: fewer chunks than tokens, so the server's time per token decides, and both are said."""
    pieces, body = recorded_stream("emoji")
    found = server_stream.parse(pieces, 0, body["max_tokens"])

    assert found["valid"]
    assert found["decided_by"] == "server"
    (text,) = [r["message"] for r in found["remarks"] if r["code"] == "chunks-are-not-tokens"]
    assert "32 tokens came in 10 chunks" in text
    assert "%" in text


def test_speculative_answer():
    """Several tokens a chunk, with the draft's figures kept."""
    last = chunk("length", timings=timings(4, 60.0, draft_n=6, draft_n_accepted=2))
    found = server_stream.parse_sse(event(chunk(content="ab")) + event(chunk(content="cd")) + event(last) + DONE)

    assert (found["draft_n"], found["draft_n_accepted"]) == (6, 2)
    assert codes(found["remarks"]) == ["speculative", "chunks-are-not-tokens"]


def test_tool_call_is_output():
    """The first piece of a tool call is the first token."""
    call = {"tool_calls": [{"index": 0, "function": {"name": "f", "arguments": ""}}]}
    end = event(chunk("tool_calls", timings=timings(2, 20.0))) + DONE
    found = server_stream.parse(answer((40, event(chunk(**call))), (60, event(chunk(**call))), (60, end)), 0)

    assert found["ttft_ms"] == 40


def test_empty_content_is_no_token():
    """An empty string comes before the first token in some builds."""
    pieces = [(10, event(chunk(role="assistant", content=""))), *four_tokens()]

    assert server_stream.parse(answer(*pieces), 0)["ttft_ms"] == 50


def test_tokens_are_never_counted_by_chunks():
    """Without timings and usage the number of tokens is unknown, and so is every rate."""
    pieces = four_tokens()
    pieces[-1] = (110, event(chunk("stop")) + DONE)
    found = server_stream.parse(answer(*pieces), 0)

    assert (found["predicted_n"], found["decode_tokens_per_s"]) == (None, None)
    assert "tokens-not-counted" in codes(found["remarks"])


def test_usage_counts_where_timings_do_not():
    """Other servers have usage only."""
    pieces = four_tokens()
    usage = {"completion_tokens": 4, "prompt_tokens": 10}
    pieces[-1] = (110, event(chunk("length")) + event({"choices": [], "usage": usage}) + DONE)
    found = server_stream.parse(answer(*pieces), 0)

    assert (found["predicted_n"], found["prompt_n"], found["tpot_ms"]) == (4, 10, 20)


def test_everything_at_once_has_no_client_rate():
    """A proxy that held all chunks back: the client's zero is no time per token."""
    body = b"".join(data for _, data in four_tokens())
    found = server_stream.parse(answer((200, body)), 0)

    assert (found["tpot_ms"], found["decode_tokens_per_s"], found["decided_by"]) == (None, None, "server")
    assert "arrived-at-once" in codes(found["remarks"])


def test_compressed_stream_is_refused():
    head = HEAD.replace(b"\r\n\r\n", b"\r\nContent-Encoding: gzip\r\n\r\n")

    assert codes(server_stream.parse([(MS, head + chunked(b"\x1f\x8b") + b"0\r\n\r\n")], 0)["reasons"]) == [
        "compressed"
    ]


@pytest.mark.parametrize(("count", "tokens"), [(4, 4), (4.0, 4), (-1, None), (None, None), ("4", None), (4.5, None)])
def test_counts_of_other_kinds(count, tokens):
    """A count is a whole number, however it is written; anything else is unknown."""
    stream = event(chunk(content="a")) + event(chunk("length", timings=timings(count, 60.0))) + DONE

    assert server_stream.parse_sse(stream)["predicted_n"] == tokens


def test_framing_without_length():
    """HTTP/1.0 style: the body ends with the connection."""
    head = b"HTTP/1.0 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
    found = server_stream.parse([(MS, head), *((round(t * MS), data) for t, data in four_tokens())], 0)

    assert (found["valid"], found["ttft_ms"], found["tpot_ms"]) == (True, 50, 20)


def test_late_first_chunk_is_said():
    """Client and server that differ by more than 1 % are both shown, with the reason."""
    pieces = four_tokens()
    late = [(50 + 8, pieces[1][1]), *pieces[2:]]

    assert "client-server-differ" in codes(server_stream.parse(answer(*late), 0)["remarks"])


def test_first_token_before_the_request_is_a_wrong_clock():
    assert "clock" in codes(server_stream.parse(answer(*four_tokens()), 80 * MS)["reasons"])


def test_first_request_of_a_process_is_cold():
    assert parse_case("d01")["cold"] is True
    assert parse_case("d01", index=1)["cold"] is False


def _rebuilt(body: bytes, cuts: list[int], ending: bytes, bom: bool) -> list[tuple[int, bytes]]:
    """The same body with other line ends, split anywhere, every piece 1 ms after the one before."""
    body = (b"\xef\xbb\xbf" if bom else b"") + body.replace(b"\n", ending)
    raw = HEAD + chunked(body[: len(body) // 2]) + chunked(body[len(body) // 2 :]) + b"0\r\n\r\n"
    marks = sorted({0, len(raw), *(c % len(raw) for c in cuts)})
    return [(i * MS, raw[a:b]) for i, (a, b) in enumerate(itertools.pairwise(marks))]


BODY = (
    b": ping\n\n"
    + event(chunk(role="assistant", content=None))
    + event(chunk(content="h\u00e9\u2028\U0001f680\x0b"))
    + event(chunk(content="b"))
    + b'data: {"choices": [{"index": 0, "finish_reason": null,\ndata: "delta": {"content": "c"}}]}\n\n'
    + b"id: 7\nretry: 10\ndata:"
    + json.dumps(chunk("length", timings=timings(3, 40.0))).encode()
    + b"\n\n"
    + DONE
)


@given(
    cuts=st.lists(st.integers(0, 10_000), max_size=60),
    ending=st.sampled_from([b"\n", b"\r\n", b"\r"]),
    bom=st.booleans(),
)
def test_pieces_do_not_matter(cuts, ending, bom):
    """However the network cuts lines, characters and HTTP chunks, the text and the counts are the same,
    and the first token arrives with the piece that completes its event."""
    pieces = _rebuilt(BODY, cuts, ending, bom)
    found = server_stream.parse(pieces, 0)

    assert found["content"] == "h\u00e9\u2028\U0001f680\x0bbc"
    assert (found["valid"], found["chunks"], found["predicted_n"]) == (True, 3, 3)
    assert not any(r["code"] == "bad-utf8" for r in found["remarks"])
    raw = b"".join(data for _, data in pieces)
    complete = raw.index(b"\\u000b") if b"\\u000b" in raw else raw.index("\U0001f680".encode())
    arrived, count = 0, 0
    for index, (_, data) in enumerate(pieces):
        count += len(data)
        if count > complete:
            arrived = index
            break
    assert found["ttft_ms"] >= arrived


def test_done_without_its_empty_line():
    """A last line without line end still ends the stream."""
    assert server_stream.parse_sse(case("d01", "stream.sse").rstrip(b"\n"))["valid"]


def test_bad_event_is_named():
    stream = event(b'{"choices": [') + event(chunk("stop", timings=timings(2, 1.0))) + DONE

    assert codes(server_stream.parse_sse(stream)["reasons"]) == ["bad-event"]


def test_nan_in_timings():
    """Old builds may write a number that is none."""
    last = json.dumps(chunk("length", timings=timings(4, 60.0, predicted_per_second=1))).replace(
        '"predicted_per_second": 1', '"predicted_per_second": -nan'
    )
    found = server_stream.parse_sse(event(chunk(content="a")) + event(last.encode()) + DONE)

    assert found["reported"]["timings"]["predicted_per_second"] is None


@pytest.mark.parametrize("name", ["warm", "length", "stop", "native"])
def test_recorded_streams(name):
    """Real answers of build 11434: client and server agree unless it is said."""
    pieces, body = recorded_stream(name)
    found = server_stream.parse(pieces, 0, body.get("max_tokens"))

    assert found["valid"], found["reasons"]
    assert found["decided_by"] == "client"
    gap = abs(found["decode_tokens_per_s"] / found["server_decode_tokens_per_s"] - 1)
    assert (gap > 0.01) == ("client-server-differ" in codes(found["remarks"]))
    early = found["ttft_ms"] < found["prompt_ms"]
    assert early == ("ttft-below-prompt-time" in codes(found["remarks"]))


def test_recorded_tail_of_a_gpu_run():
    """127 steps over the server's time, as the tool of that build says too."""
    found = server_stream.parse_sse((FIXTURES / "recorded/h200/stream-tail.sse").read_bytes())

    rate = found["reported"]["timings"]["predicted_per_second"]
    assert found["server_decode_tokens_per_s"] == pytest.approx(rate)


@pytest.mark.parametrize(("finish", "rest_ms"), [("length", 60.0), ("stop", 65.0)])
def test_last_token_is_the_last_text_of_a_whole_answer_else_the_finish(finish, rest_ms):
    """A limit ends an answer at its last text; an end-of-sequence token has none, so the finish event stands for it."""
    *before, (_, last) = four_tokens(finish=finish)

    found = server_stream.parse(answer(*before, (115, last)), 0)

    assert found["rest_ms"] == rest_ms
