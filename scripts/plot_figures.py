"""Draw a run's figures: SVG, PNG and a small JSON each that says what it shows or why it is not drawn."""

from __future__ import annotations

import argparse
from pathlib import Path

from tokentrail import jsonio, problems
from tokentrail.figures import FIGURES, draw


def main() -> None:
    """Command line: see --help."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run-dir", type=Path, required=True, help="results/MACHINE/ENGINE/CAMPAIGN")
    parser.add_argument("--out", type=Path, required=True, help="reports/MACHINE/ENGINE/CAMPAIGN/figures")
    parser.add_argument("--figure", choices=[*FIGURES, "all"], default="all")
    parser.add_argument("--index", type=Path, help="file that lists all figures with their hashes")
    parser.add_argument("--memory", type=Path, help="file that remembers, so that only what changed is drawn again")
    parser.add_argument("--log", type=Path)
    arguments = parser.parse_args()
    with problems.reported(arguments.log, "plot_figures"):
        names = list(FIGURES) if arguments.figure == "all" else [arguments.figure]
        drawn = draw.draw_all(arguments.run_dir, arguments.out, names, arguments.memory)
        print("figures: " + (", ".join(drawn) or "none changed"))
        if arguments.index:
            jsonio.write_json(arguments.index, draw.index(arguments.out, names))


if __name__ == "__main__":
    main()
