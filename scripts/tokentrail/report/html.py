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
LONG = 17  # characters: a number that may be broken over two lines of a table


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
    elsewhere: str = ""  # the page of the run that numbers marked as from elsewhere lie on

    def number(self, number: Number | None, anchor: bool = True) -> Markup:
        """A number as a button that opens its trail; a dash where there is none. `anchor` may carry the link's id."""
        if number is None:
            return Markup('<span class="none">–</span>')
        number_id = number["id"]
        if number.get("elsewhere"):
            return Markup('<a class="published" href="{}#n-{}" aria-label="{} in the published run: {}">{}</a>').format(
                self.elsewhere, number_id, number["shown"], number["label"], number["shown"]
            )
        place = Markup("")
        if anchor and number_id not in self.anchored:
            place = Markup(' id="n-{}"').format(number_id)
            self.anchored.add(number_id)
        doubt = ("" if number["valid"] else " doubtful") + (" long" if len(number["shown"]) > LONG else "")
        name = f"{number['shown']}: {number['label']}. Where it comes from"
        return Markup(
            '<button type="button" class="number{}" data-number="{}"{} '
            'aria-haspopup="dialog" aria-label="{}">{}</button>'
        ).format(doubt, number_id, place, name, number["shown"])

    def sentence(self, pieces: Sentence) -> Markup:
        """Text escaped, numbers as buttons."""
        texts = ["" if isinstance(piece, dict) else piece for piece in ["", *pieces, ""]]
        made: list[Markup] = []
        for i, piece in enumerate(pieces, 1):
            # a browser may break a line beside a button: what opens or closes the clause stays with it
            before = "(" if texts[i - 1].endswith("(") else ""
            after = texts[i + 1][:1] if texts[i + 1][:1] in PUNCTUATION else ""
            if isinstance(piece, dict):
                button = self.number(piece)
                alone = not (before or after)
                made.append(
                    button if alone else Markup('<span class="together">{}{}{}</span>').format(before, button, after)
                )
                texts[i + 1] = texts[i + 1].removeprefix(after)
            else:
                opens = i < len(pieces) and isinstance(pieces[i], dict)
                made.append(escape(texts[i].removesuffix("(") if opens else texts[i]))
        return Markup("").join(made)

    def sentences(self, sentences: Iterable[Sentence]) -> Markup:
        """A paragraph's sentences."""
        return Markup(" ").join(self.sentence(pieces) for pieces in sentences)

    def plain(self, pieces: Sentence) -> Markup:
        """The same sentence without buttons, where pressing one would give an answer away."""
        return Markup("").join(escape(p["shown"] if isinstance(p, dict) else p) for p in pieces)
