"""Records of a whole run: results/{run}/records/{case}.json for every planned case, from its raw files."""

from __future__ import annotations

import argparse
from pathlib import Path

from tokentrail import jsonio
from tokentrail.problems import reported
from tokentrail.records import whole_run


def main() -> None:
    """Parse the command line and write the records."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run-dir", type=Path, required=True, help="results/{machine}/{engine}/{campaign}")
    parser.add_argument("--index", type=Path, help="where else to write the list of the records (records.json)")
    parser.add_argument("--strict", action="store_true", help="remarks on the machine's state make a record invalid")
    parser.add_argument("--log", type=Path, help="where a traceback goes")
    given = parser.parse_args()
    with reported(given.log, "make_records"):
        index = whole_run.write(given.run_dir, given.strict)
        if given.index:
            jsonio.write_text(given.index, jsonio.dumps(index))


if __name__ == "__main__":
    main()
