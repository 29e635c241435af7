"""What a pasted file is, found by its content: a llama-bench or batched-bench output, requests, GPU memory."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tokentrail.problems import Problem
from tokentrail.records import printed_requests, transcribed
from tokentrail.tools import batched_bench, devices, lenient_json, llama_bench

EXPECTED = (
    "a llama-bench output (Markdown, jsonl, json, csv), a llama-batched-bench output (Markdown, jsonl), "
    "a requests file (YAML with `requests`) or nvidia-smi's memory table (CSV)"
)


@dataclass(frozen=True)
class Part:
    """One case to be: what of a file belongs together (one model on one device, one kind of request).

    device: "cpu", "gpu" or "hybrid", as tokentrail.tools.devices tells them apart.
    """

    file: Path
    tool: str
    role: str
    device: str
    arguments: dict[str, Any] = field(default_factory=dict)
    model_type: str | None = None
    size: Mapping[str, Any] | None = None
    params: Mapping[str, Any] | None = None
    threads: int | None = None
    build: tuple[int | None, str | None] = (None, None)
    backend: str | None = None
    model: str | None = None
    requests: tuple[str, ...] = ()


def read(path: Path, has_gpu: bool) -> list[Part]:
    """The parts of one file. Raises Problem naming file and fault when it is none of what can be imported."""
    try:
        text = lenient_json.as_text(path.read_bytes())
    except FileNotFoundError:
        raise Problem(f"{path} does not exist; name the file with the pasted output") from None
    except IsADirectoryError:
        raise Problem(f"{path} is a folder; name the file with the pasted output") from None
    if "\x00" in text:
        raise Problem(f"{path} is no text; save the pasted output as text")
    if not text.strip():
        raise Problem(f"{path} is empty; it needs {EXPECTED}")
    try:
        if path.suffix in (".yaml", ".yml"):
            return _requests(path, text, has_gpu)
        if "memory.used" in text:
            transcribed.gpu_memory(text)
            return [Part(path, "llama-server", "serve", "gpu")]
        if re.search(r"\|\s*N_KV\s*\||\"n_kv\"", text):
            return _batched(path, text, has_gpu)
        return _bench(path, text)
    except Problem as fault:
        raise Problem(f"{path}: {fault}") from None


def _bench(path: Path, text: str) -> list[Part]:
    found = llama_bench.parse(text, 0, "", None, allow_tables=True)
    _refuse(found["reasons"])
    if not found["tests"]:
        raise Problem(f"no result is in it; it needs {EXPECTED}")
    groups: dict[tuple[Any, str, Any], list[dict[str, Any]]] = {}
    for test in found["tests"]:
        settings = test["settings"]
        build = settings.get("build_number"), settings.get("build_commit")
        groups.setdefault((settings.get("model_type"), settings["device"], build), []).append(test)
    for (model, _, _), tests in groups.items():
        if not any(name in tests[0]["settings"] for name in ("backends", *devices.OLD_BACKEND_FLAGS)):
            raise Problem(f"the rows of {model} name no backend, so where they ran is not known; restore the column")
        _refuse_mixed(model, tests)
    return [_bench_part(path, model, device, tests) for (model, device, _), tests in groups.items()]


def _refuse_mixed(model: str | None, tests: Sequence[dict[str, Any]]) -> None:
    """Rows of other files of one name, or of other hardware, would stand for one model on one machine."""
    for name in ("model_filename", "model_size", "model_n_params", "gpu_info", "cpu_info"):
        values = {str(t["settings"].get(name)) for t in tests}
        _two(model, name, values)
    for name in ("size", "params"):
        _two(model, name, {str((t["reported"].get("printed", {}).get(name) or {}).get("text")) for t in tests})


def _two(model: str | None, name: str, values: set[str]) -> None:
    if len(values) > 1:
        said = ", ".join(sorted(values))
        raise Problem(f"rows of {model} differ in {name} ({said}); import each as a run of its own")


def _bench_part(path: Path, model: str | None, device: str, tests: Sequence[dict[str, Any]]) -> Part:
    settings = tests[0]["settings"]
    printed = tests[0]["reported"].get("printed", {})
    exact = {"size": settings.get("model_size"), "params": settings.get("model_n_params")}
    limits = {k: printed.get(k) or ({"low": v, "high": v, "text": f"{v}"} if v else None) for k, v in exact.items()}
    arguments: dict[str, Any] = {
        "n_prompt": sorted({t["n_prompt"] for t in tests if t["n_prompt"]}),
        "n_gen": sorted({t["n_gen"] for t in tests if t["n_gen"]}),
    }
    depths = sorted({t["n_depth"] for t in tests})
    if depths != [0]:
        arguments["n_depth"] = depths
    for key in ("n_gpu_layers", "no_op_offload", "flash_attn", "n_batch", "n_ubatch"):
        values = {str(t["settings"][key]): t["settings"][key] for t in tests if key in t["settings"]}
        if len(values) == 1:
            arguments[key] = next(iter(values.values()))
    return Part(
        path, "llama-bench", "bench", device, arguments, model, limits["size"],
        limits["params"], settings.get("n_threads"), (settings.get("build_number"), settings.get("build_commit")),
        settings.get("backends"),
    )  # fmt: skip


def _batched(path: Path, text: str, has_gpu: bool) -> list[Part]:
    found = batched_bench.parse(text, 0, "", None, allow_tables=True)
    _refuse(found["reasons"])
    rows, said = found["rows"], found["reported"]
    arguments = {
        "ctx_size": said.get("n_kv_max"),
        "npp": list(dict.fromkeys(r["pp"] for r in rows)),
        "ntg": list(dict.fromkeys(r["tg"] for r in rows)),
        "npl": list(dict.fromkeys(r["pl"] for r in rows)),
        **{k: said[k] for k in ("n_gpu_layers", "flash_attn", "n_batch", "n_ubatch") if k in said},
    }
    arguments = {k: v for k, v in arguments.items() if v is not None}
    device = "gpu" if has_gpu and said.get("n_gpu_layers") != 0 else "cpu"
    return [Part(path, "llama-batched-bench", "batched", device, arguments, threads=said.get("n_threads"))]


def _requests(path: Path, text: str, has_gpu: bool) -> list[Part]:
    """Requests grouped by the role that their name begins with; a request of no known role is refused."""
    roles: dict[str, list[str]] = {}
    server: dict[str, Any] = {}
    for printed in printed_requests.load(text):
        name = printed["case"]
        role = next((r for r in ("request-long-warm", "request-long", "request-short") if name.startswith(r)), None)
        if role is None:
            known = "request-short, request-long or request-long-warm"
            raise Problem(f"request {name!r}: its name must begin with {known}, which says what it is")
        roles.setdefault(role, []).append(name)
    printed_requests.read(text, [name for names in roles.values() for name in names])  # values that are none: refused
    server = printed_requests.server(text)
    return [
        Part(path, "llama-server", role, "gpu" if has_gpu else "cpu", {"server": server}, model=server.get("model"),
             requests=tuple(names))
        for role, names in roles.items()
    ]  # fmt: skip


def _refuse(reasons: Sequence[Mapping[str, str]]) -> None:
    if reasons:
        more = f" (and {len(reasons) - 1} more)" if len(reasons) > 1 else ""
        # A paste has no exit status, so nothing may be said of it.
        message = reasons[0]["message"].replace("llama-bench exited 0 but ", "").replace("although it exited 0", "")
        raise Problem(f"{message}{more}")
