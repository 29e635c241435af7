"""A measured run on disk, made of outputs whose every sample is known: an RTX 4090 with two models."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

from tokentrail import jsonio, numbers, records
from tokentrail.records import whole_run

RUN = {"machine": "rtx4090", "engine": "b11434-cuda-0123abcd", "campaign": "lesson"}
START, END = "2026-11-29T12:00:00Z", "2026-11-29T12:00:10Z"
# ns per repetition: the first is cold, by a factor of two in prefill
PREFILL_NS = {
    "0.6b": [[20_000_000, 10_000_000, 10_100_000, 9_900_000], [19_000_000, 10_200_000, 10_000_000, 10_100_000]],
    "8b": [[60_000_000, 40_000_000, 40_100_000, 39_900_000]],
}
DECODE_NS = {
    "0.6b": [
        [205_000_000, 200_000_000, 201_000_000, 199_000_000],
        [204_000_000, 200_500_000, 200_000_000, 201_000_000],
    ],
    "8b": [[801_000_000, 800_000_000, 802_000_000, 798_000_000]],
}
CPU_PREFILL_NS, CPU_DECODE_NS = (
    [[500_000_000, 500_000_000, 510_000_000]],
    [[1_600_000_000, 1_600_000_000, 1_610_000_000]],
)
SIZES = {
    "0.6b": {
        "tensor_bytes": 633495552,
        "parameters": 596049920,
        "embedding_bytes": 165306368,
        "streamed_bytes_per_token": 633495552,
        "kv_bytes_per_position": 114688,
        "tied_embedding": True,
        "layers": 28,
    },
    "8b": {
        "tensor_bytes": 5021827072,
        "parameters": 8190735360,
        "embedding_bytes": 350060544,
        "streamed_bytes_per_token": 4671766528,
        "kv_bytes_per_position": 147456,
        "tied_embedding": False,
        "layers": 36,
    },
}
BATCHES = [(1, 0.5, 0.25), (1, 0.02, 0.2), (4, 0.04, 0.25), (8, 0.08, 0.3)]  # pl, t_pp, t_tg; the first row is cold


def make(folder: Path, **changes: Any) -> Path:
    """Write plan and raw of the run below `folder`; returns the run's folder. changes: see the builders."""
    run_dir = folder / "/".join(RUN.values())
    cases = [
        bench(
            run_dir, "bench-small", "0.6b", PREFILL_NS["0.6b"], changes.get("decode_ns", DECODE_NS["0.6b"]), **changes
        ),
        bench(run_dir, "bench-small-cpu", "0.6b", CPU_PREFILL_NS, CPU_DECODE_NS, device="cpu"),
        bench(run_dir, "bench-big", "8b", PREFILL_NS["8b"], DECODE_NS["8b"]),
        batched(run_dir),
        server(run_dir, "request-short", 36, 9),
        server(run_dir, "request-long", 2491, 9),
        ceiling(run_dir),
    ]
    cases += changes.get("more", lambda _: [])(run_dir)
    plan = {
        "schema_version": 1,
        "run": RUN,
        "origin": "measured",
        "weights": "stand-in",
        "title": "a made run",
        "cases": cases,
        "skipped": [{"id": "step-1", "step": "1", "title": "Step 1", "reason": "not in this test"}],
    }
    jsonio.write_json(run_dir / "plan.json", plan, "plan")
    return run_dir


def derived(folder: Path, **changes: Any) -> tuple[Path, dict[str, dict[str, Any]]]:
    """The same with records and numbers; (run folder, numbers by id)."""
    run_dir = make(folder, **changes)
    whole_run.write(run_dir)
    document = numbers.derive(run_dir)
    jsonio.write_json(run_dir / "numbers.json", document)
    return run_dir, {n["id"]: n for n in document["numbers"]}


def record(run_dir: Path, case: str) -> dict[str, Any]:
    """The record of one case, made from its raw."""
    plan = jsonio.read_json(run_dir / "plan.json")
    planned = next(c for c in plan["cases"] if c["id"] == case)
    return records.make(run_dir / "raw" / case / planned["key"] / "measurement.json", planned)


