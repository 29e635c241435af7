"""Where definitions apply: every test, batch size, request name, model and pair of this run's records.

Roles are explicit fields of a case; no case id is ever parsed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tokentrail.numbers.registry import Context, Evidence, Ref, always, escape, fact, number

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


def contexts(records: Sequence[Evidence]) -> dict[str, list[Context]]:
    """All contexts by scope name. Records come in the plan's order; the first to claim an id keeps it."""
    ceilings = list(_ceilings(records))
    names = {c.device: c.words["ceiling"] for c in reversed(ceilings)}
    tests = _held_against(names, _tests(records))
    primary = [c for c in tests if c.words["role"] in PRIMARY]
    batches, requests = (_held_against(names, found) for found in (_batches(records), _requests(records)))
    return {
        "run": [Context()],
        "test": tests,
        "prefill": [c for c in tests if c.words["kind"] == "prefill"],
        "decode": [c for c in tests if c.words["kind"] == "decode"],
        "mixed": [c for c in tests if c.words["kind"] == "mixed"],
        "halves": list(_halves(tests)),
        "both-devices": list(_both_devices(primary)),
        "model": list(_models(records)),
        "two-models": list(_two_models(records)),
        "batch": batches,
        "batch-over-bench": list(_over_bench(batches, primary)),
        "first-row": list(_first_rows(records)),
        "request": requests,
        "reconcile": list(_reconcile(primary, requests, batches)),
        "server": [_context(r) for r in records if r.document.get("gpu_memory")],
        "ceiling": ceilings,
        "fit": list(_fits(tests)),
        "device-time": list(_device_time(records)),
        "energy": [_context(r) for r in records if (r.document.get("telemetry") or {}).get("tokens")],
    }


def _context(record: Evidence, words: Mapping[str, Any] | None = None, **more: Any) -> Context:
    document = record.document
    model = (document["model"] or {}).get("label")
    named = {
        "label": model,
        "device": document["device"] or "none",
        "role": document["role"],
        "case": document["case"],
        "step": document["step"],
    }
    return Context({**named, **(words or {})}, record, model, document["device"], **more)


def _ceilings(records: Iterable[Evidence]) -> Iterator[Context]:
    """Read ceilings; the first is "read-ceiling", one of another device carries the device's name."""
    first = None
    for record in records:
        if record.document.get("ceiling_views"):
            first = first or record.document["device"]
            own = record.document["device"]
            yield _context(record, {"ceiling": "read-ceiling" if own == first else f"read-ceiling-{own}"})


def _held_against(names: Mapping[str | None, str], contexts: Iterable[Context]) -> list[Context]:
    """The contexts with the ceiling of their own device: a CPU is not held against a GPU's memory."""
    return [
        replace(
            c,
            words={**c.words, "ceiling": names.get(c.device, f"read-ceiling-{c.device}" if names else "read-ceiling")},
        )
        for c in contexts
    ]


def _own(taken: dict[Any, Any], key: Any, case: str) -> str:
    """What a case adds to an id that is taken: its own name, and a count where it has itself used it before."""
    named = "" if taken.setdefault(key, case) == case else f"-{case}"
    taken[key, case] = n = taken.get((key, case), 0) + 1
    return named + (f"-{n}" if n > 1 else "")


def _tests(records: Iterable[Evidence]) -> Iterator[Context]:
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
            own = _own(taken, (test["kind"], at), document["case"])
            said = [*tags, *(_IN_WORDS.get(letters, letters + " {}").format(value) for letters, value in varied)]
            place = ", ".join([f"{model.upper()} on {device.upper()}", *said, *([own[1:]] if own else [])])
            at += own
            words = {"test": f"/tests/{index}", "at": at, "place": place, "kind": test["kind"],
                     "n_prompt": test["n_prompt"], "n_gen": test["n_gen"], "n_depth": test["n_depth"]}  # fmt: skip
            yield _context(record, words)


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


def _halves(tests: Sequence[Context]) -> Iterator[Context]:
    """Prefill and decode of the same model, device and tag."""
    decode = {c.words["at"] for c in tests if c.words["kind"] == "decode"}
    seen = set()
    for context in tests:
        at = context.words["at"]
        if context.words["kind"] == "prefill" and at in decode and at not in seen:
            seen.add(at)
            yield context


def _both_devices(primary: Sequence[Context]) -> Iterator[Context]:
    """The model that was measured with the GPU and without it."""
    by_role = {c.words["role"]: c for c in reversed(primary)}
    with_gpu, without = by_role.get("bench-small"), by_role.get("bench-small-cpu")
    if not with_gpu or not without:
        return
    if (with_gpu.device, without.device) == ("gpu", "cpu") and with_gpu.model == without.model:
        words = {"gpu_at": with_gpu.words["at"], "cpu_at": without.words["at"], "label": with_gpu.model}
        yield Context(words, None, with_gpu.model, None)


def _models(records: Iterable[Evidence]) -> Iterator[Context]:
    seen = set()
    for record in records:
        label = (record.document["model"] or {}).get("label")
        if label and label not in seen:
            seen.add(label)
            yield Context({"label": label, "name": record.document["model"]["name"]}, record, label)


