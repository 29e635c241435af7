"""Where llama-bench's definitions apply: every test, and the tests that belong together."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from tokentrail.numbers import contexts
from tokentrail.numbers.registry import Context, Evidence, Ref, number

PRIMARY = ("bench-small", "bench-small-cpu", "bench-big")
FITTED = (*PRIMARY, "sweep-depth")  # no flag is varied in these: a straight line may go through their decode tests
# what a test was varied in, and how that is written in an id
_VARIED = (
    ("n_depth", "d"), ("n_prompt", "p"), ("n_gen", "n"), ("n_batch", "b"), ("n_ubatch", "ub"), ("flash_attn", "fa"),
    ("type_k", "k"), ("type_v", "v"), ("n_gpu_layers", "ngl"), ("n_threads", "t"), ("split_mode", "sm"),
    ("main_gpu", "mg"), ("devices", "dev"), ("tensor_split", "ts"), ("no_kv_offload", "nkvo"),
    ("no_op_offload", "nopo"), ("n_cpu_moe", "ncmoe"), ("tensor_buft_overrides", "ot"), ("use_mmap", "mmap"),
    ("use_direct_io", "dio"), ("load_mode", "lm"), ("poll", "poll"), ("cpu_mask", "mask"), ("cpu_strict", "strict"),
    ("embeddings", "embd"), ("no_host", "noh"),
)  # fmt: skip
_IN_WORDS = {"d": "depth {}", "p": "prompt {}", "n": "answer {}", "ub": "ubatch {}", "fa": "flash attention {}"}
_SWEPT = {"sweep-depth": "n_depth", "sweep-ubatch": "n_ubatch", "sweep-flash": "flash_attn"}


def tests(records: Iterable[Evidence]) -> Iterator[Context]:
    """Every test of every record, named by model, device, tag and what was varied."""
    taken: dict[Any, str] = {}
    for record in records:
        document = record.document
        tests = document.get("tests") or []
        for index, test in enumerate(tests):
            same = [t for t in tests if t["kind"] == test["kind"]]
            tags = [document["tag"]] if document.get("tag") else []
            varied = _varied(test, same, _SWEPT.get(document["role"]), bool(tags))
            model, device = (document["model"] or {}).get("label") or "model", document["device"] or "none"
            at = "-".join([model, device, *tags, *(f"{letters}{value}" for letters, value in varied)])
            own = contexts.own(taken, (test["kind"], at), document["case"])
            said = [*tags, *(_IN_WORDS.get(letters, letters + " {}").format(value) for letters, value in varied)]
            place = ", ".join([f"{model.upper()} on {device.upper()}", *said, *([own[1:]] if own else [])])
            at += own
            words = {"test": f"/tests/{index}", "at": at, "place": place, "kind": test["kind"],
                     "n_prompt": test["n_prompt"], "n_gen": test["n_gen"], "n_depth": test["n_depth"]}  # fmt: skip
            yield contexts.of(record, words)


def _varied(test: dict[str, Any], same: list[dict[str, Any]], swept: str | None, tagged: bool) -> list[tuple[str, str]]:
    """(letters, value) of whatever tells this test from its record's others of its kind (or that a sweep is about)."""
    parts = []
    for key, letters in _VARIED:
        values = {str(_setting(t, key)) for t in same}
        if len(values) > 1 or (key == swept and not tagged):
            parts.append((letters, re.sub(r"[^a-z0-9.-]+", "-", str(_setting(test, key)).lower())))
    return parts


def _setting(test: dict[str, Any], key: str) -> Any:
    return test[key] if key in test else test.get("settings", {}).get(key)


def halves(tests: Sequence[Context]) -> Iterator[Context]:
    """Prefill and decode of the same model, device and tag."""
    decode = {c.words["at"] for c in tests if c.words["kind"] == "decode"}
    seen = set()
    for context in tests:
        at = context.words["at"]
        if context.words["kind"] == "prefill" and at in decode and at not in seen:
            seen.add(at)
            yield context


def both_devices(primary: Sequence[Context]) -> Iterator[Context]:
    """The model that was measured with the GPU and without it."""
    by_role = {c.words["role"]: c for c in reversed(primary)}
    with_gpu, without = by_role.get("bench-small"), by_role.get("bench-small-cpu")
    if not with_gpu or not without:
        return
    if (with_gpu.device, without.device) == ("gpu", "cpu") and with_gpu.model == without.model:
        words = {"gpu_at": with_gpu.words["at"], "cpu_at": without.words["at"], "label": with_gpu.model}
        yield Context(words, None, with_gpu.model, None)


def fits(tests: Sequence[Context]) -> Iterator[Context]:
    """All decode tests of one device: their bytes per token and their rates, for the straight line through them."""
    for device in ("gpu", "cpu"):
        points: dict[str, None] = {}
        for c in tests:
            plain = c.words["role"] in FITTED
            if c.words["kind"] == "decode" and c.device == device and plain and c.record.document["valid"]:
                points[c.words["at"]] = None
        if len(points) >= 3:
            lists: dict[str, list[Ref]] = {
                "bytes_per_token": [number(f"step-bytes-{at}") for at in points],
                "tokens_per_s": [number(f"decode-rate-{at}") for at in points],
            }
            yield Context({"device": device, "place": device.upper(), "n": len(points)}, None, None, device, lists)
