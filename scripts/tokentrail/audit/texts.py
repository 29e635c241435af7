"""Numbers in the project's Markdown and HTML: each comes from numbers.json, or is found and named here.

A measured number in Markdown stands between comments, `<!--n:ID-->642.0 tokens/s<!--/n-->`: in a run's own report the
id alone, elsewhere `RUN#ID`. In HTML it is an element with data-number="ID" (or RUN#ID), or a link to the number's
place on its run's page, `<a href="…RUN/index.html#n-ID">`. Whatever looks measured
(a figure with a unit of rate, bandwidth or time) and is not marked, was retyped. Code blocks are not read.
"""

from __future__ import annotations

import html
import posixpath
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tokentrail.audit import lookup
from tokentrail.report import words

_MARK = re.compile(r"<!--\s*n:([^>]*?)\s*-->(.*?)<!--\s*/n\s*-->", re.S)
_BUTTON = re.compile(r"<(\w+)\b[^>]*?\bdata-number=\"([^\"]+)\"[^>]*>(.*?)</\1>", re.S)
_LINK = re.compile(r"<a\b[^>]*?\bhref=\"([^\"]*?)(?:index\.html)?#n-([^\"]+)\"[^>]*>(.*?)</a>", re.S)
_TAGS = re.compile(r"<[^>]+>")
_HIDDEN = re.compile(r"<(script|style|svg|pre|code|template)\b.*?</\1>|<!--.*?-->", re.S | re.I)
_CODE = re.compile(r"^(```|~~~).*?^\1[^\n]*$|`[^`\n]*`|^ {4,}\S[^\n]*$", re.S | re.M)
# rates, bandwidths and times are what runs measure; sizes and counts of the lesson's set-up may be written
_LOOKS = re.compile(
    r"(?<![\w.,#/-])(\d[\d,]*(?:\.\d+)?)\s*(tokens/s|tokens? (?:a|per) second|tok/s|t/s|GB/s|GB (?:a|per) second|TB/s|"
    r"TFLOP/s|TFLOPS|J/token|ms\b|USD\b)",
    re.I,
)
# A ratio or a share has no unit of its own ("5 times", "95 %" may be anything): it is a retyped number only where a
# stored number or a claim says just that, in a line about what runs measure.
_RATIO = re.compile(
    r"(?<![\w.,#/-])(\d[\d,]*\.\d+|\d{2,})\s*(×(?!\s*[\w(])|%|"
    r"times(?= (?:as|faster|slower|more|less|longer|the|over)\b))"
)
_ABOUT_RUNS = re.compile(r"prefill|decode|bandwidth|\bGPU|\bCPU|users?\b|batch|flash|token", re.I)
# what a committed text may say without a run behind it is written with this mark and its source
_STATED = re.compile(r"<!--\s*stated:[^>]+-->.*?<!--\s*/stated\s*-->", re.S)


def check_texts(
    root: Path,
    files: Sequence[Path],
    documents: Mapping[str, Mapping[str, Any]],
    claims: Sequence[Mapping[str, Any]] = (),
) -> list[dict[str, Any]]:
    """[{"file", "line", "what"}] of every number in the texts that does not come from numbers.json.

    Pages below reports/ are rendered: figures in their drawings and tables need no mark, but each must be a value or an
    end of an interval of a stored run, one of its samples ("samples": [(value, unit)]), or a claim's printed text.
    """
    said = {f"{end} {words.unit_of(n)}" for d in documents.values() for n in d["numbers"] for end in words.ends(n)}
    shown = {run: {n["id"]: n["shown"] for n in d["numbers"]} for run, d in documents.items()}
    faults = []
    for path in files:
        name = path.relative_to(root).as_posix()
        text = path.read_text(encoding="utf-8", errors="replace")
        run = own_run(name)
        for at, place, found in _marked(path, text):
            what = _compare(place, found, run, shown)
            if what:
                faults.append({"file": name, "line": text.count("\n", 0, at) + 1, "what": what})
        rendered = name.startswith("reports/")
        for at, found in _unmarked(path, text):
            if rendered and (found in said or is_stored(found, documents, claims)):
                continue
            what = f"{found} looks measured, but no number stands behind it: mark it, or take it out"
            faults.append({"file": name, "line": text.count("\n", 0, at) + 1, "what": what})
        for at, found in [] if rendered else _ratios(path, text):
            if is_stored(found, documents, claims):
                what = f"{found} is what a stored number says, retyped: mark it, or take it out"
                faults.append({"file": name, "line": text.count("\n", 0, at) + 1, "what": what})
    return faults


def own_run(name: str) -> str | None:
    """The run of reports/{machine}/{engine}/{campaign}/…, whose numbers need no run's name."""
    parts = name.split("/")
    return "/".join(parts[1:4]) if parts[0] == "reports" and len(parts) == 5 else None


