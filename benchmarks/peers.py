"""Our client beside its peers on one llama-server, in one run, each judged against the server's own timings.

    python benchmarks/peers.py [--rounds 4] [--own 8] [--foreign 6] [--threads N] [--only TOOL ...] [--save FILE]
    python benchmarks/peers.py --show FILE

The same prompt and number of tokens, greedy, no prompt cache, one request at a time. In every round our client, a raw
socket and urllib take turns request by request; then llama-benchy, guidellm and aiperf are run, each round starting
with another one. The reference of every request is what the server logs of it: `prompt_ms` for TTFT,
`predicted_ms / (n − 1)` for TPOT. The first request of a process is kept apart as cold.

The foreign tools are installed from PyPI into resources/peers/, each alone; guidellm needs 6 GB there. One that cannot
be installed or run is listed as not measured, with the reason.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(ROOT / "scripts"), str(HERE)]

from peers import foreign, place, readers, summary, tokenizer  # noqa: E402
from peers.served import Server, serving  # noqa: E402

from tokentrail.machine import probe  # noqa: E402
from tokentrail.machine.lock import whole_machine  # noqa: E402
from tokentrail.measuring import requests  # noqa: E402

FLAGS = ["-c", "4096", "-np", "1", "--cache-ram", "0", "--no-cache-prompt", "--no-webui"]
EMOJI = "Answer only with emoji, as many as you can: 🦊🐼🦁🐸🐙🦋🐢🐬🦉🐝🦀🐘🦒🐧🦜🐳"
# Tokens that the model's chat template adds to a prompt.
TEMPLATE_TOKENS = 30


class Reader:
    """One of our three readers, in a process that lives as long as the run."""

    def __init__(self, name: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(HERE / "peers" / "readers.py"), name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, port: int, body: dict[str, Any]) -> dict[str, Any]:
        """One request."""
        self._process.stdin.write(json.dumps({"port": port, "body": body}) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def stop(self) -> None:
        """End it."""
        self._process.stdin.close()
        self._process.wait(10)
        self._process.stdout.close()


class Run:
    """One measurement; `found` is what is saved."""

    def __init__(self, given: argparse.Namespace, server: Server, folder: Path) -> None:
        self.given, self.server, self.folder = given, server, folder
        self.prompt = (ROOT / "config" / "prompts" / "question.txt").read_text(encoding="utf-8").rstrip("\n")
        names = [name for name in (*readers.NAMES, *foreign.VERSIONS) if not given.only or name in given.only]
        self.readers = {name: Reader(name) for name in names if name in readers.NAMES}
        self.foreign = [name for name in names if name in foreign.VERSIONS]
        self.found: dict[str, Any] = {
            "requests": {name: [] for name in names},
            "asked": dict.fromkeys(names, 0),
            "not_measured": {},
            "emoji": [],
        }

    def measure(self) -> None:
        """All rounds."""
        for reader in self.readers.values():
            # the server's own cold requests belong to no tool
            self._read(reader, self.prompt, 8)
        for turn in range(self.given.rounds):
            for index in range(self.given.own):
                order = _rotated(list(self.readers), turn + index)
                for name in order:
                    self._own(name, cold=turn == index == 0)
            for name in _rotated(self.foreign, turn):
                self._foreign(name, turn)
            print(f"round {turn + 1} of {self.given.rounds}", file=sys.stderr)
        for index in range(self.given.emoji if "own" in self.readers else 0):
            one = self._read(self.readers["own"], EMOJI, self.given.max_tokens)
            self.found["emoji"].append({"cold": index == 0} | one)

    def _own(self, name: str, cold: bool) -> None:
        self.found["asked"][name] += 1
        one = self._read(self.readers[name], self.prompt, self.given.max_tokens)
        self.found["requests"][name].append({"cold": cold} | one)

    def _read(self, reader: Reader, prompt: str, max_tokens: int) -> dict[str, Any]:
        before = len(self.server.log.requests)
        one = reader.ask(self.server.port, requests.body(prompt, max_tokens, "model"))
        served = self.server.wait_served(before + 1)[before:]
        if len(served) != 1:
            return {"problem": one.get("problem") or f"the server served {len(served)} requests"}
        return one | _reference(served[0])

    def _foreign(self, name: str, turn: int) -> None:
        """Run one tool for its share of a round; a fault takes the tool out of the run, with its reason."""
        if name in self.found["not_measured"]:
            return
        before = len(self.server.log.requests)
        count = self.given.foreign
        work = foreign.Work(
            port=self.server.port,
            prompt=self.prompt,
            prompt_tokens=self.given.prompt_n - TEMPLATE_TOKENS,
            max_tokens=self.given.max_tokens,
            requests=count,
            folder=self.folder / f"{name}-{turn}",
            tokenizer=self.folder / "tokenizer",
        )
        process = foreign.start(name, place.RESOURCES / "peers", work)
        self.server.log.watch = process.pid
        try:
            status = process.wait(foreign.LIMIT_S)
        except subprocess.TimeoutExpired:
            status = "still running"
        finally:
            self.server.log.watch = None
            _end(process)
        served = [r for r in self.server.log.requests[before:] if r.predicted_n == self.given.max_tokens]
        try:
            said = foreign.results(name, work.folder)
        except (OSError, ValueError, KeyError, TypeError) as error:
            said, status = [], status if status == "still running" else f"{status}, {type(error).__name__}: {error}"
        self.found["asked"][name] += count
        if not said or len(said) > len(served):
            ended = f"stopped after {foreign.LIMIT_S:g} s" if status == "still running" else f"exit status {status}"
            why = f"{ended}; it tells of {len(said)} requests, the server of {len(served)}"
            self.found["not_measured"][name] = why.replace(str(self.folder), "…")
            return
        for index, (one, request) in enumerate(zip(said, served, strict=False)):
            row = {"cold": index == 0, **one, **_reference(request), "cpu_ms": None, "wall_ms": None}
            if index:
                previous = served[index - 1]
                row["cpu_ms"] = (request.cpu_ns - previous.cpu_ns) / 1e6
                row["wall_ms"] = (request.ended_ns - previous.ended_ns) / 1e6
            self.found["requests"][name].append(row)


def _reference(served: Any) -> dict[str, Any]:
    return {"prompt_ms": served.prompt_ms, "server_tpot_ms": served.tpot_ms, "prompt_n": served.prompt_n}


def _rotated(names: list[str], by: int) -> list[str]:
    by %= max(1, len(names))
    return names[by:] + names[:by]


def _end(process: subprocess.Popen) -> None:
    """What a tool left behind is ended with it."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    process.wait()


