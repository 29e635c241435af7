"""Print a run's headline numbers, where its page is, and what was not measured and why."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tokentrail import problems


def main() -> None:
    """Command line: see --help."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run-dir", type=Path, required=True, help="results/MACHINE/ENGINE/CAMPAIGN")
    arguments = parser.parse_args()
    with problems.reported(None, "headline"):
        from tokentrail.report import headline

        headline.print_run(arguments.run_dir, sys.stdout)


if __name__ == "__main__":
    main()
