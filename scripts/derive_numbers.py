"""Numbers of a run: numbers.json (every value with formula, inputs, interval) and measurements.csv."""

from __future__ import annotations

import argparse
from pathlib import Path

from tokentrail import config, jsonio, numbers
from tokentrail.numbers import table
from tokentrail.problems import reported


def main() -> None:
    """Parse the command line and derive."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run-dir", type=Path, required=True, help="results/{machine}/{engine}/{campaign}")
    parser.add_argument("--config-dir", type=Path, default=config.CONFIG, help="the constants and claims")
    parser.add_argument("--log", type=Path, help="where a traceback goes")
    given = parser.parse_args()
    with reported(given.log, "derive_numbers"):
        document = numbers.derive(given.run_dir, given.config_dir)
        jsonio.write_text(given.run_dir / "numbers.json", jsonio.dumps(document))
        jsonio.write_text(given.run_dir / "measurements.csv", table.of_run(given.run_dir))


if __name__ == "__main__":
    main()
