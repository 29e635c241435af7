"""Numbers and sentences as safe HTML. Whatever text comes from outside is escaped here or by the templates."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from tokentrail.figures.data import Number
from tokentrail.report.story import TEMPLATES, Sentence

PUNCTUATION = tuple(".,;:)?")


def environment() -> Environment:
    """Templates of reports/templates: everything is escaped, nothing may be undefined."""
    loader = FileSystemLoader(TEMPLATES)
    return Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)


def script_json(value: Any) -> Markup:
    """JSON that can stand inside a script element: no `<`, `>`, `&` or line separators of its own."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


@dataclass
class Buttons:
    """Makes numbers clickable; the first button of each id carries the anchor that links point to."""

    anchored: set[str] = field(default_factory=set)

    def number(self, number: Number | None, anchor: bool = True) -> Markup:
        """A number as a button that opens its trail; a dash where there is none. `anchor` may carry the link's id."""
        if number is None:
            return Markup('<span class="none">–</span>')
        number_id = number["id"]
        place = Markup("")
        if anchor and number_id not in self.anchored:
            place = Markup(' id="n-{}"').format(number_id)
            self.anchored.add(number_id)
        doubt = "" if number["valid"] else " doubtful"
        name = f"{number['shown']}: {number['label']}. Where it comes from"
        return Markup(
            '<button type="button" class="number{}" data-number="{}"{} '
            'aria-haspopup="dialog" aria-label="{}">{}</button>'
        ).format(doubt, number_id, place, name, number["shown"])

    def sentence(self, pieces: Sentence) -> Markup:
        """Text escaped, numbers as buttons."""
        made: list[Markup] = []
        for piece in pieces:
            if isinstance(piece, str) and piece[:1] in PUNCTUATION and made:
                # a browser may break a line after a button: keep what closes the clause with it
                made[-1] = Markup('<span class="together">{}{}</span>').format(made[-1], piece[:1])
                piece = piece[1:]
            made.append(self.number(piece) if isinstance(piece, dict) else escape(piece))
        return Markup("").join(made)

    def sentences(self, sentences: Iterable[Sentence]) -> Markup:
        """A paragraph's sentences."""
        return Markup(" ").join(self.sentence(pieces) for pieces in sentences)

    def plain(self, pieces: Sentence) -> Markup:
        """The same sentence without buttons, where pressing one would give an answer away."""
        return Markup("").join(escape(p["shown"] if isinstance(p, dict) else p) for p in pieces)
