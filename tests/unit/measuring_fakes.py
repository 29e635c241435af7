"""An engine of small scripts that speak as llama.cpp's tools do, and a plan that uses it."""

from __future__ import annotations

import argparse
import hashlib
import sys
from pathlib import Path
from typing import Any

from tokentrail import jsonio, plan

# Behaves by --fake WORD among its arguments; --help as build 11434's, as far as it is looked at.
BENCH = """
import json, sys, time
if "--help" in sys.argv:
    print("-m, --model <filename>\\n-o, --output\\n-d, --n-depth\\n-nopo\\n--output-format {md,jsonl}\\n"
          "-fa, --flash-attn <on|off|auto>")
    sys.exit()
fake = sys.argv[sys.argv.index("--fake") + 1] if "--fake" in sys.argv else "good"
print("loading", file=sys.stderr)
if fake == "slow":
    time.sleep(60)
if fake == "memory":
    print("0.00.001.000 E ggml: cudaMalloc failed: out of memory\\nsrc/x.cpp:1: exiting", file=sys.stderr)
    sys.exit(1)
print(json.dumps({"samples_ns": [1, 2]}))
if fake == "crash":
    import os, signal
    sys.stdout.flush()
    os.kill(os.getpid(), signal.SIGABRT)
"""

SERVER = """
import http.server, json, sys, time
if "--help" in sys.argv:
    print("-m, --model FNAME\\n-rea, --reasoning [on|off|auto]\\n-np, --parallel N\\n-cram, --cache-ram N\\n--no-webui")
    sys.exit()
argument = lambda name, other=None: sys.argv[sys.argv.index(name) + 1] if name in sys.argv else other
fake, port, model = argument("--fake", "good"), int(argument("--port")), argument("-m")
if fake == "port":
    print("0.00.003.874 E srv start: couldn't bind HTTP server socket, hostname: 127.0.0.1, port: %d" % port,
          file=sys.stderr)
    sys.exit(1)
if fake == "flag":
    print("error: invalid argument: --reasoning", file=sys.stderr)
    sys.exit(1)
if fake == "load":
    time.sleep(0.3)
    print("0.00.1 E llama_model_load: error loading model: tensor data is not within the file bounds", file=sys.stderr)
    sys.exit(1)
ready_at = time.monotonic() + (60 if fake == "never" else 0.3)

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *words): pass
    def answer(self, status, value):
        text = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)
    def do_GET(self):
        loading = time.monotonic() < ready_at
        if loading:
            return self.answer(503, {"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}})
        self.answer(200, {
            "/health": {"status": "ok"},
            "/props": {"build_info": "b11434-unknown", "total_slots": 1, "chat_template": "t",
                       "model_path": "someone-elses.gguf" if fake == "other" else model,
                       "default_generation_settings": {"n_ctx": int(argument("-c"))}},
            "/v1/models": {"data": [{"id": model, "meta": {"n_params": 7, "size": 8}}]},
        }[self.path])
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        if fake == "refuse":
            return self.answer(400, {"error": {"code": 400, "type": "exceed_context_size_error", "n_ctx": 512,
                                               "n_prompt_tokens": 909, "message": "too long"}})
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.write(b"a\\r\\ndata: {}\\n\\n\\r\\n")
        self.wfile.flush()
        if fake == "die":
            print("E srv: CUDA error: an illegal memory access was encountered", file=sys.stderr, flush=True)
            import os, socket
            # as the system does with a process that dies: its connections close first, and a moment later it is gone
            self.connection.shutdown(socket.SHUT_RDWR)
            time.sleep(0.3)
            os._exit(134)
        if fake == "hang":
            time.sleep(60)
        self.wfile.write(b"e\\r\\ndata: [DONE]\\n\\n\\r\\n0\\r\\n\\r\\n")
        self.close_connection = True

print("listening", file=sys.stderr, flush=True)
http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
"""

ENGINE = {"schema_version": 1, "name": "fake", "provider": "path", "build_number": 11434, "commit": "unknown",
          "backend": "cpu", "binaries": {}, "cmake_flags": [], "compiler": None, "cuda_version": None, "source": {},
          "version_output": None}  # fmt: skip
MODEL = {"id": "m", "label": "m", "name": "M", "weights": "wheel", "identity": {}, "tokenizer": None}
FACTS = {**dict.fromkeys(("sha256", "file_bytes", "embedding_bytes", "streamed_bytes_per_token", "layers",
                          "kv_bytes_per_position", "bits_per_weight", "tied_embedding", "architecture")),
         "schema_version": 1, "model": "m", "label": "m", "weights": "wheel", "name": "M", "file": "m.gguf",
         "tensor_bytes": 8, "parameters": 7, "formats": {}, "source": {}}  # fmt: skip
PROMPT = "A question?"
ARGUMENTS: dict[str, dict[str, Any]] = {
    "llama-bench": {"n_prompt": [8], "n_gen": [4]},
    "llama-batched-bench": {"ctx_size": 256, "npp": [8], "ntg": [4], "npl": [1]},
    "llama-server": {"ctx_size": 512, "reasoning": "off", "requests": [{"name": "q", "prompt": "p", "max_tokens": 4}]},
    "read-ceiling": {"bytes": 1 << 20, "repetitions": 2},
}


def resources(folder: Path) -> Path:
    """A resources folder with the engine "fake" and a model that nobody reads."""
    programs = {"llama-bench": BENCH, "llama-batched-bench": BENCH, "llama-server": SERVER}
    for name, text in programs.items():
        file = folder / "engines/fake/bin" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"#!{sys.executable}\n{text}")
        file.chmod(0o755)
    jsonio.write_json(folder / "engines/fake/manifest.json", ENGINE, "engine")
    jsonio.write_json(folder / "models/wheel/m.facts.json", FACTS, "model-facts")
    (folder / "models/wheel/m.gguf").touch()
    return folder


def case(tool: str, fake: str = "good", **changes: Any) -> dict[str, Any]:
    """A planned case of this tool that behaves as `fake` says."""
    arguments = {**ARGUMENTS[tool], **changes.pop("arguments", {})}
    if tool != "read-ceiling":
        arguments["extra"] = ["--fake", fake]
    prompt = {"id": "p", "text": PROMPT, "sha256": hashlib.sha256(PROMPT.encode()).hexdigest(), "expect_tokens": 3}
    found = {
        "id": "case",
        "step": "1",
        "title": "t",
        "tool": tool,
        "role": "serve",
        "arguments": arguments,
        "device": "cpu",
        "processes": 1,
        "threads": {"value": 1, "reason": "r"},
        "timeout_s": 20,
        "model": None if tool == "read-ceiling" else MODEL,
        **({"prompts": [prompt]} if tool == "llama-server" else {}),
        **changes,
    }
    return {**found, "key": plan.key_of(found)}


def given(folder: Path, planned: dict[str, Any], engine: str = "fake") -> argparse.Namespace:
    """The command line's values for measuring this case; its plan is written."""
    run = folder / "results/cpu-x/e/c"
    document = {
        "schema_version": 1,
        "run": {"machine": "cpu-x", "engine": "e", "campaign": "c"},
        "origin": "measured",
        "weights": "wheel",
        "title": "t",
        "cases": [planned],
        "skipped": [],
    }
    jsonio.write_json(run / "plan.json", document, "plan")
    return argparse.Namespace(
        plan=run / "plan.json",
        case=planned["id"],
        engine_dir=folder / "engines" / engine,
        resources=folder,
        out=run / "raw" / planned["id"] / planned["key"] / "measurement.json",
        failed_dir=run / "failed",
    )
