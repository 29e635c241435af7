"""Numbers and sentences as Markdown for GitHub; each number is bracketed by comments that the audit's linter reads."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from tokentrail.figures.data import Number
from tokentrail.report.context import Report, Row
from tokentrail.report.story import TEMPLATES, Sentence

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~$&])")


def text(value: object) -> str:
    """Outside text as inert Markdown: one line, every character that could start markup escaped."""
    return fragment(str(value)).strip()


def fragment(value: str) -> str:
    """A piece of a sentence: as `text`, blanks at its ends kept. Characters that reorder or control become �."""
    line = "".join(c if c.isprintable() else "\ufffd" for c in re.sub(r"\s+", " ", value))
    return _SPECIAL.sub(lambda m: {"<": "&lt;", ">": "&gt;", "&": "&amp;"}.get(m[1], "\\" + m[1]), line)


def number(value: Number | None, run: str = "") -> str:
    """`<!--n:ID-->642.0 tokens/s<!--/n-->`, or a dash; `run` names the run of a number from elsewhere: `RUN#ID`."""
    if value is None:
        return "–"
    run = run or value.get("elsewhere", "")
    place = f"{run}#{value['id']}" if run else value["id"]
    return f"<!--n:{place}-->{value['shown']}<!--/n-->"


def sentence(pieces: Sentence) -> str:
    """One sentence."""
    return "".join(number(p) if isinstance(p, dict) else fragment(p) for p in pieces)


def sentences(items: Iterable[Sentence]) -> str:
    """A paragraph."""
    return " ".join(sentence(pieces) for pieces in items)


def document(report: Report, facts: dict[str, Any]) -> str:
    """report.md: the page's content for GitHub, without its trails."""
    loader = FileSystemLoader(TEMPLATES)
    environment = Environment(loader=loader, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    helpers = {"number": number, "sentence": sentence, "sentences": sentences}
    template = environment.get_template("report.md.j2")
    beside = report.published.name if report.published else ""
    page = template.render(report=report, md=helpers, text=text, published=published_cell, beside=beside,
                           evidence=evidence_of(report), **facts)  # fmt: skip
    return re.sub(r"\n{3,}", "\n\n", page).rstrip() + "\n"


def evidence_of(report: Report) -> Callable[[dict[str, Any]], str]:
    """How the ledger shows a number of the published run."""
    owner = report.published or report.run
    return lambda entry: number(owner.by_id[entry["number"]], owner.name if report.published else "")


def published_cell(row: Row, run: str) -> str:
    """The published number as that run shows it, starred where it is of another model or device."""
    if row.published is None:
        return ""
    return number(row.published, run) + ("" if row.same else " \\*")