def measure(given: argparse.Namespace) -> dict[str, Any]:
    """The whole benchmark -> what --save writes."""
    program, build = place.engine()
    model = place.model()
    refused = {}
    for name in foreign.VERSIONS:
        if not given.only or name in given.only:
            why = foreign.install(name, place.RESOURCES / "peers")
            refused |= {name: why} if why else {}
    flags = FLAGS + (["-t", str(given.threads)] if given.threads else [])
    with tempfile.TemporaryDirectory() as text, whole_machine(), serving(program, model, flags) as server:
        folder = Path(text)
        tokenizer.write(model, folder / "tokenizer")
        run = Run(given, server, folder)
        run.found["not_measured"] |= refused
        try:
            run.measure()
        finally:
            for reader in run.readers.values():
                reader.stop()
    found = run.found
    for name in found["not_measured"]:
        if not found["requests"].get(name):
            found["requests"].pop(name, None)
    return found | {
        "machine": probe()["machine"],
        "build": f"b{build}",
        "model": place.MODEL,
        "flags": " ".join(flags),
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "versions": {name: version for name, version in foreign.VERSIONS.items() if name in found["requests"]},
        "rounds": given.rounds,
        "max_tokens": given.max_tokens,
        "prompt_n": given.prompt_n,
    }


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--own", type=int, default=8, help="requests of each of our readers in a round")
    parser.add_argument("--foreign", type=int, default=6, help="requests of each foreign tool in a round")
    parser.add_argument("--emoji", type=int, default=6, help="requests whose answer has fewer chunks than tokens")
    parser.add_argument("--max-tokens", type=int, default=64)
    parser.add_argument("--threads", type=int, help="threads of the server; its default is one for each core")
    parser.add_argument("--only", nargs="*", help="these tools alone")
    parser.add_argument("--save", type=Path, help="write all requests here")
    parser.add_argument("--show", type=Path, help="print the tables of a saved run; measure nothing")
    given = parser.parse_args()
    # the question's tokens as the server counts them, with SmolLM2's template
    given.prompt_n = 54
    run = json.loads(given.show.read_text()) if given.show else measure(given)
    if given.save:
        place.save(run, given.save)
    print(summary.markdown(run))


if __name__ == "__main__":
    main()
