"""measurements.csv: every sample of a run on a line, for people who compute elsewhere."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tokentrail import jsonio

COLUMNS = (
    "machine", "engine", "campaign", "origin", "weights", "case", "role", "tool", "device", "model", "what", "quantity",
    "process", "sample", "cold", "value", "unit", "valid",
)  # fmt: skip


def of_run(run_dir: Path) -> str:
    """The CSV text of one run's records, in the plan's order."""
    plan = jsonio.read_json(run_dir / "plan.json")
    return of_records([jsonio.read_json(run_dir / "records" / f"{case['id']}.json") for case in plan["cases"]])


def of_records(records: Sequence[dict[str, Any]]) -> str:
    """The same from the records themselves."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for record in records:
        head = [record["run"][k] for k in ("machine", "engine", "campaign")]
        head += [record[k] for k in ("origin", "weights", "case", "role", "tool", "device")]
        head.append((record["model"] or {}).get("model"))
        for line in _samples(record):
            writer.writerow([*head, *("" if v is None else v for v in line), record["valid"]])
    return text.getvalue()


def _samples(record: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
    """(what, quantity, process, sample, cold, value, unit) of each sample; a printed mean has no sample number."""
    for test in record.get("tests") or []:
        name = test["label"]
        for s in test["samples"] or []:
            yield name, "rate", s["process"], s["index"], s["cold"], s["tokens_per_s"], "tokens/s"
        if test["samples"] is None and test.get("as_published"):
            yield name, "printed mean", None, None, None, test["as_published"]["mean"], "tokens/s"
            yield name, "printed spread", None, None, None, test["as_published"]["stdev"], "tokens/s"
    for row in record.get("rows") or []:
        name = f"pp{row['pp']} tg{row['tg']} B{row['pl']}"
        for half in ("prefill", "decode"):
            rate = row[f"{half}_tokens_per_s"]
            yield name, f"{half} rate", row["process"], row["index"], row["cold"], rate, "tokens/s"
    quantities = [(f"{name}_ms", name, "ms") for name in ("ttft", "rest", "prompt", "predicted", "tpot")]
    quantities += [("prompt_n", "prompt_n", "tokens"), ("predicted_n", "predicted_n", "tokens")]
    for r in record.get("requests") or []:
        for key, quantity, unit in quantities:
            if r[key] is not None:
                yield r["name"], quantity, r["process"], r["index"], r["cold"], r[key], unit
    for s in record.get("ceiling") or []:
        yield "read ceiling", "rate", s["process"], s["index"], s["cold"], s["gb_per_s"], "GB/s"
