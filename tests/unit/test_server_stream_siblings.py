"""Streams of other servers, proxies and builds: framings, odd events, answers that are none, times that cannot be."""

import gzip
import json

import pytest
from fixture_files import codes, messages

from tokentrail import jsonio
from tokentrail.records import paired
from tokentrail.tools import server_stream

MS = 1_000_000
DONE = b"data: [DONE]\n\n"


def event(value) -> bytes:
    return b"data: " + json.dumps(value, ensure_ascii=False).encode() + b"\n\n"


def text(**delta) -> bytes:
    return event({"choices": [{"index": 0, "finish_reason": None, "delta": delta}]})


def finish(n=4, ms=60.0, reason="length", **more) -> bytes:
    timings = {"cache_n": 0, "prompt_n": 10, "prompt_ms": 20.0, "predicted_n": n, "predicted_ms": ms} | more
    return event({"choices": [{"index": 0, "finish_reason": reason, "delta": {}}], "timings": timings})


FOUR = [text(role="assistant", content=None) + text(content="a"), *(text(content=c) for c in "bcd"), finish(), DONE]


def answer(pieces, *, head=b"HTTP/1.1 200 OK", headers=b"Content-Type: text/event-stream\r\n", chunked=True):
    """Head at 1 ms, then one piece every 20 ms, so that the first token comes at 40 ms."""
    coding = b"Transfer-Encoding: chunked\r\n" if chunked else b""
    parts = [b"%x\r\n%s\r\n" % (len(p), p) for p in pieces] + [b"0\r\n\r\n"] if chunked else pieces
    return [(MS, head + b"\r\n" + headers + coding + b"\r\n")] + [((i + 2) * 20 * MS, p) for i, p in enumerate(parts)]


def read(chunks, **options):
    request = server_stream.parse(chunks, 0, 4, **options)
    jsonio.dumps(request)
    return request


def swapped(old: bytes, new: bytes):
    return answer([p.replace(old, new) for p in FOUR])


