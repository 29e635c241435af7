"""Wall time of a campaign over the bare tool commands' own wall times, side by side in one run.

Usage: python benchmarks/overhead.py CLONE [--campaign portable], where CLONE is a copy of the repository in which the
engine and the models are there already (TOKENTRAIL_RESOURCES may point to them). The campaign is measured by Snakemake
in a copy of CLONE; then every command line it used is run bare, the same number of times, a server with the same
requests sent by curl; then both again in the other order, so that drift of the machine hits both.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

Seconds = dict[str, float]  # by case


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("clone", type=Path)
    parser.add_argument("--campaign", default="portable")
    given = parser.parse_args()
    resources = Path(os.environ.get("TOKENTRAIL_RESOURCES") or given.clone / "resources").absolute()
    if list(given.clone.glob(f"results/*/*/{given.campaign}/raw/*")):
        sys.exit(f"{given.campaign} is measured in {given.clone} already; take a fresh copy")
    with tempfile.TemporaryDirectory() as folder:
        first = _campaign(given, resources, Path(folder) / "first")
        bare = [_bare(paths := first[2], resources), _bare(paths, resources)]
        second = _campaign(given, resources, Path(folder) / "second")
        print(f"{paths[0].parts[-6]}, {paths[0].parts[-5]}, {time.strftime('%Y-%m-%d')}")
    print(f"  {'seconds':20}{'in the pipeline':>18}{'bare':>16}")
    for case in bare[0]:
        print(f"  {case:20}{_both(first[1][case], second[1][case])}{_both(*(turn[case] for turn in bare))}")
    inside, outside = [[sum(turn.values()) for turn in turns] for turns in ((first[1], second[1]), bare)]
    print(f"  {'tools together':20}{_both(*inside)}{_both(*outside)}")
    print(f"  {'whole campaign':20}{_both(first[0], second[0])}")
    print(f"  whole campaigns over the bare commands: {(first[0] + second[0]) / sum(outside):.3f}")


def _both(one: float, other: float) -> str:
    return f"{one:10.2f}{other:8.2f}"


def _campaign(given: argparse.Namespace, resources: Path, copy: Path) -> tuple[float, Seconds, list[Path]]:
    """(wall time, the tools' own time by case, the measurements) of the campaign in a copy of the clone."""
    shutil.copytree(given.clone, copy, symlinks=True, ignore=shutil.ignore_patterns("resources", ".venv"))
    command = [sys.executable, "-m", "snakemake", "--cores", "1", "--config", f"campaign={given.campaign}"]
    environment = {**os.environ, "TOKENTRAIL_RESOURCES": str(resources)}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    start = time.monotonic()
    subprocess.run(command, cwd=copy, env=environment, check=True, **quiet)
    whole = time.monotonic() - start
    paths = sorted(copy.glob(f"results/*/*/{given.campaign}/raw/*/*/measurement.json"))
    own = {p.parts[-3]: sum(one["duration_ns"] for one in _processes(p)) / 1e9 for p in paths}
    return whole, own, paths


def _processes(measurement: Path) -> list[dict]:
    return json.loads(measurement.read_text())["processes"]


def _bare(measurements: list[Path], resources: Path) -> Seconds:
    return {p.parts[-3]: sum(_bare_process(one, resources) for one in _processes(p)) for p in measurements}


def _bare_process(process: dict, resources: Path) -> float:
    """Seconds of one bare command. A server: until it is healthy, its requests, its end."""
    argv = process["argv"]
    start = time.monotonic()
    if "--port" not in argv:
        subprocess.run(argv, cwd=resources, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        return time.monotonic() - start
    base = f"http://127.0.0.1:{argv[argv.index('--port') + 1]}"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(argv, cwd=resources, **quiet) as server:
        while subprocess.run(["curl", "-sf", f"{base}/health"], check=False, **quiet).returncode:
            if server.poll() is not None:
                sys.exit(f"the bare server ended: {' '.join(argv)}")
            time.sleep(0.05)
        for request in process.get("requests", []):
            body = json.dumps(request["body"])
            header = "Content-Type: application/json"
            subprocess.run(
                ["curl", "-sfN", "-H", header, "-d", body, f"{base}/v1/chat/completions"], check=True, **quiet
            )
        server.terminate()
    return time.monotonic() - start


if __name__ == "__main__":
    main()
