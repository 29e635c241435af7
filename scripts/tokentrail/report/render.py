"""From a run's folder to its three reports."""

from __future__ import annotations

from pathlib import Path

from tokentrail import jsonio
from tokentrail.report import markdown, table
from tokentrail.report.context import gather
from tokentrail.report.page import facts_of, write_page


def render(run_dir: Path, figures_dir: Path, out: Path, published_dir: Path | None = None) -> None:
    """Write index.html, report.md and numbers.csv into `out`."""
    report = gather(run_dir, figures_dir, published_dir)
    write_page(report, figures_dir, out, run_dir)
    jsonio.write_text(out / "report.md", markdown.document(report, facts_of(report)))
    jsonio.write_text(out / "numbers.csv", table.text(report.run))
