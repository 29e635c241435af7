"""An HTTP answer from the bytes received, each with its arrival time (RFC 9112, read by h11)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import h11


@dataclass
class Answer:
    """status None: no HTTP status line came. body: (arrival ns, bytes) pieces, transfer coding removed.

    complete: the body ended as its framing announced. fault: why the bytes are no HTTP, in words.
    """

    status: int | None = None
    headers: dict[str, str] = field(default_factory=dict)
    headers_ns: int | None = None
    first_byte_ns: int | None = None
    last_byte_ns: int | None = None
    body: list[tuple[int, bytes]] = field(default_factory=list)
    complete: bool = False
    fault: str | None = None

    @property
    def content_type(self) -> str:
        """Media type without parameters, lower case; "" where none is given."""
        return self.headers.get("content-type", "").split(";")[0].strip().lower()

    @property
    def whole_body(self) -> bytes:
        """All bytes of the body."""
        return b"".join(data for _, data in self.body)


def read(chunks: Iterable[tuple[int, bytes]]) -> Answer:
    """Parse what one connection received; chunks: (arrival time in ns, bytes) as each recv returned them."""
    answer = Answer()
    connection = h11.Connection(our_role=h11.CLIENT)
    # h11 reads an answer only after a request; which one does not matter to the framing of a POST's answer.
    connection.send(h11.Request(method="POST", target="/", headers=[("Host", "x"), ("Content-Length", "0")]))
    connection.send(h11.EndOfMessage())
    try:
        for t_ns, data in chunks:
            if not data:
                continue
            answer.first_byte_ns = t_ns if answer.first_byte_ns is None else answer.first_byte_ns
            answer.last_byte_ns = t_ns
            connection.receive_data(data)
            if _drain(connection, answer, t_ns):
                return answer
        connection.receive_data(b"")
        _drain(connection, answer, answer.last_byte_ns or 0)
    except h11.RemoteProtocolError as error:
        answer.fault = str(error)
    return answer


def _drain(connection: h11.Connection, answer: Answer, t_ns: int) -> bool:
    """Take every event the bytes so far complete; True when the answer has ended."""
    while True:
        event = connection.next_event()
        if event is h11.NEED_DATA or event is h11.PAUSED or isinstance(event, h11.ConnectionClosed):
            return False
        if isinstance(event, h11.Response):
            answer.status, answer.headers_ns = event.status_code, t_ns
            answer.headers = {name.decode().lower(): value.decode("latin-1") for name, value in event.headers}
        elif isinstance(event, h11.Data):
            answer.body.append((t_ns, bytes(event.data)))
        elif isinstance(event, h11.EndOfMessage):
            answer.complete = True
            return True
