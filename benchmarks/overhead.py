"""Wall time of a campaign over the bare tool commands' own wall times, side by side in one run.

Usage: python benchmarks/overhead.py CLONE [--campaign portable], where CLONE is a copy of the repository in which the
engine and the models are there already (TOKENTRAIL_RESOURCES may point to them). The campaign is measured by Snakemake;
then every command line it used is run bare, the same number of times, a server with the same requests sent by curl.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("clone", type=Path)
    parser.add_argument("--campaign", default="portable")
    given = parser.parse_args()
    resources = Path(os.environ.get("TOKENTRAIL_RESOURCES") or given.clone / "resources").absolute()
    if list(given.clone.glob(f"results/*/*/{given.campaign}/raw/*")):
        sys.exit(f"{given.campaign} is measured in {given.clone} already; take a fresh copy")
    start = time.monotonic()
    command = [sys.executable, "-m", "snakemake", "--cores", "1", "--config", f"campaign={given.campaign}"]
    subprocess.run(command, cwd=given.clone, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    whole = time.monotonic() - start
    bare, own = 0.0, 0.0
    paths = sorted(given.clone.glob(f"results/*/*/{given.campaign}/raw/*/*/measurement.json"))
    print(f"{paths[0].parts[-6]}, {paths[0].parts[-5]}, {time.strftime('%Y-%m-%d')}")
    print(f"  {'case':22}{'in the pipeline':>18}{'bare':>10}")
    for path in paths:
        measurement = json.loads(path.read_text())
        inside = sum(process["duration_ns"] for process in measurement["processes"]) / 1e9
        outside = sum(_bare(process, resources) for process in measurement["processes"])
        own, bare = own + inside, bare + outside
        print(f"  {path.parts[-3]:22}{inside:16.2f} s{outside:8.2f} s")
    print(f"  {'tools together':22}{own:16.2f} s{bare:8.2f} s")
    print(f"  whole campaign {whole:.2f} s; over the bare commands: {whole / bare:.3f}")


def _bare(process: dict, resources: Path) -> float:
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
