"""What the events of one streamed answer say, put together: text, times, tokens, timings, end."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, field

from tokentrail.tools import lenient_json, sse


@dataclass
class Seen:
    """State of one answer. outputs: arrival (ns or None) of each event with text, reasoning or a tool call."""

    outputs: list[int | None] = field(default_factory=list)
    content: str | None = None
    reasoning: str = ""
    finish_reason: str | None = None
    finish_ns: int | None = None
    done: bool = False
    done_ns: int | None = None
    timings: dict = field(default_factory=dict)
    usage: dict = field(default_factory=dict)
    progress: dict = field(default_factory=dict)
    error: dict | None = None
    bad_event: str | None = None
    joined: bool = False
    model: str | None = None
    fingerprint: str | None = None
    choices: int = 1
    events: int = 0
    pings: int = 0
    damaged: bool = False

    @property
    def tokens(self) -> int | None:
        """Generated tokens as the server counts them, the end-of-sequence token included."""
        return count(self.timings.get("predicted_n"), self.usage.get("completion_tokens"))

    @property
    def prompt_n(self) -> int | None:
        """Prompt tokens processed (those taken from the cache are not in it)."""
        total = count(self.usage.get("prompt_tokens"))
        processed = count(self.timings.get("prompt_n"))
        return processed if processed is not None or total is None else total - (self.cache_n or 0)

    @property
    def cache_n(self) -> int | None:
        """Prompt tokens from the cache, as timings or usage say, else the prompt's length less those processed."""
        details = self.usage.get("prompt_tokens_details")
        cached = details.get("cached_tokens") if isinstance(details, dict) else self.usage.get("cached_tokens")
        found = count(self.timings.get("cache_n"), cached, self.progress.get("cache"))
        total, processed = count(self.usage.get("prompt_tokens")), count(self.timings.get("prompt_n"))
        if found is None and total is not None and processed is not None:
            return max(0, total - processed)
        return found

    @property
    def first_ns(self) -> int | None:
        """Arrival of the first token."""
        return self.outputs[0] if self.outputs else None

    @property
    def last_ns(self) -> int | None:
        """Arrival of the last token.

        Cut off by its limit with an event for each token, an answer ends with its last text. Else the finish event
        stands for it: the end-of-sequence token has no text, and held-back bytes come late.
        """
        if not self.outputs:
            return None
        whole = self.finish_reason == "length" and len(self.outputs) == self.tokens
        return self.outputs[-1] if whole or self.finish_ns is None else self.finish_ns

    def gaps_ms(self) -> list[float]:
        """Times between consecutive events with text, ms."""
        times = [t for t in self.outputs if t is not None]
        return [(b - a) / 1e6 for a, b in itertools.pairwise(times)]

    def reported(self) -> dict:
        """The server's own figures, verbatim."""
        found = {"timings": self.timings, "usage": self.usage, "prompt_progress": self.progress}
        return {k: v for k, v in found.items() if v} | {"events": self.events, "pings": self.pings}


def collect(pieces: Iterable[tuple[int | None, bytes]], seen: Seen) -> None:
    """Read all pieces of a body into `seen`; after [DONE] nothing counts any more."""
    decoder, t_ns = sse.Decoder(), None
    for t_ns, piece in pieces:
        for event in decoder.feed(t_ns, piece):
            _take(event, seen)
    for event in decoder.close(t_ns):
        # An event that the end of the stream cut short is not an event, let alone a faulty one.
        if _whole(event):
            _take(event, seen)
        elif event.data.count("\n") and "[DONE]" in event.data.split("\n"):
            seen.joined = True
    seen.pings, seen.damaged = decoder.comments, decoder.damaged


def _whole(event: sse.Event) -> bool:
    if event.data.strip() == "[DONE]":
        return True
    try:
        lenient_json.loads(event.data)
    except ValueError:
        return False
    return True


def _take(event: sse.Event, seen: Seen) -> None:
    if seen.done:
        return
    if event.data.strip() == "[DONE]":
        seen.done, seen.done_ns = True, event.t_ns
        return
    seen.events += 1
    try:
        value = lenient_json.loads(event.data)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        if event.name == "error":
            seen.error = {"message": event.data}
        else:
            seen.bad_event = seen.bad_event or event.data
        return
    if event.name == "error" or value.get("error"):
        error = value.get("error", value)
        seen.error = error if isinstance(error, dict) else {"message": str(error)}
        return
    for name, field_name in (("timings", "timings"), ("usage", "usage"), ("prompt_progress", "progress")):
        if isinstance(value.get(name), dict) and value[name]:
            setattr(seen, field_name, value[name])
    seen.model = _text(value.get("model")) or seen.model
    seen.fingerprint = _text(value.get("system_fingerprint")) or seen.fingerprint
    if "choices" in value:
        choices = value["choices"] if isinstance(value["choices"], list) else []
        for choice in filter(lambda c: isinstance(c, dict), choices):
            _choice(choice, event.t_ns, seen)
    elif "content" in value:
        _native(value, event.t_ns, seen)


def _choice(choice: dict, t_ns: int | None, seen: Seen) -> None:
    place = count(choice.get("index")) or 0
    seen.choices = max(seen.choices, place + 1)
    if place:
        return
    delta = choice.get("delta") or choice.get("message")
    delta = delta if isinstance(delta, dict) else {}
    text = _text(delta.get("content")) or _text(choice.get("text"))
    thought = _text(delta.get("reasoning_content")) or _text(delta.get("reasoning"))
    _output(text, thought, bool(delta.get("tool_calls")), t_ns, seen)
    # Some servers repeat the finish with the usage; the first one is when the answer ended.
    if choice.get("finish_reason") and seen.finish_reason is None:
        seen.finish_reason, seen.finish_ns = _text(choice["finish_reason"]) or "unknown", t_ns


def _native(value: dict, t_ns: int | None, seen: Seen) -> None:
    """llama-server's own /completion: content and stop at top level, no [DONE] after the last event."""
    _output(_text(value.get("content")), None, False, t_ns, seen)
    if value.get("stop"):
        kinds = {"limit": "length", "eos": "stop", "word": "stop"}
        seen.finish_reason, seen.finish_ns = kinds.get(value.get("stop_type"), "stop"), t_ns
        seen.done, seen.done_ns = True, t_ns


def _output(text: str | None, thought: str | None, called: bool, t_ns: int | None, seen: Seen) -> None:
    if text:
        seen.content = (seen.content or "") + text
    if thought:
        seen.reasoning += thought
    if text or thought or called:
        seen.outputs.append(t_ns)


def _text(value: object) -> str | None:
    """Text of a delta: a string, or the text parts of a list of parts, as some servers send it."""
    if isinstance(value, list):
        parts = [part.get("text") for part in value if isinstance(part, dict)]
        return "".join(part for part in parts if isinstance(part, str)) or None
    return value if isinstance(value, str) else None


def count(*values: object) -> int | None:
    """The first of the values that is a count; a server may write it as 4 or as 4.0, and −1 for unknown."""
    numbers = (v for v in values if isinstance(v, int | float) and not isinstance(v, bool))
    return next((int(v) for v in numbers if 0 <= v < 2**31 and v == int(v)), None)
