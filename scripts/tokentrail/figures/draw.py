"""From a figure's name to its files."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from tokentrail import jsonio, sources
from tokentrail.figures import FIGURES, NotDrawn
from tokentrail.figures.data import RunData, load
from tokentrail.figures.save import save, save_absent


def draw_all(run_dir: Path, out: Path, names: list[str], memory: Path | None = None) -> list[str]:
    """Draw the named figures of a run into `out`; those the run has no numbers for are noted with the reason.

    With `memory`, a file that keeps what each figure was drawn from, a figure whose numbers, records and code are the
    same is left as it is. Returns the names that were drawn or noted anew.
    """
    known = jsonio.read_json(memory) if memory and memory.exists() else {}
    todo = {name: _made_from(run_dir, name) for name in names}
    if memory:
        todo = {name: made for name, made in todo.items() if known.get(name) != made or _gone(out, name)}
    if todo:
        run = load(run_dir)
        for name in todo:
            draw_one(run, out, name)
    if memory:
        jsonio.write_json(memory, {**known, **todo})
    return list(todo)


def draw_one(run: RunData, out: Path, name: str) -> bool:
    """Draw one figure; False where it is not drawn."""
    module = importlib.import_module(f"tokentrail.figures.{FIGURES[name]}")
    out.mkdir(parents=True, exist_ok=True)
    try:
        drawing = module.draw(run)
    except NotDrawn as reason:
        save_absent(name, str(reason), out)
        return False
    save(drawing, name, out)
    return True


def index(out: Path, names: list[str]) -> dict[str, Any]:
    """What `out` holds: each figure's own note, and the hashes of its files. A new figure makes a new index."""
    found = {}
    for name in names:
        note = jsonio.read_json(out / f"{name}.json")
        files = {path.name: jsonio.sha256_file(path) for path in _images(out, name) if path.exists()}
        found[name] = {**note, "files": files}
    return {"schema_version": 1, "figures": found}


def _images(out: Path, name: str) -> list[Path]:
    return [out / f"{name}.svg", out / f"{name}.png"]


def _gone(out: Path, name: str) -> bool:
    note = out / f"{name}.json"
    if not note.exists():
        return True
    return jsonio.read_json(note)["drawn"] and not all(path.exists() for path in _images(out, name))


def _made_from(run_dir: Path, name: str) -> str:
    """Hash of all that a figure is drawn from: the run's numbers and records, the code of its module."""
    code = sources.closure("plot_figures.py", f"tokentrail/figures/{FIGURES[name]}.py")
    inputs = [run_dir / "numbers.json", run_dir / "records.json", *(sources.SCRIPTS.parent / file for file in code)]
    return jsonio.sha256_text("".join(jsonio.sha256_file(path) for path in inputs if path.exists()))
