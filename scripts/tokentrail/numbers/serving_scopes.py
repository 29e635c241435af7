"""Where definitions of batches and requests apply: every batch size and request, and what they are held against."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from tokentrail.numbers import contexts
from tokentrail.numbers.registry import Context, Evidence, escape, fact


def batches(records: Iterable[Evidence]) -> Iterator[Context]:
    """Every batch size of every record; those of the lesson's own small model carry no model in their ids."""
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
            suffix += contexts.own(taken, (batch["pl"], suffix), document["case"])
            model = (document["model"] or {}).get("label") or "model"
            whose = ", ".join([model.upper(), *(tag for tag in tags if tag != model)])
            words = {"batch": f"/batches/{index}", "suffix": suffix, "whose": whose,
                     **{k: batch[k] for k in ("pl", "pp", "tg")}}  # fmt: skip
            yield contexts.of(record, words)


def over_bench(batches: Sequence[Context], primary: Sequence[Context]) -> Iterator[Context]:
    """Each batch size beside llama-bench's decode of the same model on the same device."""
    at = {(c.model, c.device): c.words["at"] for c in reversed(primary) if c.words["kind"] == "decode"}
    for batch in batches:
        if (batch.model, batch.device) in at:
            words = {**batch.words, "at": at[batch.model, batch.device]}
            yield Context(words, batch.record, batch.model, batch.device)


def first_rows(records: Iterable[Evidence]) -> Iterator[Context]:
    """The first row of a batched-bench process and the first of another batch size."""
    for record in records:
        rows = [(i, r) for i, r in enumerate(record.document.get("rows") or []) if r["process"] == 0]
        later = [i for i, r in rows if r["pl"] != rows[0][1]["pl"] and r["pp"] == rows[0][1]["pp"]]
        if later:
            suffix = "" if record.document["role"] == "batched-small" else f"-{record.document['model']['label']}"
            words = {"first": f"/rows/{rows[0][0]}", "second": f"/rows/{later[0]}", "suffix": suffix,
                     "other": rows[later[0] - rows[0][0]][1]["pl"]}  # fmt: skip
            yield contexts.of(record, words)


def reconcile(primary: Sequence[Context], requests: Sequence[Context], batches: Sequence[Context]) -> Iterator[Context]:
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


def requests(records: Iterable[Evidence]) -> Iterator[Context]:
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
            called += contexts.own(taken, called, document["case"])
            words = {"called": called, "first": f"/requests/{index}", "views": f"/request_views/{escape(name)}"}
            yield contexts.of(record, words)
