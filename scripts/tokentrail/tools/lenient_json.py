"""JSON as llama.cpp's tools really print it: bare nan and inf, cut-off arrays, log lines in between."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field

# A string, or a number that is none: C prints nan, -nan, inf; Windows -nan(ind) and 1.#QNAN.
_TOKEN = re.compile(
    r'"(?:\\.|[^"\\\n])*"|(?<![\w.])[+-]?(?:nan|infinity|inf)(?:\([a-z0-9_]*\))?(?![\w.])|[+-]?1\.#(?:qnan|snan|inf|ind)\d*',
    re.I,
)
_QUOTED = re.compile(r"^ {0,3}> ?", re.M)
# Colour codes of a terminal; not inside JSON strings, where an escape character is written as \\u001b.
ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
# An escape, or half of a UTF-16 pair without its other half, as a proxy in JavaScript cuts them: it is no character.
_ESCAPE = re.compile(r"\\(?:u[dD][89abAB]\w\w\\u[dD][c-fC-F]\w\w|(u[dD][89a-fA-F]\w\w)|.)", re.A)
_ARRAY = re.compile(r"\[\s*(?:[{\]]|\Z)")
# No count and no time has more digits; the largest float has 309.
_DIGITS = 300


def _float(text: str) -> float | None:
    """A number too large for a float is none: 1e999 would become infinity, which no product may hold."""
    value = float(text)
    return value if math.isfinite(value) else None


def _int(text: str) -> int | None:
    return int(text) if len(text) < _DIGITS else None


_OPTIONS = {"strict": False, "parse_constant": lambda _: None, "parse_float": _float, "parse_int": _int}
_DECODER = json.JSONDecoder(**_OPTIONS)


@dataclass
class Found:
    """Objects in order; `cut`: the text ends inside an object or an open array; `noise`: other lines."""

    objects: list[dict] = field(default_factory=list)
    noise: list[str] = field(default_factory=list)
    cut: bool = False
    nulled: int = 0
    broken: str | None = None


def as_text(data: str | bytes) -> str:
    """Text with LF line ends and no byte-order mark; bytes that are no UTF-8 become U+FFFD.

    A redirect of Windows PowerShell writes UTF-16 with its mark, which is read as such.
    """
    if isinstance(data, bytes):
        data = data.decode("utf-16" if data[:2] in _UTF_16 else "utf-8", errors="replace")
    return data.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def printed_text(data: str | bytes) -> str:
    """`as_text` of what a tool printed, without colour codes and, where every line has it, a quote's `> `."""
    text = ANSI.sub("", as_text(data))
    lines = [line for line in text.split("\n") if line.strip()]
    return _QUOTED.sub("", text) if lines and all(_QUOTED.match(line) for line in lines) else text


def whole_characters(text: str) -> str:
    """JSON text with every escaped half of a character as \\ufffd: what is read can be written again as UTF-8."""
    return _ESCAPE.sub(lambda m: "\\ufffd" if m[1] else m[0], text) if "\\u" in text else text


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
    """One JSON value, bare nan and inf read as null; ValueError as json.loads gives it, or nested too deep."""
    try:
        return json.loads(null_bare_numbers(whole_characters(text))[0], **_OPTIONS)
    except RecursionError:
        raise ValueError("nested too deep") from None


def objects(text: str) -> Found:
    """Every top-level object of an array, of JSON lines, or of either with other lines mixed in."""
    text, nulled = null_bare_numbers(whole_characters(printed_text(text)))
    found, at, depth = Found(nulled=nulled), 0, 0
    while at < len(text):
        char = text[at]
        if char in " \t\n,":
            at += 1
        elif char == "[" and _ARRAY.match(text, at):
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
    except (ValueError, RecursionError) as error:
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