def bench(run_dir: Path, role: str, label: str, prefill: list, decode: list, **changes: Any) -> dict[str, Any]:
    device = changes.get("device", "gpu")
    tokens = {"prefill": 512 if label == "8b" else 256, "decode": 128}
    arguments = {"n_prompt": [tokens["prefill"]], "n_gen": [tokens["decode"]], "repetitions": len(prefill[0])}
    row = {
        "build_commit": "unknown",
        "build_number": 11434,
        "cpu_info": "CPU",
        "gpu_info": "NVIDIA GeForce RTX 4090",
        "backends": "CUDA",
        "model_filename": "x.gguf",
        "model_type": "x",
        "model_size": SIZES[label]["tensor_bytes"],
        "model_n_params": SIZES[label]["parameters"],
        "n_batch": 2048,
        "n_ubatch": 512,
        "n_threads": 8,
        "n_gpu_layers": 0 if device == "cpu" else -1,
        "no_op_offload": int(device == "cpu"),
        "flash_attn": -1,
        "n_depth": 0,
    }
    row |= changes.get("row", {}) if role == "bench-small" else {}
    outputs = [
        "".join(json.dumps({**row, "n_prompt": p, "n_gen": g, "samples_ns": ns}) + "\n" for p, g, ns in tests)
        for tests in (
            ((tokens["prefill"], 0, first), (0, tokens["decode"], second))
            for first, second in zip(prefill, decode, strict=True)
        )
    ]
    return _write(run_dir, _case(role, "llama-bench", label, arguments, device, len(outputs)), label, outputs)


def sweep(run_dir: Path, name: str = "sweep-depth") -> list[dict[str, Any]]:
    """Decode at three depths, on the line time = 1 ms + bytes / 500 GB/s."""
    depths = [0, 4096, 16384]
    size = SIZES["0.6b"]
    rows = []
    for depth in depths:
        step = 0.001 + (size["streamed_bytes_per_token"] + size["kv_bytes_per_position"] * (depth + 16)) / 500e9
        rows.append({"n_prompt": 0, "n_gen": 32, "n_depth": depth, "samples_ns": [round(32e9 * step)] * 4})
    shared = {
        "build_number": 11434,
        "build_commit": "unknown",
        "gpu_info": "NVIDIA GeForce RTX 4090",
        "backends": "CUDA",
    }
    output = "".join(json.dumps({**shared, "n_gpu_layers": -1, **row}) + "\n" for row in rows)
    arguments = {"n_prompt": [], "n_gen": [32], "n_depth": depths}
    case = {**_case("sweep-depth", "llama-bench", "0.6b", arguments, "gpu", 2), "id": name}
    return [_write(run_dir, case, "0.6b", [output, output])]


def batched(run_dir: Path) -> dict[str, Any]:
    arguments = {"ctx_size": 16384, "npp": [256], "ntg": [128], "npl": [1, 4, 8], "repeat_first": True}
    lines = [
        {
            "n_kv_max": 16384,
            "is_pp_shared": 0,
            "pp": 256,
            "tg": 128,
            "pl": pl,
            "n_kv": 384 * pl,
            "t_pp": a,
            "speed_pp": pl * 256 / a,
            "t_tg": b,
            "speed_tg": pl * 128 / b,
            "t": a + b,
            "speed": 384 * pl / (a + b),
        }
        for pl, a, b in BATCHES
    ]
    output = "".join(json.dumps(line) + "\n" for line in lines)
    case = _case("batched-small", "llama-batched-bench", "0.6b", arguments, "gpu", 2)
    return _write(run_dir, case, "0.6b", [output, output])


def server(run_dir: Path, role: str, prompt_n: int, tokens: int) -> dict[str, Any]:
    requests = [{"name": role, "prompt": "question", "max_tokens": 16, "repetitions": 3}]
    case = _case(role, "llama-server", "0.6b", {"ctx_size": 4096, "requests": requests}, "gpu", 1)
    prompt_ms = prompt_n / 10  # 10 prompt tokens a ms
    sent = [answer(prompt_n, tokens, (3 if i == 0 else 1) * prompt_ms, 2.0) for i in range(3)]
    return _write(run_dir, case, "0.6b", [""], sent=sent)


