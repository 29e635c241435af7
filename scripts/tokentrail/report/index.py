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
from tokentrail.report import markdown, story, svg
from tokentrail.report.html import environment
from tokentrail.report.page import script_hash


@dataclass
class Line:
    """One run: what it is, and its cells in the comparison's order (None: not measured)."""

    run: RunData
    facts: dict[str, str]
    cells: list[Number | None]


def write_index(run_dirs: Sequence[Path], out: Path) -> None:
    """Write out/index.html, out/index.md and out/figures/runs-comparison.*."""
    runs = sorted((read(folder) for folder in run_dirs), key=lambda run: run.name)
    columns = story.load_story()["comparison"]
    lines = [line(run, columns) for run in runs]
    drawn = draw(lines, out / "figures")
    figure = Markup(svg.inline(out / "figures" / f"{runs_comparison.NAME}.svg")) if drawn else None
    script = (story.TEMPLATES / "index.js").read_text(encoding="utf-8")
    page = environment().get_template("index.html.j2")
    html = page.render(
        lines=lines, columns=columns, figure=figure, script=Markup(script), script_hash=script_hash(script),
        palette=Markup(svg.css_variables()), css=Markup((story.TEMPLATES / "page.css").read_text(encoding="utf-8")),
    )  # fmt: skip
    jsonio.write_text(out / "index.html", html + "\n")
    loader = FileSystemLoader(story.TEMPLATES)
    plain = Environment(loader=loader, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    template = plain.get_template("index.md.j2")
    helpers: dict[str, Any] = {"text": markdown.text, "number": markdown.number}
    jsonio.write_text(out / "index.md", template.render(lines=lines, columns=columns, drawn=drawn, **helpers) + "\n")


def read(folder: Path) -> RunData:
    """A run's numbers; its records are not needed for the comparison."""
    return RunData(jsonio.read_json(folder / "numbers.json", "numbers"))


def line(run: RunData, columns: list[dict[str, str]]) -> Line:
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
    return Line(run, facts, [run.best(story.full_id(column["number"], words)) for column in columns])


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
