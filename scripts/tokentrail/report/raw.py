"""The raw line behind a number, as its trail finds it."""

from __future__ import annotations

from pathlib import Path

from tokentrail.figures.data import RunData
from tokentrail.report.context import Excerpts


def excerpts_of(run: RunData, run_dir: Path) -> Excerpts:
    """A function from a number to its raw lines."""
    return lambda number: []
