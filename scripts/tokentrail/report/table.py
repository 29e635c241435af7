"""numbers.csv: one line a number, for spreadsheets; a projection of numbers.json and nothing more."""

from __future__ import annotations

import csv
import io
from typing import Any

from tokentrail.figures.data import Number, RunData

COLUMNS = (
    "id", "label", "step", "view", "model", "device", "value", "unit", "shown", "low", "high", "level", "method",
    "valid", "reasons", "formula", "code", "inputs", "constants", "weights", "origin",
)  # fmt: skip


def text(run: RunData) -> str:
    """The table as CSV with a header, RFC 4180 quoting and plain newlines."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for number in run.doc["numbers"]:
        writer.writerow({key: safe(value) for key, value in line(run, number).items()})
    return stream.getvalue()


def safe(value: Any) -> Any:
    """Text that a spreadsheet would run as a formula gets an apostrophe before it; numbers stay numbers."""
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t") else value


def line(run: RunData, number: Number) -> dict[str, Any]:
    """One number's columns."""
    interval = number.get("interval") or {}
    inputs = [entry.get("id") or f"{entry.get('file', '')}#{entry.get('pointer', '')}" for entry in number["inputs"]]
    return {
        **{
            key: number.get(key) for key in ("id", "label", "step", "view", "model", "device", "value", "unit", "shown")
        },
        **{key: interval.get(key) for key in ("low", "high", "level", "method")},
        "valid": "yes" if number["valid"] else "no",
        "reasons": "; ".join(reason["message"] for reason in number["reasons"]),
        "formula": number["formula"]["words"],
        "code": number["formula"]["code"],
        "inputs": " ".join(inputs),
        "constants": "; ".join(
            f"{c['name']} = {c['value']:.10g} {c['unit']} ({c['source']})" for c in number["constants"]
        ),
        "weights": run.doc["weights"],
        "origin": run.doc["origin"],
    }
