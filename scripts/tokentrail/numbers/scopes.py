"""Where definitions apply: every test, batch size, request name, model and pair of a run's records.

Roles are explicit fields of a case; no case id is ever parsed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from tokentrail.numbers import bench_scopes, contexts, serving_scopes
from tokentrail.numbers.registry import Context, Evidence, always, fact


def of(records: Sequence[Evidence]) -> dict[str, list[Context]]:
    """All contexts by scope name. Records come in the plan's order; the first to claim an id keeps it."""
    ceilings = list(_ceilings(records))
    names = {c.device: c.words["ceiling"] for c in reversed(ceilings)}
    tests = _held_against(names, bench_scopes.tests(records))
    primary = [c for c in tests if c.words["role"] in bench_scopes.PRIMARY]
    batches, requests = (
        _held_against(names, one) for one in (serving_scopes.batches(records), serving_scopes.requests(records))
    )
    return {
        "run": [Context()],
        "test": tests,
        "prefill": [c for c in tests if c.words["kind"] == "prefill"],
        "decode": [c for c in tests if c.words["kind"] == "decode"],
        "mixed": [c for c in tests if c.words["kind"] == "mixed"],
        "halves": list(bench_scopes.halves(tests)),
        "both-devices": list(bench_scopes.both_devices(primary)),
        "model": list(_models(records)),
        "two-models": list(_two_models(records)),
        "batch": batches,
        "batch-over-bench": list(serving_scopes.over_bench(batches, primary)),
        "first-row": list(serving_scopes.first_rows(records)),
        "request": requests,
        "reconcile": list(serving_scopes.reconcile(primary, requests, batches)),
        "server": [contexts.of(r) for r in records if r.document.get("gpu_memory")],
        "ceiling": ceilings,
        "fit": list(bench_scopes.fits(tests)),
        "device-time": list(_device_time(records)),
        "energy": [contexts.of(r) for r in records if (r.document.get("telemetry") or {}).get("tokens")],
    }


def _ceilings(records: Iterable[Evidence]) -> Iterator[Context]:
    """Read ceilings; the first is "read-ceiling", one of another device carries the device's name."""
    first = None
    for record in records:
        if record.document.get("ceiling_views"):
            first = first or record.document["device"]
            own = record.document["device"]
            yield contexts.of(record, {"ceiling": "read-ceiling" if own == first else f"read-ceiling-{own}"})


def _held_against(names: Mapping[str | None, str], found: Iterable[Context]) -> list[Context]:
    """The contexts with the ceiling of their own device: a CPU is not held against a GPU's memory."""
    return [
        replace(
            c,
            words={**c.words, "ceiling": names.get(c.device, f"read-ceiling-{c.device}" if names else "read-ceiling")},
        )
        for c in found
    ]


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


def _device_time(records: Iterable[Evidence]) -> Iterator[Context]:
    held = [always("/held_gpu_s", "s", r) for r in records if r.document.get("held_gpu_s") is not None]
    if held:
        yield Context({"n": len(held)}, None, lists={"held": held})
