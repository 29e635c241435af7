"""Draw one figure of a run, or all: SVG, PNG and a small JSON that says what it shows or why it is not drawn."""

from __future__ import annotations

import argparse
from pathlib import Path

from tokentrail import problems
from tokentrail.figures import FIGURES


def main() -> None:
    """Command line: see --help."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run-dir", type=Path, required=True, help="results/MACHINE/ENGINE/CAMPAIGN")
    parser.add_argument("--out", type=Path, required=True, help="reports/MACHINE/ENGINE/CAMPAIGN/figures")
    parser.add_argument("--figure", choices=[*FIGURES, "all"], default="all")
    parser.add_argument("--log", type=Path)
    arguments = parser.parse_args()
    with problems.reported(arguments.log, "plot_figures"):
        from tokentrail.figures.draw import draw_all

        names = list(FIGURES) if arguments.figure == "all" else [arguments.figure]
        draw_all(arguments.run_dir, arguments.out, names)


if __name__ == "__main__":
    main()
