"""Numbers and sentences as Markdown for GitHub; each number is bracketed by comments that the audit's linter reads."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tokentrail.figures.data import Number
from tokentrail.report.story import Sentence

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~$&])")


def text(value: object) -> str:
    """Outside text as inert Markdown: one line, every character that could start markup escaped."""
    line = " ".join(str(value).split())
    return _SPECIAL.sub(lambda m: {"<": "&lt;", ">": "&gt;", "&": "&amp;"}.get(m[1], "\\" + m[1]), line)


def number(value: Number | None) -> str:
    """`<!--n:ID-->642.0 tokens/s<!--/n-->`, or a dash."""
    return f"<!--n:{value['id']}-->{value['shown']}<!--/n-->" if value else "–"


def sentence(pieces: Sentence) -> str:
    """One sentence."""
    return "".join(number(p) if isinstance(p, dict) else text(p) for p in pieces)


def sentences(items: Iterable[Sentence]) -> str:
    """A paragraph."""
    return " ".join(sentence(pieces) for pieces in items)
