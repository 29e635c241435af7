"""Move a case's measurement of a run into its failed/ folder, so that it is measured again. Deletes nothing."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tokentrail.machine.lock import whole_machine
from tokentrail.measuring import raw
from tokentrail.problems import reported

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path, help="folder of the run: results/MACHINE/ENGINE/CAMPAIGN")
    parser.add_argument("case", help="id of the case")
    parser.add_argument("--key", help="only this key (default: all keys of the case)")
    given = parser.parse_args()
    with reported(None, "set aside"), whole_machine():
        for place in raw.set_aside(given.run, given.case, given.key):
            print(f"moved to {place}", file=sys.stderr)