def _two_models(records: Sequence[Evidence]) -> Iterator[Context]:
    by_role = {r.document["role"]: r for r in reversed(records) if r.document["model"]}
    small, big = by_role.get("bench-small"), by_role.get("bench-big")
    if small and big:
        lists = {"small": [fact("/model/parameters", "parameters", small)],
                 "big": [fact("/model/parameters", "parameters", big)]}  # fmt: skip
        ends = {f"{name}_at": f"{r.document['model']['label']}-{r.document['device']}"
                for name, r in (("small", small), ("big", big))}  # fmt: skip
        yield Context(ends, None, lists=lists)


def _batches(records: Iterable[Evidence]) -> Iterator[Context]:
    taken: dict[Any, str] = {}
    for record in records:
        document = record.document
        batches = document.get("batches") or []
        shapes = {(b["pp"], b["tg"]) for b in batches}
        small = document["role"] == "batched-small"
        for index, batch in enumerate(batches):
            tags = [] if small else [(document["model"] or {}).get("label") or "model"]
            tags += [document["tag"]] if document.get("tag") else []
            tags += [f"pp{batch['pp']}-tg{batch['tg']}"] if len(shapes) > 1 else []
            suffix = "".join(f"-{tag}" for tag in tags)
            suffix += _own(taken, (batch["pl"], suffix), document["case"])
            model = (document["model"] or {}).get("label") or "model"
            whose = ", ".join([model.upper(), *(tag for tag in tags if tag != model)])
            words = {"batch": f"/batches/{index}", "suffix": suffix, "whose": whose,
                     **{k: batch[k] for k in ("pl", "pp", "tg")}}  # fmt: skip
            yield _context(record, words)


def _over_bench(batches: Sequence[Context], primary: Sequence[Context]) -> Iterator[Context]:
    """Each batch size beside llama-bench's decode of the same model on the same device."""
    at = {(c.model, c.device): c.words["at"] for c in reversed(primary) if c.words["kind"] == "decode"}
    for batch in batches:
        if (batch.model, batch.device) in at:
            words = {**batch.words, "at": at[batch.model, batch.device]}
            yield Context(words, batch.record, batch.model, batch.device)


def _first_rows(records: Iterable[Evidence]) -> Iterator[Context]:
    """The first row of a batched-bench process and the first of another batch size."""
    for record in records:
        rows = [(i, r) for i, r in enumerate(record.document.get("rows") or []) if r["process"] == 0]
        later = [i for i, r in rows if r["pl"] != rows[0][1]["pl"] and r["pp"] == rows[0][1]["pp"]]
        if later:
            suffix = "" if record.document["role"] == "batched-small" else f"-{record.document['model']['label']}"
            words = {"first": f"/rows/{rows[0][0]}", "second": f"/rows/{later[0]}", "suffix": suffix,
                     "other": rows[later[0] - rows[0][0]][1]["pl"]}  # fmt: skip
            yield _context(record, words)


def _reconcile(
    primary: Sequence[Context], requests: Sequence[Context], batches: Sequence[Context]
) -> Iterator[Context]:
    """The short request, llama-bench's decode and batched-bench's single sequence of one model on one device."""
    for request in (c for c in requests if c.words["called"] == "short"):
        bench = next((c for c in primary if c.words["kind"] == "decode" and _alike(c, request)), None)
        alone = next((c for c in batches if c.words["pl"] == 1 and not c.words["suffix"] and _alike(c, request)), None)
        if bench is None or bench.record is None:
            continue
        lists = {"kv": [fact("/model/kv_bytes_per_position", "bytes", bench.record)],
                 "bench_depth": [fact(f"{bench.words['test']}/n_depth", "tokens", bench.record)],
                 "bench_answer": [fact(f"{bench.words['test']}/n_gen", "tokens", bench.record)]}  # fmt: skip
        if alone is not None:
            lists |= {"batched_prompt": [fact(f"{alone.words['batch']}/pp", "tokens", alone.record)],
                      "batched_answer": [fact(f"{alone.words['batch']}/tg", "tokens", alone.record)]}  # fmt: skip
        yield Context({"at": bench.words["at"]}, None, bench.model, bench.device, lists)


def _alike(one: Context, other: Context) -> bool:
    return (one.model, one.device) == (other.model, other.device)


def _requests(records: Iterable[Evidence]) -> Iterator[Context]:
    """Each distinct request of the request cases. The request of a warm-up is measured but is no number."""
    taken: dict[Any, str] = {}
    for record in records:
        document = record.document
        role = document["role"]
        if not role.startswith("request-"):
            continue
        firsts: dict[str, int] = {}
        for index, request in enumerate(document.get("requests") or []):
            if request["name"] != "warm-up":
                firsts.setdefault(request["name"], index)
        for name, index in firsts.items():
            request = document["requests"][index]
            called = role.removeprefix("request-")
            if called == "long-warm":
                called += f"-{request.get('max_tokens')}"
            elif len(firsts) > 1:
                called += f"-{name}"
            called += f"-{document['tag']}" if document.get("tag") else ""
            called += _own(taken, called, document["case"])
            words = {"called": called, "first": f"/requests/{index}", "views": f"/request_views/{escape(name)}"}
            yield _context(record, words)


def _fits(tests: Sequence[Context]) -> Iterator[Context]:
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


def _device_time(records: Iterable[Evidence]) -> Iterator[Context]:
    held = [always("/held_gpu_s", "s", r) for r in records if r.document.get("held_gpu_s") is not None]
    if held:
        yield Context({"n": len(held)}, None, lists={"held": held})
