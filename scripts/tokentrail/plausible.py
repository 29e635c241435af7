"""What a planned case cannot be: tests twice or of nothing, a context too small, a role of another tool."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tokentrail import config
from tokentrail.problems import Problem
from tokentrail.tools import llama_bench_plan

# llama.cpp rounds the room of one sequence up to this many positions.
POSITIONS = 256
ROLES = {"llama-bench": ("bench-", "sweep-"), "llama-batched-bench": ("batched-",),
         "llama-server": ("serve", "request-"), "read-ceiling": ("read-ceiling",)}  # fmt: skip
# What a case says elsewhere: said again in `extra`, something else would be measured than is recorded.
_RESERVED = {"-m": "model", "--model": "model", "-hf": "model", "-hfr": "model", "--hf-repo": "model", "-mu": "model",
             "--model-url": "model", "-ngl": "n_gpu_layers", "--gpu-layers": "n_gpu_layers",
             "--n-gpu-layers": "n_gpu_layers", "-nopo": "device", "--no-op-offload": "device", "-t": "threads",
             "--threads": "threads", "-c": "ctx_size", "--ctx-size": "ctx_size", "-np": "parallel",
             "--parallel": "parallel", "-r": "repetitions", "--repetitions": "repetitions", "-npp": "npp",
             "-ntg": "ntg", "-npl": "npl"}  # fmt: skip
_OURS = {"-o", "--output", "--output-format", "--host", "--port"}


def check(arguments: dict, planned: dict, where: str, models: dict, prompts: dict) -> None:
    """Raise Problem naming case, key and what is allowed; adds the texts of a server case's prompts to `planned`."""
    tool, role = planned["tool"], planned["role"]
    if not role.startswith(ROLES[tool]):
        kinds = ", ".join(f"{start}…" if start.endswith("-") else start for start in ROLES[tool])
        raise Problem(f"{where}: role {role} is none of {tool}'s, whose numbers it would feed (allowed: {kinds})")
    for word in arguments.get("extra", []):
        flag = word.split("=")[0]
        if flag in _RESERVED:
            raise Problem(
                f"{where}: arguments.extra holds {flag}; set {_RESERVED[flag]} instead, so that it is recorded"
            )
        if flag in _OURS:
            raise Problem(f"{where}: arguments.extra holds {flag}, which Tokentrail sets itself; leave it out")
    _PLAUSIBLE[tool](arguments, planned, where, models, prompts)


def _unique(values: list[int], name: str, where: str) -> None:
    twice = sorted({value for value in values if values.count(value) > 1})
    if twice:
        raise Problem(f"{where}: arguments.{name} lists {twice[0]} twice; each test must be planned exactly once")


def _bench(arguments: dict, planned: dict, where: str, models: dict, prompts: dict) -> None:
    for name in ("n_prompt", "n_gen", "n_depth", "batch_size", "ubatch_size"):
        _unique(arguments.get(name, []), name, where)
        if any(value < 0 for value in arguments.get(name, [])):
            raise Problem(f"{where}: arguments.{name} holds a negative number; use 0 or more")
    try:
        tests = llama_bench_plan.planned_tests(arguments)
    except ValueError as fault:
        raise Problem(f"{where}: arguments.extra: {fault}") from None
    if not tests:
        raise Problem(f"{where}: n_prompt and n_gen are both empty or 0, so nothing would be measured")
    labels = [str(test) for test in tests]
    if twice := next((t for t in tests if labels.count(str(t)) > 1), None):
        raise Problem(f"{where}: {llama_bench_plan.label_of(twice)} is planned twice; each test must be planned once")
    longest = max(test["n_depth"] + test["n_prompt"] + test["n_gen"] for test in tests)
    limit = models[planned["model"]["id"]].get("context_length")
    if limit and longest > limit:
        raise Problem(f"{where}: depth and test need {longest} positions, but the model has {limit}; shorten them")


def _batched(arguments: dict, planned: dict, where: str, models: dict, prompts: dict) -> None:
    for name in ("npp", "ntg", "npl"):
        _unique(arguments[name], name, where)
        if not arguments[name] or min(arguments[name]) < 1:
            raise Problem(f"{where}: arguments.{name} needs whole numbers of 1 or more")
    per_sequence = max(arguments["npp"]) + max(arguments["ntg"])
    users = max(arguments["npl"])
    need = users * (-(-per_sequence // POSITIONS) * POSITIONS)
    exact = users * per_sequence
    # the context is shared out evenly, so each sequence must fit its part; llama.cpp rounds the part up
    part = -(-(arguments["ctx_size"] // users) // POSITIONS) * POSITIONS
    if part < per_sequence:
        raise Problem(
            f"{where}: ctx_size {arguments['ctx_size']} leaves {arguments['ctx_size'] // users} positions for each of "
            f"{users} sequences, but each needs {per_sequence}; set ctx_size to {exact} or more (rounded up: {need})"
        )


def _server(arguments: dict, planned: dict, where: str, models: dict, prompts: dict) -> None:
    used: dict[str, dict[str, Any]] = {}
    names = [request["name"] for request in arguments["requests"]]
    if len(set(names)) != len(names):
        raise Problem(f"{where}: two requests have the same name; give each its own")
    if planned["role"].startswith("request-") and not names:
        raise Problem(f"{where}: requests is empty, so nothing would be measured; only role serve needs none")
    room, slots = arguments["ctx_size"], arguments.get("parallel", 1)
    if slots > 1 and not {"-kvu", "--kv-unified"} & set(arguments.get("extra", [])):
        room = -(-(room // slots) // POSITIONS) * POSITIONS  # llama.cpp rounds each slot's part up
    for request in arguments["requests"]:
        prompt_id = config.choose("prompt", request["prompt"], list(prompts), where)
        prompt = prompts[prompt_id]
        if request["max_tokens"] < 2:
            raise Problem(
                f"{where}: request {request['name']}: max_tokens must be 2 or more, or decode has no duration"
            )
        tokens = prompt.get("expect_tokens", {}).get(planned["model"]["tokenizer"])
        need = (tokens or 0) + request["max_tokens"]
        if need > room:
            shared = f", which leaves {room} for each of {slots} slots" if slots > 1 else ""
            raise Problem(
                f"{where}: request {request['name']} needs {need} positions (prompt {tokens} + answer "
                f"{request['max_tokens']}), but ctx_size is {arguments['ctx_size']}{shared}; raise ctx_size"
            )
        entry = {"id": prompt_id, "sha256": prompt["sha256"], "text": prompt["text"]}
        used[prompt_id] = {**entry, "expect_tokens": tokens} if tokens else entry
    planned["prompts"] = [used[name] for name in sorted(used)]


def _ceiling(arguments: dict, planned: dict, where: str, models: dict, prompts: dict) -> None:
    if arguments["bytes"] < 1 << 20:
        raise Problem(
            f"{where}: arguments.bytes is {arguments['bytes']}; use far more than the caches hold (256 MiB up)"
        )


_PLAUSIBLE: dict[str, Callable[[dict, dict, str, dict, dict], None]] = {
    "llama-bench": _bench,
    "llama-batched-bench": _batched,
    "llama-server": _server,
    "read-ceiling": _ceiling,
}
