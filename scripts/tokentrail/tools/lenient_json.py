"""JSON as llama.cpp's tools really print it: bare nan and inf, cut-off arrays, log lines in between."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

# A string, or a number that is none: C prints nan, -nan, inf; Windows -nan(ind) and 1.#QNAN.
_TOKEN = re.compile(
    r'"(?:\\.|[^"\\\n])*"|(?<![\w.])[+-]?(?:nan|infinity|inf)(?:\([a-z0-9_]*\))?(?![\w.])|[+-]?1\.#(?:qnan|snan|inf|ind)\d*',
    re.I,
)
_DECODER = json.JSONDecoder(strict=False, parse_constant=lambda _: None)


@dataclass
class Found:
    """Objects in order; `cut`: the text ends inside an object or an open array; `noise`: other lines."""

    objects: list[dict] = field(default_factory=list)
    noise: list[str] = field(default_factory=list)
    cut: bool = False
    nulled: int = 0
    broken: str | None = None


def as_text(data: str | bytes) -> str:
    """Text with LF line ends and no byte-order mark; bytes that are no UTF-8 become U+FFFD."""
    if isinstance(data, bytes):
        data = data.decode("utf-8", errors="replace")
    return data.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def null_bare_numbers(text: str) -> tuple[str, int]:
    """Replace nan, -nan, inf … outside strings by null; returns the text and how many were replaced."""
    count = 0

    def swap(match: re.Match) -> str:
        nonlocal count
        if match[0].startswith('"'):
            return match[0]
        count += 1
        return "null"

    return _TOKEN.sub(swap, text), count


def loads(text: str) -> object:
    """One JSON value, bare nan and inf read as null; ValueError as json.loads gives it."""
    return json.loads(null_bare_numbers(text)[0], strict=False, parse_constant=lambda _: None)


def objects(text: str) -> Found:
    """Every top-level object of an array, of JSON lines, or of either with other lines mixed in."""
    text, nulled = null_bare_numbers(as_text(text))
    found, at, depth = Found(nulled=nulled), 0, 0
    while at < len(text):
        char = text[at]
        if char in " \t\n,":
            at += 1
        elif char == "[" and text[at + 1 :].lstrip()[:1] in ("", "{", "]"):
            depth, at = depth + 1, at + 1
        elif char == "]" and depth:
            depth, at = depth - 1, at + 1
        elif char == "{":
            at = _one_object(text, at, found)
        else:
            at = _noise(text, at, found)
    found.cut = found.cut or depth > 0
    return found


def _one_object(text: str, at: int, found: Found) -> int:
    try:
        value, end = _DECODER.raw_decode(text, at)
    except ValueError as error:
        # Cut off: nothing but this object's own lines follows. Broken: it goes on wrongly.
        line = text.count("\n", 0, getattr(error, "pos", at)) + 1
        if getattr(error, "pos", at) >= len(text.rstrip()) or "Unterminated" in str(error):
            found.cut = True
            return len(text)
        found.broken = found.broken or f"line {line} is no JSON ({getattr(error, 'msg', error)})"
        return _noise(text, at, found)
    found.objects.append(value)
    return end


def _noise(text: str, at: int, found: Found) -> int:
    end = text.find("\n", at)
    end = len(text) if end < 0 else end
    found.noise.append(text[at:end].strip())
    return end
