"""The foreign tools: how each is installed apart, called for the same requests, and what it says of each of them.

All figures are the tool's own, in ms: `ttft_ms`; `tpot_ms`, its time per step between first and last token, whatever
it calls that; `named_tpot_ms` where it calls something else TPOT.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
VERSIONS = {"llama-benchy": "0.4.0", "guidellm": "0.8.1", "aiperf": "0.13.0"}
CALLS = {
    "own": "(last − first) / (n − 1): tpot",
    "raw": "(last − first) / (n − 1)",
    "urllib": "(last − first) / (n − 1)",
    "llama-benchy": "none; tg_throughput is its inverse",
    "guidellm": "inter_token_latency; its time_per_output_token is (last − start) / n and holds TTFT",
    "aiperf": "inter_token_latency: (end − first) / (n − 1), n from its own tokenizer",
}
# What a book of llama-benchy is fetched from; never reached, since its cache holds the prompt.
BOOK = "http://127.0.0.1/prompt.txt"
LIMIT_S = 45.0


@dataclass(frozen=True)
class Work:
    """What every tool is asked for."""

    port: int
    prompt: str
    prompt_tokens: int
    max_tokens: int
    requests: int
    folder: Path
    tokenizer: Path


def install(name: str, peers: Path) -> str | None:
    """Install a tool into a virtual environment of its own, once; why it could not be, or None."""
    home = peers / f"{name}-{VERSIONS[name]}"
    if (home / "bin" / name).exists():
        return None
    listed = HERE / f"requirements-{name}.txt"
    try:
        for argv in ([sys.executable, "-m", "venv", home], [home / "bin" / "pip", "install", "-q", "-r", listed]):
            subprocess.run(argv, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        return f"could not be installed ({(getattr(error, 'stderr', '') or str(error)).strip().splitlines()[-1]})"
    return None


def start(name: str, peers: Path, work: Work) -> subprocess.Popen:
    """Start a tool for `work.requests` requests, in a session of its own."""
    work.folder.mkdir(parents=True, exist_ok=True)
    program = peers / f"{name}-{VERSIONS[name]}" / "bin" / name
    arguments = {"llama-benchy": _benchy, "guidellm": _guidellm, "aiperf": _aiperf}[name](work)
    # a home of its own: caches and settings of the person who runs this neither help nor suffer
    environment = os.environ | {"HOME": str(work.folder), "NO_COLOR": "1", "AIPERF_UI_TYPE": "none"}
    with (work.folder / "output.txt").open("wb") as output:
        return subprocess.Popen(
            [program, *arguments],
            cwd=work.folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def results(name: str, folder: Path) -> list[dict[str, Any]]:
    """What a tool says of each request that it counts as answered, in the order sent."""
    read = {"llama-benchy": read_benchy, "guidellm": read_guidellm, "aiperf": read_aiperf}[name]
    file = folder / {"llama-benchy": "benchy.json", "guidellm": "guidellm.json", "aiperf": "profile_export.jsonl"}[name]
    return read(file.read_text(encoding="utf-8"))


def _benchy(work: Work) -> list[str]:
    cache = work.folder / ".cache" / "llama-benchy"
    cache.mkdir(parents=True, exist_ok=True)
    # one token more than it takes, so that its random cut always begins at the start
    book = cache / f"{hashlib.md5(BOOK.encode()).hexdigest()}.txt"
    book.write_text(f"{work.prompt} a", encoding="utf-8")
    argv = ["--base-url", f"http://127.0.0.1:{work.port}/v1", "--model", "model", "--tokenizer", str(work.tokenizer)]
    argv += ["--pp", str(work.prompt_tokens), "--tg", str(work.max_tokens), "--runs", str(work.requests)]
    argv += ["--latency-mode", "none", "--no-warmup", "--skip-coherence", "--no-adapt-prompt", "--book-url", BOOK]
    argv += ["--extra-body", "temperature=0,cache_prompt=false", "--format", "json"]
    return [*argv, "--save-result", str(work.folder / "benchy.json")]


def read_benchy(text: str) -> list[dict[str, Any]]:
    """Its TTFT is e2e_ttft; its speed counts n − 1 tokens between the first and the last."""
    (test,) = json.loads(text)["benchmarks"]
    speeds = (test["tg_req_throughput"] or test["tg_throughput"])["values"]
    pairs = zip(test["e2e_ttft"]["values"], speeds, strict=True)
    return [{"ttft_ms": ttft, "tpot_ms": 1e3 / speed} for ttft, speed in pairs]


def _guidellm(work: Work) -> list[str]:
    data = work.folder / "prompts.jsonl"
    data.write_text((json.dumps({"prompt": work.prompt}) + "\n") * work.requests, encoding="utf-8")
    extras = {"body": {"temperature": 0, "cache_prompt": False}}
    backend = {"kind": "openai_http", "target": f"http://127.0.0.1:{work.port}", "model": "model", "extras": extras}
    argv = ["run", "--backend", json.dumps(backend | {"max_tokens": work.max_tokens})]
    argv += ["--profile", "kind=synchronous", "--constraint", f"kind=max_requests,count={work.requests}"]
    argv += ["--data", f"kind=json_file,path={data}", "--tokenizer", f"kind=hf_auto,model={work.tokenizer}"]
    return [*argv, "--output", f"kind=json,path={work.folder / 'guidellm.json'}", "--disable-console"]


def read_guidellm(text: str) -> list[dict[str, Any]]:
    """Its inter_token_latency is the time per step; what it names TPOT is the whole time over n."""
    (run,) = json.loads(text)["benchmarks"]
    answered = sorted(run["requests"]["successful"], key=lambda request: request["request_start_time"])
    return [
        {
            "ttft_ms": request["time_to_first_token_ms"],
            "tpot_ms": request["inter_token_latency_ms"],
            "named_tpot_ms": request["time_per_output_token_ms"],
        }
        for request in answered
    ]


def _aiperf(work: Work) -> list[str]:
    data = work.folder / "prompts.jsonl"
    data.write_text(json.dumps({"text": work.prompt}) + "\n", encoding="utf-8")
    argv = ["profile", "--model", "model", "--url", f"http://127.0.0.1:{work.port}", "--endpoint-type", "chat"]
    argv += ["--streaming", "--input-file", str(data), "--custom-dataset-type", "single_turn"]
    argv += ["--tokenizer", str(work.tokenizer), "--concurrency", "1", "--request-count", str(work.requests)]
    for extra in (f"max_tokens:{work.max_tokens}", "temperature:0", "cache_prompt:false"):
        argv += ["--extra-inputs", extra]
    argv += ["--output-artifact-dir", str(work.folder), "--ui", "none"]
    return [*argv, "--no-gpu-telemetry", "--no-server-metrics"]


def read_aiperf(text: str) -> list[dict[str, Any]]:
    """One line for each request."""
    lines = sorted((json.loads(line) for line in text.splitlines()), key=lambda x: x["metadata"]["request_start_ns"])
    names = {"ttft_ms": "time_to_first_token", "tpot_ms": "inter_token_latency"}
    answered = [line["metrics"] for line in lines if not line.get("error")]
    return [{ours: metrics[theirs]["value"] for ours, theirs in names.items()} for metrics in answered]
