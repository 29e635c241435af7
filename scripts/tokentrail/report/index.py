"""The page over all runs: one row a run, the lesson's key numbers side by side, each a link to its trail."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from tokentrail import jsonio
from tokentrail.figures import NotDrawn, runs_batching, runs_comparison
from tokentrail.figures.data import Number, RunData
from tokentrail.figures.save import save, save_absent
from tokentrail.figures.style import Drawing
from tokentrail.report import markdown, patterns, story, svg, upgrades
from tokentrail.report.html import environment
from tokentrail.report.page import MARKS, script_hash


@dataclass
class Line:
    """One run: what it is, and its cells in the comparison's order (None: not measured)."""

    run: RunData
    facts: dict[str, str]
    cells: list[Number | None]
    patterns: dict[str, patterns.Told]  # what the ledger says of each of the lesson's patterns, by its id


def write_index(run_dirs: Sequence[Path], out: Path) -> None:
    """Write out/index.html, out/index.md and the figures that compare runs."""
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
    statements = {key: found.statement for item in lines for key, found in item.patterns.items()}
    drawn = draw(lines, out / "figures")
    figures = {name: Markup(svg.inline(out / "figures" / f"{name}.svg")) for name in drawn}
    script = (story.TEMPLATES / "index.js").read_text(encoding="utf-8")
    page = environment().get_template("index.html.j2")
    html = page.render(
        lines=lines, columns=columns, patterns=statements, marks=MARKS, figures=figures, drawn=drawn, upgrades=changed,
        where=patterns.where,
        script=Markup(script), script_hash=script_hash(script),
        palette=Markup(svg.css_variables()), css=Markup((story.TEMPLATES / "page.css").read_text(encoding="utf-8")),
    )  # fmt: skip
    jsonio.write_text(out / "index.html", html + "\n")
    loader = FileSystemLoader(story.TEMPLATES)
    plain = Environment(loader=loader, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    template = plain.get_template("index.md.j2")
    helpers: dict[str, Any] = {"text": markdown.text, "number": markdown.number, "where": patterns.where}
    jsonio.write_text(
        out / "index.md",
        template.render(lines=lines, columns=columns, patterns=statements, drawn=drawn, upgrades=changed, **helpers)
        + "\n",
    )


def read(folder: Path) -> RunData:
    """A run's numbers; its records are not needed for the comparison."""
    return RunData(jsonio.read_json(folder / "numbers.json", "numbers"))


def patterns_of(folder: Path, run: RunData) -> dict[str, patterns.Told]:
    """What the run's ledger says of each pattern, by its id."""
    ledger = jsonio.read_json(folder / "claims.json") if (folder / "claims.json").exists() else {}
    return {pattern.id: pattern for pattern in patterns.told(ledger, run)}


def line(run: RunData, columns: list[dict[str, str]], found: dict[str, patterns.Told]) -> Line:
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
        "big": words.names["big"] if words.labels["big"] != "big" else "",
        "weights": " / ".join(dict.fromkeys(model["weights"] for model in run.models)) or run.doc["weights"],
        "origin": run.doc["origin"],
        "device": ", ".join(gpus) or cpu or "unknown device",
    }
    return Line(run, facts, [cell(run, column, words) for column in columns], found)


def cell(run: RunData, column: dict[str, str], words: story.Words) -> Number | None:
    """A column's number of a run, or what a sweep has in its place."""
    ids = [column[key] for key in ("number", "else") if key in column]
    return next((number for number_id in ids if (number := run.best(story.full_id(number_id, words)))), None)


def draw(lines: list[Line], folder: Path) -> dict[str, str]:
    """Draw the comparisons; {name: title} of those that any run has numbers for."""
    rows = [(item.run, story.words_of(item.run).labels["small"], item.cells[0], item.cells[1]) for item in lines]
    todo: dict[str, Callable[[], Drawing]] = {
        runs_comparison.NAME: lambda: runs_comparison.draw([row for row in rows if row[2] and row[3]]),
        runs_batching.NAME: lambda: runs_batching.draw([item.run for item in lines]),
    }
    drawn = {}
    for name, make in todo.items():
        try:
            drawing = make()
        except NotDrawn as reason:
            save_absent(name, str(reason), folder)
            continue
        save(drawing, name, folder)
        drawn[name] = drawing.title
    return drawn
