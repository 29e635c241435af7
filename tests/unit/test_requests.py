"""The client: what it sends, what it stores, and that no fault of the server loses a byte."""

from __future__ import annotations

import gc
import json
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tokentrail.measuring import requests

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunk(data: bytes) -> bytes:
    """One HTTP chunk."""
    return b"%x\r\n%s\r\n" % (len(data), data)


@pytest.fixture
def serve():
    """A server for one connection: serve(play) -> (port, list of what was received)."""
    threads = []

    def start(play: Callable[[socket.socket], None]) -> tuple[int, list[bytes]]:
        listener = socket.create_server(("127.0.0.1", 0))
        received: list[bytes] = []

        def answer() -> None:
            connection, _ = listener.accept()
            with listener, connection:
                data = b""
                while b"\r\n\r\n" not in data or len(data.partition(b"\r\n\r\n")[2]) < length(data):
                    data += connection.recv(65536)
                received.append(data)
                play(connection)

        thread = threading.Thread(target=answer)
        thread.start()
        threads.append(thread)
        return listener.getsockname()[1], received

    yield start
    for thread in threads:
        thread.join(10)


def length(data: bytes) -> int:
    """Content-Length of a request's head."""
    return int(data.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])


def ask(port: int, timeout_s: float = 5.0) -> requests.Exchange:
    return requests.exchange(port, requests.encode(port, requests.body("Grüße?", 4, "m")), timeout_s)


def test_whole_answer(serve) -> None:
    """Every byte, in order, each piece with a rising time after the request was sent."""

    def play(connection: socket.socket) -> None:
        connection.sendall(HEAD)
        for word in (b"data: a\n\n", b"data: b\n\n"):
            time.sleep(0.02)
            connection.sendall(chunk(word))
        connection.sendall(b"0\r\n\r\n")

    port, _ = serve(play)

    found = ask(port)

    times = [t for t, _ in found.chunks]
    assert found.problem is None
    assert found.status == 200
    assert found.data == HEAD + chunk(b"data: a\n\n") + chunk(b"data: b\n\n") + b"0\r\n\r\n"
    assert times == sorted(times)
    assert times[0] > found.sent_ns
    # the head and the first event may be read together on a busy machine
    assert times[-1] - times[0] > 15_000_000
    assert 0 < found.cpu_ns < times[-1] - found.sent_ns
    assert gc.isenabled()


def test_what_is_sent(serve) -> None:
    """The lesson's body, UTF-8 as it is, and a connection that ends with the answer."""
    port, received = serve(lambda c: c.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))

    ask(port)

    head, _, content = received[0].partition(b"\r\n\r\n")
    sent = json.loads(content)
    assert b"POST /v1/chat/completions HTTP/1.1" in head
    assert b"Connection: close" in head
    assert "Grüße?".encode() in content
    assert sent["messages"] == [{"role": "user", "content": "Grüße?"}]
    assert (sent["max_tokens"], sent["temperature"], sent["cache_prompt"], sent["stream"]) == (4, 0, False, True)


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (b"", "without an answer"),
        (HEAD + chunk(b"data: a\n\n"), "cut off"),
        (HEAD + b"ff\r\nhalf", "cut off"),
        (HEAD[:40], "cut off"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort", "cut off"),
        (b"SSH-2.0-OpenSSH_9.2\r\n\r\n", "no proper HTTP"),
    ],
    ids=["nothing", "after a chunk", "in a chunk", "in the head", "in a body of known length", "another protocol"],
)
def test_cut(serve, answer: bytes, problem: str) -> None:
    """What came is kept, and the fault is named."""
    port, _ = serve(lambda c: c.sendall(answer))

    found = ask(port)

    assert found.data == answer
    assert problem in found.problem


def test_refused() -> None:
    """Nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        found = ask(free.getsockname()[1])

    assert "refused" in found.problem
    assert found.status is None


def test_silent_server(serve) -> None:
    """No byte for the whole limit."""
    port, _ = serve(lambda c: time.sleep(0.6))

    found = ask(port, 0.2)

    assert found.problem == "no bytes for 0.2 s"


def test_endless_answer(serve) -> None:
    """Pings keep a connection alive for ever; the limit counts all the same, and what came is kept."""

    def play(connection: socket.socket) -> None:
        connection.sendall(HEAD)
        for _ in range(40):
            time.sleep(0.02)
            try:
                connection.sendall(chunk(b":\n\n"))
            except OSError:
                return

    port, _ = serve(play)

    found = ask(port, 0.3)

    assert "had not ended after 0.3 s" in found.problem
    assert found.chunks


def test_error_status(serve) -> None:
    """Another status is a complete answer too."""
    port, _ = serve(lambda c: c.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 2\r\n\r\n{}"))

    found = ask(port)

    assert (found.status, found.problem) == (400, None)


def test_chunks_round_trip(tmp_path: Path) -> None:
    """Any bytes survive, half of a UTF-8 character as well."""
    chunks = [(1, b"\xf0\x9f"), (2, b"\x98\x80\r\n"), (3, bytes(range(256)))]

    requests.write_chunks(tmp_path / "c.jsonl", chunks)

    assert chunks == requests.read_chunks(tmp_path / "c.jsonl")


def test_rounds() -> None:
    """Round by round: drift of the machine then hits all kinds of request alike."""
    planned = [{"name": "warm-up"}, {"name": "a", "repetitions": 3}, {"name": "b", "repetitions": 2}]

    assert [r["name"] for r in requests.rounds(planned)] == ["warm-up", "a", "b", "a", "b", "a"]
    assert list(requests.rounds([])) == []
