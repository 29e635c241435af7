"""Say which planned cases were not measured, or not validly, and exit with status 1 if there is one."""

from __future__ import annotations

import argparse
from pathlib import Path

from tokentrail import jsonio
from tokentrail.problems import Problem, reported


def gaps(index: Path) -> list[str]:
    """One line for each case that is not valid: id, reason, what to do. `index` is results/{run}/records.json."""
    run = index.parent
    lines = []
    for entry in jsonio.read_json(index)["records"]:
        record = jsonio.read_json(run / entry["file"])
        if not record["valid"]:
            why = "; ".join(reason["message"] for reason in record["reasons"]) or "not valid"
            lines.append(f"{record['case']}: {why}{_remedy(record, run)}")
    return lines


def _remedy(record: dict, run: Path) -> str:
    if any(reason["code"] == "measuring-failed" for reason in record["reasons"]):
        return " (tried again by the next snakemake)"
    return f" (to measure it again: python scripts/set_aside.py {run} {record['case']}, then snakemake)"


def main() -> None:
    """Command line of rule check_coverage."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=Path, required=True, help="results/{run}/records.json")
    parser.add_argument("--log", type=Path)
    arguments = parser.parse_args()
    with reported(arguments.log, "check_coverage"):
        lines = gaps(arguments.records)
        if lines:
            raise Problem(f"{len(lines)} case(s) without a valid measurement\n      - " + "\n      - ".join(lines))


if __name__ == "__main__":
    main()