@pytest.mark.parametrize(
    "chunks",
    [
        answer(FOUR),
        answer([b"\xef\xbb\xbf" + FOUR[0], *FOUR[1:]]),
        swapped(b"\n", b"\r\n"),
        swapped(b"\n", b"\r"),
        swapped(b"data: ", b"data:"),
        answer([b"id: 1\nretry: 9\nevent: message\n" + FOUR[0], *FOUR[1:]]),
        answer(FOUR, head=b"HTTP/1.0 200 OK", chunked=False),
        answer(FOUR, headers=b"Content-Type: text/event-stream; charset=utf-8\r\nConnection: close\r\n", chunked=False),
        answer(FOUR, headers=b"Content-Type: text/event-stream\r\nContent-Length: %d\r\n" % len(b"".join(FOUR)),
               chunked=False),
        [(MS // 2, b"HTTP/1.1 100 Continue\r\n\r\n"), *answer(FOUR)],
        answer([*FOUR, event({"x": 1})]),
        answer([*FOUR[:5], event({"choices": [], "usage": {"completion_tokens": 4}}), DONE]),
        answer([*FOUR[:5], finish(reason="length"), DONE]),
        answer([event({"choices": [{"index": 0, "delta": {"content": [{"type": "text", "text": "a"}]}}]}), *FOUR[1:]]),
        answer([b'data: {"choices":\ndata: [{"index":0,"delta":{"content":"a"}}]}\n\n', *FOUR[1:]]),
    ],
    ids=["plain", "mark", "CRLF", "CR", "no blank", "other fields", "HTTP 1.0", "until closed", "length",
         "100 first", "after DONE", "usage last", "finish twice", "parts", "data in two lines"],
)  # fmt: skip
def test_same_answer_in_other_framings(chunks):
    """The framing changes neither the text nor one time."""
    request = read(chunks)

    assert request["valid"], messages(request["reasons"])
    assert (request["content"], request["chunks"], request["predicted_n"]) == ("abcd", 4, 4)
    assert (request["ttft_ms"], request["rest_ms"]) == (40.0, 60.0)


def test_character_cut_between_pieces():
    """The token's arrival is that of its last byte."""
    whole = text(content="é")
    cut = whole.index("é".encode()) + 1
    request = read(answer([whole[:cut], whole[cut:], *FOUR[1:]]))

    assert (request["content"], request["ttft_ms"]) == ("ébcd", 60.0)
    assert "bad-utf8" not in codes(request["remarks"])


def test_usage_before_the_finish_counts():
    usage = {"completion_tokens": 4, "prompt_tokens": 10}
    end = event({"choices": [{"index": 0, "finish_reason": "length", "delta": {}}]})
    request = read(answer([*FOUR[:4], event({"choices": [], "usage": usage}), end, DONE]))

    assert request["valid"]
    assert (request["predicted_n"], request["prompt_n"], request["decided_by"]) == (4, 10, "client")


@pytest.mark.parametrize("usage", [{"prompt_tokens_details": {"cached_tokens": 9}}, {"cached_tokens": 9}])
def test_cached_tokens_of_other_servers(usage):
    end = event({"choices": [{"index": 0, "finish_reason": "length", "delta": {}}]})
    usage = {"completion_tokens": 4, "prompt_tokens": 10, **usage}
    request = read(answer([*FOUR[:4], end, event({"choices": [], "usage": usage}), DONE]))

    assert codes(request["reasons"]) == ["prompt-from-cache"]


@pytest.mark.parametrize(
    "odd",
    [
        {"choices": [{"index": 0, "delta": {"content": 5}}]},
        {"choices": [{"index": 0, "delta": "abc"}]},
        {"choices": [{"index": 0, "delta": None}]},
        {"choices": [{"index": "one", "delta": {"content": ""}}]},
        {"choices": None},
        {"choices": {"0": 1}},
        {"choices": [7]},
        {"choices": [], "usage": [1], "timings": "none", "prompt_progress": [1, 2]},
        {"choices": [], "usage": {"prompt_tokens_details": [5]}},
        {"choices": [], "timings": {"predicted_n": 10**40, "prompt_ms": 10**400, "draft_n": "two"}},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": ["stop"]}]},
        {"choices": [], "model": 3, "system_fingerprint": ["b1"]},
        {"object": "ping"},
    ],
    ids=lambda odd: json.dumps(odd)[:60],
)
def test_events_of_odd_kinds_are_no_tokens(odd):
    """A field of another kind than meant adds nothing and breaks nothing."""
    request = read(answer([event(odd), *FOUR]))

    assert (request["content"], request["chunks"], request["predicted_n"]) == ("abcd", 4, 4)
    assert request["ttft_ms"] == 60.0


def test_tokens_that_arrive_two_at_a_time():
    """The rate from first to last looks right, and the gaps between tokens would be 0 and double."""
    token = text(content="a")
    pieces = [(20_000_000 + 10_000_000 * i, token * 2) for i in range(32)]
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
    request = read([(10_000_000, head), *pieces, (330_000_000, finish(64, 310.0) + DONE)])

    assert "arrived-together" in codes(request["remarks"])
    assert request["decided_by"] == "server"
    for quantity in paired.PERCENTILES:
        assert paired.percentile(request, quantity)[0] is None
        assert "several at a time" in paired.percentile(request, quantity)[1]


def test_half_a_character_can_be_written():
    """A proxy in JavaScript cuts a pair of UTF-16 halves over two events, each escaped by itself."""
    halves = [
        b'data: {"choices": [{"index": 0, "delta": {"content": "%s"}}]}\n\n' % h for h in (rb"\ud83d", rb"\ude00")
    ]
    request = read(answer([*halves, *FOUR]))

    assert request["content"].encode() == "\ufffd\ufffdabcd".encode()
    whole = read(answer([halves[0].replace(b"d83d", rb"d83d\ude00 \\ud83d"), *FOUR]))
    assert whole["content"] == "\U0001f600 \\ud83dabcd"


def test_nesting_too_deep_is_a_bad_event():
    request = read(answer([b"data: " + b"[" * 5000 + b"]" * 5000 + b"\n\n", *FOUR]))

    assert codes(request["reasons"]) == ["bad-event"]


@pytest.mark.parametrize(
    ("chunks", "code", "word"),
    [
        (answer([b"".join(FOUR).replace(b"\n\n", b"\n")]), "events-joined", "empty lines"),
        (answer([b"<html>login</html>"]), "no-events", "<html>"),
        (swapped(b"data: ", b""), "no-events", "choices"),
        (answer([gzip.compress(b"".join(FOUR), mtime=0)]), "no-events", "no server-sent event"),
        (answer(FOUR[:-1]), "stream-cut", "without [DONE]"),
        (answer([*FOUR[:-1], b"data: [DO"]), "stream-cut", "without [DONE]"),
        (answer([*FOUR[:2], b'data: {"error": "boom"}\n\n']), "server-error", "with an error: boom"),
        (answer([*FOUR[:2], b"event: error\ndata: boom\n\n", DONE]), "server-error", "boom"),
        (answer([*FOUR[:2], event({"error": {"code": 429, "message": None}}), DONE]), "server-error", "code 429"),
        (answer([FOUR[0], finish(0, 0.0), DONE]), "no-tokens", "no token"),
        (answer([*FOUR[:4], finish(4, 0.0), DONE]), "impossible-timings", "0.0 ms for 4 tokens"),
        (answer([*FOUR[:4], finish(4, -5.0), DONE]), "impossible-timings", "-5.0 ms"),
        (answer([*FOUR[:4], finish(4, 60.0, prompt_ms=-3.0), DONE]), "impossible-timings", "prompt -3.0 ms"),
    ],
)
def test_streams_that_are_no_measurement(chunks, code, word):
    """Each is refused for its own cause."""
    request = read(chunks)

    assert codes(request["reasons"])[0] == code
    assert word in messages(request["reasons"])


def test_infinite_time_is_unknown():
    """1e999 is infinity to a float, and no product may hold it."""
    request = read(answer([*FOUR[:4], finish(4, 60.0, prompt_ms=7.5).replace(b"7.5", b"1e999"), DONE]))

    assert request["prompt_ms"] is None


def test_clock_that_ran_backwards():
    early = [(t if i < 4 else t - 50 * MS, data) for i, (t, data) in enumerate(answer(FOUR))]

    assert "clock" in codes(read(early)["reasons"])


@pytest.mark.parametrize(
    ("status", "kind", "body", "code"),
    [
        (b"429 Too Many Requests", b"text/html", b"<html>wait</html>", "not-llama-server"),
        (b"500 Internal Server Error", b"text/html", b"<html>500</html>", "not-llama-server"),
        (b"502 Bad Gateway", b"text/plain", b"", "not-llama-server"),
        (
            b"429 Too Many Requests",
            b"application/json",
            b'{"error":{"message":"wait","code":429}}',
            "server-error",
        ),
        (b"404 Not Found", b"application/json", b'{"detail":"Not Found"}', "not-llama-server"),
        (b"301 Moved", b"text/html", b"", "not-llama-server"),
        (b"200 OK", b"application/json", b'{"choices":[{"message":{"content":"hi"}}]}', "not-streamed"),
        (b"200 OK", b"text/html", b"<html></html>", "not-llama-server"),
    ],
)
def test_answers_that_are_no_stream(status, kind, body, code):
    headers = b"Content-Type: " + kind + b"\r\nContent-Length: %d\r\n" % len(body)
    request = read(answer([body], head=b"HTTP/1.1 " + status, headers=headers, chunked=False))

    assert codes(request["reasons"]) == [code]
    assert request["ttft_ms"] is None


def test_thinking_then_answer():
    """Thoughts come first and count; where none was wanted, they are a reason."""
    pieces = [text(role="assistant", content=None), text(reasoning_content="x"), text(reasoning_content="y"),
              text(content="c"), text(content="d"), finish(), DONE]  # fmt: skip
    request = read(answer(pieces))

    assert (request["reasoning"], request["content"], request["ttft_ms"]) == ("xy", "cd", 60.0)
    assert codes(read(answer(pieces), thinking="off")["reasons"]) == ["thinking-on"]


def test_calls_are_output():
    call = [text(tool_calls=[{"index": 0, "function": {"arguments": c}}]) for c in "abcd"]
    request = read(answer([text(role="assistant", tool_calls=[]), *call, finish(reason="tool_calls"), DONE]))

    assert (request["ttft_ms"], request["chunks"], request["finish_reason"]) == (60.0, 4, "tool_calls")
