"""Planning and processing at scale: a campaign of many cases, planned, and processed from replayed raw.

The raw is one real measurement of the smoke campaign, copied for every case (a replay, and only here): what is
timed is what Tokentrail does around measuring. Usage: python benchmarks/planning.py [--cases 1000] CLONE, where CLONE
is a copy of the repository in which `snakemake --config campaign=smoke` has run; it is changed.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

import yaml


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("clone", type=Path)
    parser.add_argument("--cases", type=int, default=1000)
    given = parser.parse_args()
    (smoke,) = given.clone.glob("results/*/*/smoke")
    idle = _seconds(given.clone, "-n", campaign="smoke")
    cases = [
        {
            "id": f"case-{n:04d}",
            "step": "4",
            "title": f"Case {n}",
            "tool": "llama-bench",
            "role": "bench-small",
            "model": "smollm2-135m-instruct-q4_1",
            "tag": f"n{n}",
            "arguments": {"n_prompt": [32], "n_gen": [16], "repetitions": 4, "batch_size": [2048 - n]},
            "processes": 2,
        }
        for n in range(given.cases)
    ]
    body = {"campaign": "many", "title": "Many cases", "weights": "stand-in", "cases": cases}
    (given.clone / "config" / "campaigns" / "many.yaml").write_text(yaml.safe_dump(body), encoding="utf-8")
    many = smoke.with_name("many")
    # a dry run takes its plan away again, but not one that was there before
    plan = json.loads((smoke / "plan.json").read_text())
    many.mkdir()
    (many / "plan.json").write_text(json.dumps({**plan, "run": {**plan["run"], "campaign": "many"}}))
    plan_s = _seconds(given.clone, "-n", campaign="many")
    _replay(smoke, many)
    process_s = _seconds(given.clone, campaign="many")
    nothing_s = _seconds(given.clone, campaign="many")
    print(f"\n{smoke.parent.parent.name}, {given.cases} cases, one run, {time.strftime('%Y-%m-%d')}")
    print(f"  plan all cases, nothing measured (snakemake -n)   {plan_s:7.2f} s")
    print(f"  records, numbers, figures, pages of all cases     {process_s:7.2f} s")
    print(f"    that is, for each case                          {process_s / given.cases:7.4f} s")
    print(f"  nothing to do, {given.cases} cases                         {nothing_s:7.2f} s")
    print(f"  nothing to do, smoke campaign (snakemake -n)      {idle:7.2f} s")


def _seconds(clone: Path, *arguments: str, campaign: str) -> float:
    command = [sys.executable, "-m", "snakemake", "--cores", "1", *arguments, "--config", f"campaign={campaign}"]
    start = time.monotonic()
    done = subprocess.run(command, cwd=clone, capture_output=True, text=True, check=False)
    seconds = time.monotonic() - start
    if done.returncode:
        sys.exit(done.stdout[-3000:] + done.stderr[-3000:])
    return seconds


def _replay(smoke: Path, many: Path) -> None:
    """Lay the smoke campaign's llama-bench raw under every planned case."""
    (source,) = smoke.glob("raw/bench-small/*")
    measurement = json.loads((source / "measurement.json").read_text())
    for case in json.loads((many / "plan.json").read_text())["cases"]:
        target = many / "raw" / case["id"] / case["key"]
        shutil.copytree(source, target)
        text = json.dumps({**measurement, "case": case}, sort_keys=True, indent=1, ensure_ascii=False)
        (target / "measurement.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
