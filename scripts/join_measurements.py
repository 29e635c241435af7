"""Join the sample tables of all runs into results/measurements.csv."""

from __future__ import annotations

import argparse
from pathlib import Path

import pandas as pd

from tokentrail import jsonio
from tokentrail.problems import reported


def join(tables: list[Path]) -> str:
    """CSV text of all rows, in the order of the tables; a column that a table lacks stays empty.

    Read as text, so that every figure keeps the digits it has in its run's table.
    """
    frames = [pd.read_csv(table, dtype=str, keep_default_na=False) for table in tables]
    return pd.concat(frames, ignore_index=True).fillna("").to_csv(index=False, lineterminator="\n")


def main() -> None:
    """Command line of rule join_measurements."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="+", type=Path, help="results/{run}/measurements.csv")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--log", type=Path)
    arguments = parser.parse_args()
    with reported(arguments.log, "join_measurements"):
        jsonio.write_text(arguments.out, join(arguments.tables))


if __name__ == "__main__":
    main()
