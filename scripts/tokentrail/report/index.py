"""The page over all runs: one row a run, the lesson's key numbers side by side, each a link to its trail."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from tokentrail import jsonio
from tokentrail.figures import NotDrawn, runs_comparison
from tokentrail.figures.data import Number, RunData
from tokentrail.figures.save import save, save_absent
from tokentrail.report import markdown, story, svg, upgrades
from tokentrail.report.html import environment
from tokentrail.report.page import MARKS, script_hash


@dataclass
class Line:
    """One run: what it is, and its cells in the comparison's order (None: not measured)."""

    run: RunData
    facts: dict[str, str]
    cells: list[Number | None]
    patterns: dict[str, dict[str, Any]]  # what the ledger says of each of the lesson's patterns, by its id


def write_index(run_dirs: Sequence[Path], out: Path) -> None:
    """Write out/index.html, out/index.md and out/figures/runs-comparison.*."""
    folders = {folder: read(folder) for folder in run_dirs}
    runs = {run.name: (run, patterns_of(folder, run)) for folder, run in folders.items()}
    changed = upgrades.upgrades(folders)
    columns = story.load_story()["comparison"]
    lines = [line(run, columns, found) for _, (run, found) in sorted(runs.items())]
    names = [f"{item.facts['machine']} · {item.facts['campaign']}" for item in lines]
    for item, name in zip(lines, names, strict=True):
        # two builds of one machine and campaign are told apart
        item.facts["name"] = name if names.count(name) == 1 else f"{name} · {item.facts['engine']}"
    # {id: statement}; a run without a ledger has none of them
    patterns = {key: found["statement"] for item in lines for key, found in item.patterns.items()}
    drawn = draw(lines, out / "figures")
    figure = Markup(svg.inline(out / "figures" / f"{runs_comparison.NAME}.svg")) if drawn else None
    script = (story.TEMPLATES / "index.js").read_text(encoding="utf-8")
    page = environment().get_template("index.html.j2")
    html = page.render(
        lines=lines, columns=columns, patterns=patterns, marks=MARKS, figure=figure, upgrades=changed,
        script=Markup(script), script_hash=script_hash(script),
        palette=Markup(svg.css_variables()), css=Markup((story.TEMPLATES / "page.css").read_text(encoding="utf-8")),
    )  # fmt: skip
    jsonio.write_text(out / "index.html", html + "\n")
    loader = FileSystemLoader(story.TEMPLATES)
    plain = Environment(loader=loader, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    template = plain.get_template("index.md.j2")
    helpers: dict[str, Any] = {"text": markdown.text, "number": markdown.number}
    jsonio.write_text(
        out / "index.md",
        template.render(lines=lines, columns=columns, patterns=patterns, drawn=drawn, upgrades=changed, **helpers)
        + "\n",
    )


def read(folder: Path) -> RunData:
    """A run's numbers; its records are not needed for the comparison."""
    return RunData(jsonio.read_json(folder / "numbers.json", "numbers"))


def patterns_of(folder: Path, run: RunData) -> dict[str, dict[str, Any]]:
    """{id: {statement, verdict, numbers}} of the run's ledger; the first and the last of many numbers stand for all."""
    ledger = jsonio.read_json(folder / "claims.json") if (folder / "claims.json").exists() else {}
    found = {}
    for pattern in ledger.get("patterns", []):
        numbers = [number for entry in pattern["numbers"] if (number := run.by_id.get(entry["number"]))]
        ends = numbers if len(numbers) < 3 else [numbers[0], numbers[-1]]
        found[pattern["id"]] = {**pattern, "numbers": ends, "more": len(numbers) - len(ends)}
    return found


def line(run: RunData, columns: list[dict[str, str]], patterns: dict[str, dict[str, Any]]) -> Line:
    """One run as a row."""
    words = story.words_of(run)
    path = run.doc["run"]
    gpus = [gpu["name"] for gpu in (run.doc.get("machine") or {}).get("gpus", [])]
    cpu = ((run.doc.get("machine") or {}).get("cpu") or {}).get("model")
    facts = {
        "machine": path["machine"],
        "engine": path["engine"],
        "campaign": path["campaign"],
        "model": words.names["small"],
        "weights": " / ".join(dict.fromkeys(model["weights"] for model in run.models)) or run.doc["weights"],
        "origin": run.doc["origin"],
        "device": ", ".join(gpus) or cpu or "unknown device",
    }
    return Line(run, facts, [cell(run, column, words) for column in columns], patterns)


def cell(run: RunData, column: dict[str, str], words: story.Words) -> Number | None:
    """A column's number of a run, or what a sweep has in its place."""
    ids = [column[key] for key in ("number", "else") if key in column]
    return next((number for number_id in ids if (number := run.best(story.full_id(number_id, words)))), None)


def draw(lines: list[Line], folder: Path) -> bool:
    """Draw the comparison; False where no run has both halves."""
    rows = [(item.run, story.words_of(item.run).labels["small"], item.cells[0], item.cells[1]) for item in lines]
    try:
        drawing = runs_comparison.draw([row for row in rows if row[2] and row[3]])
    except NotDrawn as reason:
        save_absent(runs_comparison.NAME, str(reason), folder)
        return False
    save(drawing, runs_comparison.NAME, folder)
    return True