def project_texts(root: Path) -> list[Path]:
    """The Markdown and HTML files that git tracks or would track, but for tests' fixtures, raw files and templates."""
    command = ["git", "-C", str(root), "ls-files", "-co", "--exclude-standard", "-z", "--", "*.md", "*.html"]
    answer = subprocess.run(command, capture_output=True, check=False) if shutil.which("git") else None
    if answer and answer.returncode == 0:
        names = [n for n in answer.stdout.decode().split("\0") if n]
    else:
        names = [p.relative_to(root).as_posix() for k in ("*.md", "*.html") for p in root.rglob(k)]
    outside = re.compile(r"(^|/)(raw|failed|fixtures|templates|\.venv|resources)/|^tests/")
    return [root / n for n in sorted(set(names)) if not outside.search(n) and (root / n).is_file()]


def _marked(path: Path, text: str) -> Iterator[tuple[int, str, str]]:
    """(offset, place, text as read) of each marked number."""
    readable = text if path.suffix == ".html" else _CODE.sub(_blank, text)
    for match in _MARK.finditer(readable):
        yield match.start(), match[1], _plain(match[2])
    if path.suffix == ".html":
        for match in _BUTTON.finditer(text):
            yield match.start(), html.unescape(match[2]), _plain(match[3])
        for match in _LINK.finditer(text):
            if match[3].strip()[:1].isdigit():  # a link in words leads to a number without stating it
                run = _linked_run(path, match[1])
                yield match.start(), html.unescape(f"{run}#{match[2]}" if run else match[2]), _plain(match[3])


def _linked_run(path: Path, link: str) -> str:
    """The run in whose folder a link ends, as seen from its page: "../lesson/" is of the page's own engine."""
    if not link:
        return ""
    folder = link if "://" in link else posixpath.normpath(f"{path.parent.as_posix()}/{link}")
    return "/".join([part for part in folder.split("/") if part][-3:])


def _unmarked(path: Path, text: str) -> Iterator[tuple[int, str]]:
    """(offset, text) of what looks measured outside marks, code and hidden parts."""
    for match in _LOOKS.finditer(_bare(path, text)):
        yield match.start(), " ".join(match[0].split())


def _ratios(path: Path, text: str) -> Iterator[tuple[int, str]]:
    """(offset, text) of ratios and shares in lines about what runs measure."""
    rest, at = _bare(path, text), 0
    for line in rest.splitlines(keepends=True):
        if _ABOUT_RUNS.search(line):
            for match in _RATIO.finditer(line):
                yield at + match.start(), " ".join(match[0].split())
        at += len(line)


def _bare(path: Path, text: str) -> str:
    """The text with marked numbers, stated figures, code, hidden parts and tags blanked out."""
    rest = _STATED.sub(_blank, _MARK.sub(_blank, text))
    if path.suffix == ".html":
        rest = _HIDDEN.sub(_blank, _LINK.sub(_blank, _BUTTON.sub(_blank, rest)))
        return _TAGS.sub(_blank, rest)
    return _HIDDEN.sub(_blank, _CODE.sub(_blank, rest))


def measured(text: str) -> list[str]:
    """Every figure in a plain text that looks measured."""
    return [" ".join(match[0].split()) for match in _LOOKS.finditer(text)]


def _blank(match: re.Match[str]) -> str:
    """Blanks for the matched text, so that offsets and lines stay."""
    return re.sub(r"[^\n]", " ", match[0])


def is_stored(found: str, documents: Mapping[str, Mapping[str, Any]], claims: Sequence[Mapping[str, Any]]) -> bool:
    """True where the text is what some stored number says: its value, an end of its interval, or a claim's text."""
    asked = lookup.parse(found)
    if asked is None:
        return False
    low, high, unit = asked
    scale = 100.0 if unit == "fraction" else 1.0
    for document in documents.values():
        for number in document["numbers"]:
            interval = number.get("interval") or {}
            values = (number["value"], interval.get("low"), interval.get("high"))
            if number["unit"] == unit and (
                lookup.parse(number["shown"]) == asked
                or any(v is not None and low <= v * scale <= high for v in values)
            ):
                return True
        if any(u == unit and low <= value <= high for value, u in document.get("samples", ())):
            return True
    return any(lookup.parse(claim["shown"]) == asked for claim in claims)


def _compare(place: str, found: str, run: str | None, shown: Mapping[str, Mapping[str, str]]) -> str | None:
    """What is wrong with one marked number, or None."""
    where, _, identifier = place.rpartition("#")
    where = where or run or ""
    if where not in shown:
        return f"number {place}: there is no run {where or '(none named)'}"
    expected = shown[where].get(identifier)
    if expected is None:
        return f"number {identifier}: run {where} has none of this id"
    if _squeeze(expected) != _squeeze(found):
        return f"number {identifier} is {expected}, but the text says {found}"
    return None


def _plain(markup: str) -> str:
    return html.unescape(_TAGS.sub("", markup)).replace("\\", "").strip()


def _squeeze(text: str) -> str:
    return re.sub(r"\s+", " ", text.replace("\u00a0", " ").replace("\u202f", " ")).strip()
