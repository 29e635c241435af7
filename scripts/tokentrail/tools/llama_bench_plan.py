"""Plan against result: every planned llama-bench test exactly once."""

from __future__ import annotations

import itertools
import re

from tokentrail.tools.failures import reason

# Settings over which one call can loop, so that one (n_prompt, n_gen, n_depth) comes several times.
SWEPT = ("n_batch", "n_ubatch", "flash_attn", "n_threads", "n_gpu_layers", "type_k", "type_v", "n_cpu_moe",
         "split_mode", "main_gpu", "no_kv_offload", "no_op_offload", "devices", "tensor_split",
         "tensor_buft_overrides", "poll", "cpu_mask", "cpu_strict", "embeddings", "use_mmap", "use_direct_io",
         "load_mode", "no_host", "model_filename", "model_type", "model_size", "backends", "gpu_info",
         "build_number", "build_commit")  # fmt: skip


def planned_tests(arguments: dict) -> list[dict]:
    """The tests a campaign's llama-bench arguments ask for, settings included where they loop.

    One list of -p, then of -n, then of -pg (from `extra`), at each depth, batch and ubatch size; tests of nothing
    are left out, as the tool does. ValueError where -pg is followed by anything but two numbers.
    """
    pairs = [(p, 0) for p in arguments["n_prompt"]] + [(0, n) for n in arguments["n_gen"]]
    for flag, value in itertools.pairwise([*arguments.get("extra", []), ""]):
        if flag == "-pg":
            if not (both := re.fullmatch(r"(\d+),(\d+)", value, re.A)):
                raise ValueError(f"-pg takes two whole numbers (-pg 512,128), not {value!r}")
            pairs.append((int(both[1]), int(both[2])))
    depths = arguments.get("n_depth") or [0]
    loops = {"n_batch": arguments.get("batch_size"), "n_ubatch": arguments.get("ubatch_size")}
    settings = {name: values for name, values in loops.items() if values and len(values) > 1}
    return [
        {"n_prompt": p, "n_gen": n, "n_depth": depth, **dict(zip(settings, values, strict=True))}
        for values in itertools.product(*settings.values())
        for depth in depths
        for p, n in pairs
        if p or n
    ]


def key_of(row: dict) -> tuple[int, int, int]:
    """(n_prompt, n_gen, n_depth); builds before 2025 have no depth, which is depth 0."""
    return row["n_prompt"], row["n_gen"], row.get("n_depth") or 0


def label_of(row: dict) -> str:
    """The label llama-bench prints in its table: "pp512", "tg128 @ d4096", "pp512+tg128"."""
    n_prompt, n_gen, n_depth = key_of(row)
    parts = [f"pp{n_prompt}"] * bool(n_prompt) + [f"tg{n_gen}"] * bool(n_gen)
    return ("+".join(parts) or "pp0+tg0") + (f" @ d{n_depth}" if n_depth else "")


def check(tests: list[dict], planned: list[dict] | None, cut: bool, explained: bool) -> list[dict]:
    """Reasons where the tests of a run that exited 0 are not the planned ones, each once.

    cut: the output ends within an object or array. explained: another reason already says why rows are missing.
    """
    found = []
    if cut:
        found.append(reason("cut-off", "llama-bench exited 0 but its output is cut off; run it again with -o jsonl"))
    if not tests and not explained:
        return [*found, reason("nothing-measured", "llama-bench exited 0 but measured nothing (-p 0 -n 0?)")]
    found += _duplicates(tests)
    if planned is None:
        return found
    for plan in planned:
        matches = [t for t in tests if _matches(t, plan)]
        if not matches:
            found.append(reason("test-missing", f"planned test {_name(plan)} is missing from the output"))
        elif len(matches) > 1 and len({_identity(t) for t in matches}) > 1:
            swept = [n for n in SWEPT if len({str(t["settings"].get(n)) for t in matches}) > 1]
            sentence = (
                f"{_name(plan)} came {len(matches)} times, differing in {', '.join(swept)}; say which in the plan"
            )
            found.append(reason("ambiguous-test", sentence))
    strangers = [t for t in tests if not any(_matches(t, p) for p in planned)]
    return found + [reason("test-not-planned", f"{t['label']} was measured but not planned") for t in strangers]


def _duplicates(tests: list[dict]) -> list[dict]:
    seen: dict[tuple, int] = {}
    for test in tests:
        seen[_identity(test)] = seen.get(_identity(test), 0) + 1
    keys = [f"({i[0][0]},{i[0][1]},{i[0][2]}), {n} times" for i, n in seen.items() if n > 1]
    return [reason("duplicate-test", f"duplicate test {key}; ask for each test once") for key in keys]


def _identity(test: dict) -> tuple:
    return key_of(test), tuple(str(test["settings"].get(name)) for name in SWEPT)


def _matches(test: dict, plan: dict) -> bool:
    wanted = {"n_depth": 0, **plan}
    return all(test.get(name, test["settings"].get(name)) == value for name, value in wanted.items())


def _name(plan: dict) -> str:
    more = ", ".join(f"{k} {v}" for k, v in plan.items() if k not in ("n_prompt", "n_gen", "n_depth"))
    return label_of(plan) + (f" ({more})" if more else "")
