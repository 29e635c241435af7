"""What the flags that Tokentrail adds to the published server command change: TTFT and prompt_ms, in turns.

    python benchmarks/server_flags.py [--starts 3] [--requests 8] [--save FILE]

Arms: as published; with --cache-ram 0; with -np 1; with both. Each round starts a server for every arm, each round in
another order; our client sends different prompts in turn, so that the server has something to put aside
before each of them. The first two requests of a server, one of each prompt, are dropped as cold.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(ROOT / "scripts"), str(HERE)]

from peers import place, readers  # noqa: E402
from peers.served import serving  # noqa: E402

from tokentrail.machine import probe  # noqa: E402
from tokentrail.machine.lock import whole_machine  # noqa: E402
from tokentrail.measuring import requests  # noqa: E402

PUBLISHED = ["-c", "4096"]
ARMS = {
    "as published": [],
    "`--cache-ram 0`": ["--cache-ram", "0"],
    "`-np 1`": ["-np", "1"],
    "both": ["--cache-ram", "0", "-np", "1"],
}


def measure(given: argparse.Namespace) -> dict[str, Any]:
    """All rounds -> what --save writes."""
    program, build = place.engine()
    prompts = [
        (ROOT / "config" / "prompts" / f"{name}.txt").read_text(encoding="utf-8").strip()
        for name in ("question", "log-medium")
    ]
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in ARMS}
    names = list(ARMS)
    with whole_machine():
        for turn in range(given.starts):
            for name in names[turn % 4 :] + names[: turn % 4]:
                with serving(program, place.model(), [*PUBLISHED, *ARMS[name]]) as server:
                    for index in range(given.requests + 1):
                        body = requests.body(prompts[index % 2], given.max_tokens, "model")
                        one = readers.own(server.port, body)
                        request = server.wait_served(index + 1)[index]
                        row = {"start": turn, "cold": index < 2, "prompt_n": request.prompt_n}
                        found[name].append(row | one | {"prompt_ms": request.prompt_ms})
    head = {"machine": probe()["machine"], "build": f"b{build}", "model": place.MODEL}
    return head | {"date": time.strftime("%Y-%m-%d", time.gmtime()), "arms": found, "starts": given.starts}


def markdown(run: dict[str, Any]) -> str:
    """One row for each arm and prompt: medians over the servers of each server's median."""
    lines = [
        f"{run['machine']}, build {run['build']}, {run['model']}, {run['date']}; {run['starts']} servers for each.",
        "",
        "| flags | prompt | `prompt_ms` | TTFT | TTFT − `prompt_ms`, median / worst | servers' medians |",
        "|---|---|---|---|---|---|",
    ]
    lengths = sorted({row["prompt_n"] for rows in run["arms"].values() for row in rows})
    for length in lengths:
        for name, rows in run["arms"].items():
            warm = [r for r in rows if not r["cold"] and not r.get("problem") and r["prompt_n"] == length]
            gaps = [r["ttft_ms"] - r["prompt_ms"] for r in warm]
            each = [
                statistics.median(g for g, r in zip(gaps, warm, strict=True) if r["start"] == start)
                for start in sorted({r["start"] for r in warm})
            ]
            prompt, ttft = (statistics.median(r[key] for r in warm) for key in ("prompt_ms", "ttft_ms"))
            lines.append(
                f"| {name} | {length} tokens | {prompt:.1f} ms | {ttft:.1f} ms "
                f"| {statistics.median(gaps):.2f} / {max(gaps):.2f} ms | {min(each):.2f} to {max(each):.2f} ms |"
            )
    return "\n".join(lines)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--starts", type=int, default=3, help="servers started for each set of flags")
    parser.add_argument("--requests", type=int, default=8, help="requests to each server, the first two are cold")
    parser.add_argument("--max-tokens", type=int, default=16)
    parser.add_argument("--save", type=Path, help="write all requests here")
    parser.add_argument("--show", type=Path, help="print the table of a saved run; measure nothing")
    given = parser.parse_args()
    run = json.loads(given.show.read_text()) if given.show else measure(given)
    if given.save:
        place.save(run, given.save)
    print(markdown(run))


if __name__ == "__main__":
    main()
