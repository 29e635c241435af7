"""Write the page over all runs: index.html, index.md and the figure that compares them."""

from __future__ import annotations

import argparse
from pathlib import Path

from tokentrail import problems


def main() -> None:
    """Command line: see --help."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "numbers", type=Path, nargs="+", help="results/MACHINE/ENGINE/CAMPAIGN/numbers.json of each run"
    )
    parser.add_argument("--out", type=Path, required=True, help="reports")
    parser.add_argument("--log", type=Path)
    arguments = parser.parse_args()
    with problems.reported(arguments.log, "render_index"):
        from tokentrail.report.index import write_index

        write_index([path.parent for path in arguments.numbers], arguments.out)


if __name__ == "__main__":
    main()
