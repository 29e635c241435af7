"""Render a run's page: index.html, report.md and numbers.csv, from its numbers, records and figures."""

from __future__ import annotations

import argparse
from pathlib import Path

from tokentrail import problems


def main() -> None:
    """Command line: see --help."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run-dir", type=Path, required=True, help="results/MACHINE/ENGINE/CAMPAIGN")
    parser.add_argument("--published", type=Path, help="the run to stand beside it")
    parser.add_argument("--figures", type=Path, help="folder of this run's figures (default: OUT/figures)")
    parser.add_argument("--out", type=Path, required=True, help="reports/MACHINE/ENGINE/CAMPAIGN")
    parser.add_argument("--log", type=Path)
    arguments = parser.parse_args()
    with problems.reported(arguments.log, "render_report"):
        from tokentrail.report.render import render

        render(arguments.run_dir, arguments.figures or arguments.out / "figures", arguments.out, arguments.published)


if __name__ == "__main__":
    main()
