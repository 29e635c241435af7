"""Three readers of a streamed answer, each in a process of its own that is told by lines on stdin when to ask.

    own     tokentrail.measuring.requests and tokentrail.tools.server_stream, as the pipeline uses them
    raw     a blocking socket and a loop: what a Python program can reach at best
    urllib  urllib.request, line by line, JSON read while the answer runs: what many scripts do

A line holds {"port", "body"}; the answer {"ttft_ms", "tpot_ms", "predicted_n", "chunks", "cpu_ms", "wall_ms",
"problem"}; the CPU time is that of everything done for the request, reading the answer's JSON included.
"""

from __future__ import annotations

import json
import socket
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).resolve().parents[2] / "scripts")]

NAMES = ("own", "raw", "urllib")
TIMEOUT_S = 60.0


def own(port: int, body: dict[str, Any]) -> dict[str, Any]:
    """Our client."""
    from tokentrail.measuring import requests
    from tokentrail.tools import server_stream

    found = requests.exchange(port, requests.encode(port, body), TIMEOUT_S)
    request = server_stream.parse(found.chunks, found.sent_ns, body["max_tokens"])
    keys = ("ttft_ms", "tpot_ms", "predicted_n", "chunks", "decided_by")
    problem = found.problem or "; ".join(reason["message"] for reason in request["reasons"])
    exchange = {"exchange_cpu_ms": found.cpu_ns / 1e6, "problem": problem or None}
    server, tokens = request["server_decode_tokens_per_s"], request["predicted_n"]
    if request["itl_ms"] and tokens and tokens > 1:
        exchange["last_text_tpot_ms"] = sum(request["itl_ms"]) / (tokens - 1)
    return {key: request[key] for key in keys} | exchange | {"decided_tpot_ms": 1e3 / server if server else None}


def raw(port: int, body: dict[str, Any]) -> dict[str, Any]:
    """A socket, nothing else: every piece is kept with its time, and read afterwards."""
    from tokentrail.measuring import requests

    request, pieces, now = requests.encode(port, body), [], time.perf_counter_ns
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sent = now()
        connection.sendall(request)
        while data := connection.recv(65536):
            pieces.append((now(), data))
    times = [t for t, data in pieces for _ in range(data.count(b'"delta":{"content":'))]
    finish = next((t for t, data in pieces if b'"finish_reason":"length"' in data), times[-1])
    return _result(sent, times, finish, _usage(b"".join(data for _, data in pieces)))


def naive(port: int, body: dict[str, Any]) -> dict[str, Any]:
    """urllib: each line is decoded before the next one is asked for."""
    content = json.dumps(body).encode("utf-8")
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/v1/chat/completions", content, {"Content-Type": "application/json"}
    )
    times, finish, tokens = [], None, None
    sent = time.perf_counter_ns()
    with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
        for line in answer:
            text = line.decode("utf-8").strip()
            if not text.startswith("data: {"):
                continue
            event = json.loads(text[6:])
            tokens = (event.get("usage") or {}).get("completion_tokens", tokens)
            for choice in event["choices"]:
                if choice["delta"].get("content"):
                    times.append(time.perf_counter_ns())
                if choice["finish_reason"]:
                    finish = time.perf_counter_ns()
    return _result(sent, times, finish or times[-1], tokens)


def _usage(data: bytes) -> int:
    return int(data.split(b'"completion_tokens":')[1].split(b",")[0])


def _result(sent: int, times: list[int], finish: int, tokens: int | None) -> dict[str, Any]:
    tpot = (finish - times[0]) / 1e6 / (tokens - 1) if tokens and tokens > 1 else None
    return {"ttft_ms": (times[0] - sent) / 1e6, "tpot_ms": tpot, "predicted_n": tokens, "chunks": len(times)}


def main(name: str) -> None:
    """Answer each line of stdin with one of stdout."""
    ask = {"own": own, "raw": raw, "urllib": naive}[name]
    for line in sys.stdin:
        given = json.loads(line)
        cpu, start = time.process_time_ns(), time.perf_counter_ns()
        try:
            found = ask(given["port"], given["body"])
        except Exception as error:  # a reader that fails has lost its request, and the others go on
            found = {"problem": f"{type(error).__name__}: {error}"}
        found["cpu_ms"] = (time.process_time_ns() - cpu) / 1e6
        found["wall_ms"] = (time.perf_counter_ns() - start) / 1e6
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
