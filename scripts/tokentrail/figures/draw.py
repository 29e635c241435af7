"""From a figure's name to its files."""

from __future__ import annotations

import importlib
from pathlib import Path

from tokentrail.figures import FIGURES, NotDrawn
from tokentrail.figures.data import RunData, load
from tokentrail.figures.save import save, save_absent


def draw_all(run_dir: Path, out: Path, names: list[str]) -> None:
    """Draw the named figures of a run into `out`; those the run has no numbers for are noted with the reason."""
    run = load(run_dir)
    for name in names:
        draw_one(run, out, name)


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