def answer(prompt_n: int, tokens: int, prompt_ms: float, step_ms: float) -> list[dict[str, Any]]:
    """Chunks of one streamed answer: a token each `step_ms` from prompt_ms + 4 ms on."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
    pieces = [(0.5, head)]
    for i in range(tokens):
        event = {"choices": [{"index": 0, "delta": {"content": "a"}, "finish_reason": None}]}
        pieces.append((prompt_ms + 4 + i * step_ms, b"data: " + json.dumps(event).encode() + b"\n\n"))
    timings = {
        "cache_n": 0,
        "prompt_n": prompt_n,
        "prompt_ms": prompt_ms,
        "predicted_n": tokens,
        "predicted_ms": (tokens - 1) * step_ms,
    }
    last = {"choices": [{"index": 0, "delta": {}, "finish_reason": "length"}], "timings": timings}
    end = prompt_ms + 4 + (tokens - 1) * step_ms
    pieces.append((end, b"data: " + json.dumps(last).encode() + b"\n\ndata: [DONE]\n\n"))
    return [{"t_ns": 1_000_000 + int(ms * 1e6), "data": base64.b64encode(data).decode()} for ms, data in pieces]


def ceiling(run_dir: Path, device: str = "gpu", slower: int = 1) -> dict[str, Any]:
    case = _case("read-ceiling", "read-ceiling", None, {"bytes": 1 << 30, "repetitions": 3}, device, 2)
    if device != "gpu":
        case["id"] += f"-{device}"
    times = [ns * slower for ns in (2_000_000, 1_150_000, 1_160_000)]
    output = "".join(json.dumps({"bytes": 1 << 30, "ns": ns}) + "\n" for ns in times)
    return _write(run_dir, case, None, [output, output])


def _case(role: str, tool: str, label: str | None, arguments: dict, device: str, processes: int) -> dict[str, Any]:
    model = label and {
        "id": f"qwen3-{label}",
        "label": label,
        "name": f"Qwen3 {label}",
        "weights": "stand-in",
        "identity": {},
    }
    return {
        "id": role,
        "step": "4",
        "title": role,
        "tool": tool,
        "role": role,
        "arguments": arguments,
        "key": "0123abcd",
        "device": device,
        "processes": processes,
        "timeout_s": 60,
        "threads": {"value": 8, "reason": "test"},
        "model": model,
    }


def _write(
    run_dir: Path, case: dict[str, Any], label: str | None, outputs: list[str], sent: list | None = None
) -> dict[str, Any]:
    folder = run_dir / "raw" / case["id"] / case["key"]
    folder.mkdir(parents=True)
    processes = []
    for index, output in enumerate(outputs):
        quiet = {"energy": {"gpu_mj": [5000], "rapl_uj": None}, "n": 1, "gpus": [], "cpu": {}}
        process: dict[str, Any] = {
            "index": index,
            "argv": ["engines/e/bin/" + case["tool"], "-m", "x.gguf"],
            "environment": {},
            "started_at": START,
            "ended_at": END,
            "duration_ns": 10_000_000_000,
            "exit_status": 0,
            "stdout": _stream(folder, f"process-{index}.stdout.txt", output),
            "stderr": _stream(folder, f"process-{index}.stderr.txt", ""),
            "telemetry": {"before": {}, "after": {}, "during": quiet, "samples": None},
        }
        if sent is not None:
            process["requests"] = [
                {
                    "index": i,
                    "name": case["role"],
                    "prompt": "question",
                    "body": {"max_tokens": 16},
                    "sent_at": START,
                    "sent_ns": 1_000_000,
                    "http_status": 200,
                    "chunks": _stream(folder, f"request-{i}.jsonl", "".join(json.dumps(c) + "\n" for c in chunks)),
                }
                for i, chunks in enumerate(sent)
            ]
        processes.append(process)
    measurement = {
        "schema_version": 1,
        "status": "measured",
        "origin": "measured",
        "run": RUN,
        "case": case,
        "model": _facts(label) if label else None,
        "engine": _engine(),
        "machine": _machine(),
        "processes": processes,
        "workflow": {"version": "0.1.0", "commit": "a" * 40, "dirty": False, "source_sha256": "b" * 64},
        "held_gpu_ns": 10_000_000_000,
    }
    jsonio.write_json(folder / "measurement.json", measurement, "measurement")
    return case


def _stream(folder: Path, name: str, text: str) -> dict[str, Any]:
    (folder / name).write_text(text, encoding="utf-8")
    return {"file": name, "sha256": jsonio.sha256_text(text), "bytes": len(text.encode())}


def _facts(label: str) -> dict[str, Any]:
    size = SIZES[label]
    return {
        "schema_version": 1,
        "model": f"qwen3-{label}",
        "label": label,
        "weights": "stand-in",
        "name": f"Qwen3 {label}",
        "sha256": "c" * 64,
        "file": "x.gguf",
        "file_bytes": size["tensor_bytes"] + 5951136,
        **size,
        "bits_per_weight": 8 * size["tensor_bytes"] / size["parameters"],
        "architecture": "qwen3",
        "formats": {},
        "source": {},
    }


def _engine() -> dict[str, Any]:
    return {
        "schema_version": 1,
        "name": RUN["engine"],
        "provider": "pypi",
        "build_number": 11434,
        "commit": "unknown",
        "backend": "cuda",
        "binaries": {"llama-bench": "d" * 64},
        "cmake_flags": ["-DGGML_CUDA=ON"],
        "compiler": "gcc",
        "cuda_version": "13.0",
        "source": {},
        "version_output": None,
    }


def _machine() -> dict[str, Any]:
    gpu = {"index": 0, "name": "NVIDIA GeForce RTX 4090", "memory_bytes": 25757220864}
    cpu = {"model": "CPU", "logical": 16, "physical": 8, "affinity": 16, "quota": None, "virtual": False}
    return {
        "schema_version": 1,
        "machine": RUN["machine"],
        "cpu": cpu,
        "threads": {"value": 8, "reason": "test"},
        "memory_bytes": 1 << 36,
        "gpus": [gpu],
        "driver": "580",
        "os": "Debian 12",
        "kernel": "6.1",
        "container": None,
    }
