"""Markdown tables as people paste them: columns by header name, cells verbatim."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tokentrail.tools.lenient_json import as_text

_RULE = re.compile(r"^\s*:?-+:?\s*$")
_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_CELL = re.compile(r"(?<!\\)\|")
# ± in UTF-8, ± read as Latin-1, and the ways to type it.
_PLUS_MINUS = re.compile(r"\s*(?:±|Â±|\+/-|\+-)\s*")


@dataclass(frozen=True)
class Table:
    """header: column names as printed; rows: one dict of cell texts per row; line: of the header, from 1;
    ragged: lines whose number of cells is not the header's (never guessed at)."""

    header: list[str]
    rows: list[dict[str, str]]
    line: int
    ragged: list[int]


def tables(text: str | bytes) -> list[Table]:
    """Every table of a text, in order; quoting (`>`), indentation and a missing last bar do not matter."""
    lines = [_ANSI.sub("", line) for line in as_text(text).replace("\u00a0", " ").split("\n")]
    found, at = [], 0
    while at + 1 < len(lines):
        header, rule = _cells(lines[at]), _cells(lines[at + 1])
        if header and rule and len(header) == len(rule) and all(_RULE.match(c) for c in rule):
            table, at = _table(lines, at, header)
            found.append(table)
        else:
            at += 1
    return found


def split_spread(text: str) -> tuple[str, str | None]:
    """`"7340.20 ± 23.45"` -> ("7340.20", "23.45"); without a spread the second is None."""
    parts = _PLUS_MINUS.split(text.strip(), maxsplit=1)
    return parts[0], parts[1] if len(parts) > 1 else None


def _table(lines: list[str], start: int, header: list[str]) -> tuple[Table, int]:
    rows, ragged, at = [], [], start + 2
    while at < len(lines) and (cells := _cells(lines[at])):
        if len(cells) == len(header):
            rows.append(dict(zip(header, cells, strict=True)))
        else:
            ragged.append(at + 1)
        at += 1
    return Table(header, rows, start + 1, ragged), at


def _cells(line: str) -> list[str]:
    """The cells of a table line, or [] where it is none (no bar at its start)."""
    line = re.sub(r"^[\s>]*", "", line).rstrip()
    if not line.startswith("|"):
        return []
    inner = line[1:-1] if line.endswith("|") and len(line) > 1 and not line.endswith("\\|") else line[1:]
    return [cell.strip().replace("\\|", "|") for cell in _CELL.split(inner)]
