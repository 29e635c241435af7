"""Markdown tables as people paste them: columns by header name, cells verbatim."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tokentrail.tools.lenient_json import ANSI, as_text

_RULE = re.compile(r"^\s*:?-+:?\s*$")
_CELL = re.compile(r"(?<!\\)\|")
# ± in UTF-8; what other code pages, consoles and HTML make of it; and the ways to type it.
_PLUS_MINUS = re.compile(r"\s*(?:±|Â±|\+/-|\+-|&plusmn;|\\pm)\s*|\s+(?:[^\x00-\x7f]{1,3}|\?{1,2})\s+")
_EMPHASIS = re.compile(r"^(\*{1,3}|_{1,3}|`)(.+)\1$")


@dataclass(frozen=True)
class Table:
    """header: column names as printed; rows: one dict of cell texts per row; line: of the header, from 1;
    ragged: lines whose number of cells is not the header's, or a header that names a column twice (never guessed at);
    end: the line after the table's last."""

    header: list[str]
    rows: list[dict[str, str]]
    line: int
    ragged: list[int]
    end: int = 0


def tables(text: str | bytes) -> list[Table]:
    """Every table of a text, in order; quoting (`>`), indentation and a missing last bar do not matter."""
    lines = [ANSI.sub("", line) for line in as_text(text).replace("\u00a0", " ").split("\n")]
    found, at = [], 0
    while at + 1 < len(lines):
        if header := _header(lines, at):
            table, at = _table(lines, at, header)
            found.append(table)
        else:
            at += 1
    return found


def _header(lines: list[str], at: int) -> list[str]:
    """The cells of line `at` where a rule of as many follows it, else []."""
    names, rule = cells(lines[at]), cells(lines[at + 1]) if at + 1 < len(lines) else []
    return names if names and len(names) == len(rule) and all(_RULE.match(c) for c in rule) else []


def split_spread(text: str) -> tuple[str, str | None]:
    """`"7340.20 ± 23.45"` -> ("7340.20", "23.45"); without a spread the second is None."""
    parts = _PLUS_MINUS.split(text.strip(), maxsplit=1)
    return parts[0], parts[1] if len(parts) > 1 else None


def _table(lines: list[str], start: int, header: list[str]) -> tuple[Table, int]:
    rows, ragged, at = [], [start + 1] if len(set(header)) < len(header) else [], start + 2
    # Tables pasted one right after the other: the next header is no row of this one.
    while at < len(lines) and (row := cells(lines[at])) and not _header(lines, at):
        if len(row) == len(header):
            rows.append(dict(zip(header, row, strict=True)))
        else:
            ragged.append(at + 1)
        at += 1
    return Table(header, rows, start + 1, ragged, at + 1), at


def cells(line: str) -> list[str]:
    """The cells of a table line without emphasis, or [] where it is none (no bar at its start)."""
    line = re.sub(r"^[\s>]*", "", line).rstrip()
    if not line.startswith("|"):
        return []
    inner = line[1:-1] if line.endswith("|") and len(line) > 1 and not line.endswith("\\|") else line[1:]
    return [_EMPHASIS.sub(r"\2", cell.strip()).replace("\\|", "|") for cell in _CELL.split(inner)]
