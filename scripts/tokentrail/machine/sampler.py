"""The sampler process: one JSON line of the machine's state per interval, until its standard input closes.

python -m tokentrail.machine.sampler FILE INTERVAL_S
"""

from __future__ import annotations

import json
import select
import sys
import time
from pathlib import Path

from tokentrail.machine import stamp
from tokentrail.machine.gpu import Nvml


def main(file: Path, interval_s: float) -> None:
    """Write until standard input closes; intervals are kept to a grid, so that a slow reading delays no later one."""
    nvml = Nvml()
    with file.open("a", encoding="ascii") as stream:
        print("ready", flush=True)
        due = time.monotonic()
        while True:
            stream.write(json.dumps(stamp.sample(nvml), separators=(",", ":")) + "\n")
            stream.flush()
            due = max(due + interval_s, time.monotonic())
            if select.select([sys.stdin], [], [], max(0.0, due - time.monotonic()))[0]:
                return


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]))
