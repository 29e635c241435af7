"""What the telemetry costs: the same work with and without the sampler beside it, in turns, and its own CPU time.

    python benchmarks/sampling_cost.py [--pairs 20]

The work is a read of memory by all threads that a measurement would use: what decoding does, and what a second busy
process disturbs most. Pairs are measured in turns (with, without; without, with; …), so that drift hits both alike.
Prints the median ratio of the pairs with its bootstrap interval, and the sampler's share of one core.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[1] / "scripts"
sys.path.insert(0, str(SCRIPTS))

from tokentrail.machine import stamp, threads  # noqa: E402
from tokentrail.machine.lock import whole_machine  # noqa: E402
from tokentrail.measuring import read_ceiling  # noqa: E402


def work(program: Path, count: int, repetitions: int) -> float:
    """Median time of one pass over the array, in ns."""
    argv = [str(program), "--bytes", str(256 << 20), "--repetitions", str(repetitions), "--threads", str(count)]
    lines = subprocess.run(argv, capture_output=True, text=True, check=True).stdout.splitlines()
    return statistics.median(json.loads(line)["ns"] for line in lines[1:])


def interval(values: list[float], level: float = 0.95, draws: int = 2000) -> tuple[float, float]:
    """Percentile bootstrap of the median, seeded."""
    dice = random.Random(1)
    medians = sorted(statistics.median(dice.choices(values, k=len(values))) for _ in range(draws))
    cut = int(draws * (1 - level) / 2)
    return medians[cut], medians[-cut - 1]


def main(pairs: int, repetitions: int) -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder, whole_machine():
        program = Path(folder) / read_ceiling.build("cpu", Path(folder))
        count, ratios, own_s, watched_s = threads()["value"], [], 0.0, 0.0
        for pair in range(pairs):
            times = {}
            for watched in (True, False) if pair % 2 else (False, True):
                if not watched:
                    times[watched] = work(program, count, repetitions)
                    continue
                with stamp.sampler(Path(folder) / "samples.jsonl") as sampler:
                    before, start = sampler.cpu_s(), time.monotonic()
                    times[watched] = work(program, count, repetitions)
                    watched_s += time.monotonic() - start
                    own_s += sampler.cpu_s() - before
            ratios.append(times[True] / times[False])
    (low, high), median = interval(ratios), statistics.median(ratios)
    print(f"time with / without the sampler: {median:.4f} (95 %: {low:.4f} to {high:.4f}, {pairs} pairs)")
    print(f"sampler: {100 * own_s / watched_s:.2f} % of one core at {1 / stamp.INTERVAL_S:g} samples a second")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--repetitions", type=int, default=60, help="passes over the array per run")
    given = parser.parse_args()
    main(given.pairs, given.repetitions)
