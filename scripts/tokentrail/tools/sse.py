"""Server-sent events from bytes that arrive in any pieces (WHATWG HTML, 9.2.6), each event with its time."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

# Not str.splitlines, which also breaks at U+2028 and others that may stand in a token's text.
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


@dataclass(frozen=True)
class Event:
    """t_ns: arrival of the piece that completed it (None without times); name: its `event` or field name."""

    t_ns: int | None
    name: str
    data: str


class Decoder:
    """Feed pieces, get the events each completes; lines end with LF, CRLF or CR, characters may be cut.

    Beyond the standard, a line `error: {…}` (llama-server before #16109) is an event named error.
    """

    def __init__(self) -> None:
        self._decode = codecs.getincrementaldecoder("utf-8-sig")(errors="replace")
        self._line, self._after_cr = "", False
        self._data: list[str] = []
        self._name = "message"
        self.comments = 0
        self.damaged = False

    def feed(self, t_ns: int | None, piece: bytes) -> list[Event]:
        """Events completed by this piece."""
        text = self._decode.decode(piece)
        self.damaged = self.damaged or "\ufffd" in text
        return self._take(t_ns, text)

    def close(self, t_ns: int | None) -> list[Event]:
        """What is left when the stream has ended: an event without its empty line, if it is whole."""
        events = self._take(t_ns, self._decode.decode(b"", final=True))
        if self._line:
            events += self._end_of_line(t_ns)
        return events + self._dispatch(t_ns)

    def _take(self, t_ns: int | None, text: str) -> list[Event]:
        events: list[Event] = []
        for piece in _LINE.findall(text):
            body = piece.rstrip("\r\n")
            # A CR at the end of a piece ended its line already; a LF right after it belongs to it.
            if self._after_cr and piece == "\n":
                self._after_cr = False
                continue
            self._after_cr = piece.endswith("\r")
            self._line += body
            if len(piece) > len(body):
                events += self._end_of_line(t_ns)
        return events

    def _end_of_line(self, t_ns: int | None) -> list[Event]:
        line, self._line = self._line, ""
        if not line:
            return self._dispatch(t_ns)
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if not name:
            self.comments += 1
        elif name == "data":
            self._data.append(value)
        elif name == "event":
            self._name = value
        elif name == "error":
            return [Event(t_ns, "error", value)]
        return []

    def _dispatch(self, t_ns: int | None) -> list[Event]:
        name, data = self._name, self._data
        self._name, self._data = "message", []
        return [Event(t_ns, name, "\n".join(data))] if data else []
