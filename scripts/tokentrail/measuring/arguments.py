"""From a planned case to the tool's argument list: pure functions; paths are relative to the resources folder.

An argument the case leaves out is left to the tool, which reports what it resolved; threads are always passed. Flags
differ between builds, so each is looked up in the tool's own `--help` before it is used.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from tokentrail.problems import Problem


@dataclass(frozen=True)
class Tool:
    """A tool of an engine: its path, the flags its --help lists, and whether its engine can use a GPU at all."""

    path: str
    help_text: str
    has_gpu_backend: bool

    def knows(self, flag: str) -> bool:
        """Whether --help lists this very flag."""
        return re.search(rf"(?<![\w-]){re.escape(flag)}(?![\w-])", self.help_text) is not None

    def flag(self, *spellings: str) -> str:
        """The first spelling that this build knows; raises Problem when it knows none."""
        for spelling in spellings:
            if self.knows(spelling):
                return spelling
        name = self.path.rsplit("/", 1)[-1]
        raise Problem(
            f"this build of {name} has no option {spellings[0]}; use a newer llama.cpp, or leave the argument out"
        )


def llama_bench(case: dict[str, Any], tool: Tool, model: str) -> list[str]:
    """Arguments of llama-bench. JSON lines: a finished test is on disk even if a later one crashes."""
    given = case["arguments"]
    argv = [tool.path, "-m", model, "-o", "jsonl"]
    argv += ["-p", _list(given["n_prompt"] or [0]), "-n", _list(given["n_gen"] or [0])]
    if "n_depth" in given:
        argv += [tool.flag("-d"), _list(given["n_depth"])]
    if "repetitions" in given:
        argv += ["-r", str(given["repetitions"])]
    layers, no_offload = _device(case, tool)
    if layers is not None:
        argv += ["-ngl", str(layers)]
    if no_offload is not None:
        argv += [tool.flag("-nopo"), str(no_offload)]
    argv += _flash(given, tool)
    for name, flag in (("batch_size", "-b"), ("ubatch_size", "-ub")):
        if name in given:
            argv += [flag, _list(given[name])]
    return argv + _caches(given) + _threads(case) + given.get("extra", [])


def batched_bench(case: dict[str, Any], tool: Tool, model: str) -> list[str]:
    """Arguments of llama-batched-bench. `repeat_first`: the first batch size comes twice, its first row being cold."""
    given = case["arguments"]
    sizes = given["npl"][:1] + given["npl"] if given.get("repeat_first") else given["npl"]
    argv = [tool.path, "-m", model, "-c", str(given["ctx_size"])]
    argv += ["-npp", _list(given["npp"]), "-ntg", _list(given["ntg"]), "-npl", _list(sizes)]
    argv += [tool.flag("--output-format"), "jsonl"]
    argv += _common(case, tool)
    for name, flag in (("batch_size", "-b"), ("ubatch_size", "-ub")):
        if name in given:
            argv += [flag, str(given[name])]
    return argv + _threads(case) + given.get("extra", [])


def server(case: dict[str, Any], tool: Tool, model: str, port: int, thinking: list[str]) -> list[str]:
    """Arguments of llama-server. `thinking`: what this build needs to answer without thinking (server_answers).

    --cache-ram 0 and -np 1: else the server copies the last request's cache to memory before it starts the next one,
    and that copy would count as waiting time. Builds that lack either do not copy.
    """
    given = case["arguments"]
    argv = [tool.path, "-m", model, "-c", str(given["ctx_size"]), "--host", "127.0.0.1", "--port", str(port)]
    argv += thinking
    if tool.knows("--parallel"):
        argv += ["-np", str(given.get("parallel", 1))]
    if tool.knows("--cache-ram"):
        argv += ["--cache-ram", str(given.get("cache_ram", 0))]
    argv += [flag for flag in ("--no-webui",) if tool.knows(flag)]
    return argv + _common(case, tool) + _threads(case) + given.get("extra", [])


def read_ceiling(case: dict[str, Any], path: str) -> list[str]:
    """Arguments of our own read kernel; see scripts/native."""
    given = case["arguments"]
    argv = [path, "--bytes", str(given["bytes"]), "--repetitions", str(given["repetitions"])]
    threads = given.get("threads") or case["threads"]["value"]
    return [*argv, "--threads", str(threads)] if threads else argv


def _common(case: dict[str, Any], tool: Tool) -> list[str]:
    """Device and attention, as the tools that share llama.cpp's general options take them."""
    given = case["arguments"]
    layers, no_offload = _device(case, tool)
    argv = ["-ngl", str(layers)] if layers is not None else []
    argv += [tool.flag("--no-op-offload", "-nopo")] if no_offload else []
    return argv + _flash(given, tool)


def _device(case: dict[str, Any], tool: Tool) -> tuple[int | None, int | None]:
    """(-ngl, -nopo). The CPU of a machine with a GPU: no layers there, and no large batch sent there either."""
    given = case["arguments"]
    layers, no_offload = given.get("n_gpu_layers"), given.get("no_op_offload")
    if case["device"] == "cpu" and tool.has_gpu_backend:
        layers = 0 if layers is None else layers
        no_offload = 1 if no_offload is None else no_offload
    return layers, no_offload


def _flash(given: dict[str, Any], tool: Tool) -> list[str]:
    """-fa takes on|off|auto in newer builds, 0|1 or nothing in older ones, where auto did not exist."""
    if "flash_attn" not in given:
        return []
    wanted = given["flash_attn"]
    line = next((line for line in tool.help_text.splitlines() if "--flash-attn" in line), "")
    if "auto" in line or "on|off" in line:
        return ["-fa", wanted]
    if wanted == "auto":
        return []
    return ["-fa", "1" if wanted == "on" else "0"] if "0|1" in line else ["-fa"] if wanted == "on" else []


def _caches(given: dict[str, Any]) -> list[str]:
    argv = []
    for name, flag in (("type_k", "-ctk"), ("type_v", "-ctv")):
        if name in given:
            argv += [flag, given[name]]
    return argv


def _threads(case: dict[str, Any]) -> list[str]:
    threads = case["arguments"].get("threads") or case["threads"]["value"]
    return ["-t", str(threads)] if threads else []


def _list(values: list[int]) -> str:
    return ",".join(map(str, values))
