"""A client that times a streamed answer and does nothing else meanwhile.

One raw socket per request: the bytes sent were prepared before, each piece received gets a time stamp the moment the
system call returns, and nothing is parsed, written or collected as garbage until the answer has ended. Parsing comes
later, from the stored bytes (tokentrail.tools.server_stream).
"""

from __future__ import annotations

import base64
import gc
import json
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h11

from tokentrail.measuring.child import utc_now

PATH = "/v1/chat/completions"
# One read takes what has arrived; a token's event has a few hundred bytes.
READ_BYTES = 65536
SEED = 42


@dataclass
class Exchange:
    """One request and every byte of its answer: `chunks` = [(monotonic ns, bytes)]. Times in ns."""

    sent_at: str
    sent_ns: int
    chunks: list[tuple[int, bytes]] = field(default_factory=list)
    cpu_ns: int = 0
    problem: str | None = None

    @property
    def data(self) -> bytes:
        """The whole answer, head and body."""
        return b"".join(data for _, data in self.chunks)

    @property
    def status(self) -> int | None:
        """HTTP status; None when no status line came."""
        words = self.data.split(b"\r\n", 1)[0].split()
        return int(words[1]) if len(words) > 1 and words[0].startswith(b"HTTP/") and words[1].isdigit() else None


def body(prompt: str, max_tokens: int, model: str) -> dict[str, Any]:
    """The lesson's request: greedy, streamed, the prompt not read from a cache; usage counted by the server."""
    return {
        "model": model,
        "messages": [{"role": "user", "content": prompt}],
        "max_tokens": max_tokens,
        "temperature": 0,
        "seed": SEED,
        "stream": True,
        "stream_options": {"include_usage": True},
        "cache_prompt": False,
    }


def encode(port: int, content: dict[str, Any]) -> bytes:
    """The request as it goes over the wire, in one piece; the server closes the connection after its answer."""
    text = json.dumps(content, ensure_ascii=False, sort_keys=True).encode("utf-8")
    head = (
        f"POST {PATH} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
        f"Accept: text/event-stream\r\nConnection: close\r\nContent-Length: {len(text)}\r\n\r\n"
    )
    return head.encode("ascii") + text


def exchange(port: int, request: bytes, timeout_s: float) -> Exchange:
    """Send one request and receive until the server closes. Faults are recorded in `problem`, never raised.

    `timeout_s` limits each wait for bytes; together with the time already spent it also limits the whole answer.
    """
    # Nothing is collected right before a request either: where the server kept all cores busy, answers to a client that
    # had just used CPU time came later in two runs of three (docs/peers.md).
    collecting = gc.isenabled()
    gc.disable()
    found = Exchange(sent_at=utc_now(), sent_ns=time.perf_counter_ns())
    cpu_before = time.process_time_ns()
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=timeout_s) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            _converse(connection, request, found, timeout_s)
    except TimeoutError:
        found.problem = f"no bytes for {timeout_s:g} s"
    except OSError as error:
        found.problem = f"the connection broke: {error.strerror or error}"
    finally:
        found.cpu_ns = time.process_time_ns() - cpu_before
        if collecting:
            gc.enable()
    found.problem = found.problem or unfinished(found.data)
    return found


def _converse(connection: socket.socket, request: bytes, found: Exchange, timeout_s: float) -> None:
    """The timed part: send, then stamp whatever arrives."""
    now, receive, append = time.perf_counter_ns, connection.recv, found.chunks.append
    found.sent_at = utc_now()
    # before the call, not after: on a busy machine the server may be at work before this thread runs again
    found.sent_ns = now()
    connection.sendall(request)
    last = found.sent_ns + int(timeout_s * 1e9)
    while data := receive(READ_BYTES):
        stamp = now()
        append((stamp, data))
        if stamp > last:
            found.problem = f"the answer had not ended after {timeout_s:g} s"
            return


def unfinished(data: bytes) -> str | None:
    """What is wrong with the framing of an answer (cut, empty, no HTTP); None when it is complete."""
    if not data:
        return "the server closed the connection without an answer"
    reader = h11.Connection(h11.CLIENT)
    reader.send(h11.Request(method="POST", target=PATH, headers=[("Host", "x"), ("Content-Length", "0")]))
    reader.send(h11.EndOfMessage())
    try:
        reader.receive_data(data)
        reader.receive_data(b"")
        while True:
            event = reader.next_event()
            if isinstance(event, h11.EndOfMessage):
                return None
            if event in (h11.NEED_DATA, h11.PAUSED) or isinstance(event, h11.ConnectionClosed):
                return "the answer was cut off before its end"
    except h11.RemoteProtocolError as error:
        cut = "closed" in str(error) or "without sending complete" in str(error)
        return "the answer was cut off before its end" if cut else f"the answer is no proper HTTP ({error})"


def write_chunks(path: Path, chunks: list[tuple[int, bytes]]) -> None:
    """JSON lines {"t_ns", "data"}: every piece with its arrival time; data in base64, since it may be any bytes."""
    lines = (json.dumps({"t_ns": t, "data": base64.b64encode(data).decode("ascii")}) for t, data in chunks)
    path.write_text("".join(line + "\n" for line in lines), encoding="ascii")


def read_chunks(path: Path) -> list[tuple[int, bytes]]:
    """What `write_chunks` wrote."""
    lines = map(json.loads, path.read_text(encoding="ascii").splitlines())
    return [(line["t_ns"], base64.b64decode(line["data"])) for line in lines]


def rounds(requests: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The requests in the order they are sent: all of them once, then those with repetitions left, and so on."""
    for turn in range(max((r.get("repetitions", 1) for r in requests), default=0)):
        yield from (r for r in requests if turn < r.get("repetitions", 1))
