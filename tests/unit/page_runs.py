"""Runs for the tests of figures and pages: the published run, and one made from it that has samples."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from tokentrail import claims, jsonio, numbers
from tokentrail.figures import FIGURES
from tokentrail.figures.draw import draw_all
from tokentrail.report.render import render

ROOT = Path(__file__).resolve().parents[2]
PUBLISHED = ROOT / "results" / "rtx4090" / "b12110-cuda" / "lesson"
HOSTILE = "</script><img src=x onerror=\"document.title='broken'\">'\"`${1}&amp;|_*<b>\u202etxet $x^2$" + "w" * 90
COLD = 0.55  # a cold repetition's rate over a warm one's, in the made run


def made(results: Path, hostile: bool = False) -> Path:
    """A measured stand-in run below `results` whose llama-bench tests have samples: 3 processes of 5, first ones cold.

    `hostile` puts a string that tries to script, to break markup and to reorder text wherever outside text can stand.
    """
    run = {"machine": "made", "engine": "b1-cuda-00000000", "campaign": "lesson-stand-in"}
    folder = results.joinpath(*run.values())
    shutil.copytree(PUBLISHED, folder)
    published = results / "rtx4090" / "b12110-cuda" / "lesson"
    if not published.exists():
        shutil.copytree(PUBLISHED, published)
    plan = json.loads((folder / "plan.json").read_text()) | {"run": run, "weights": "stand-in", "origin": "measured"}
    if hostile:
        plan["title"] = HOSTILE
        plan["skipped"] = [{"id": "x", "step": "5", "title": HOSTILE, "reason": HOSTILE}]
    jsonio.write_json(folder / "plan.json", plan, "plan")
    for path in sorted((folder / "records").glob("*.json")):
        record = json.loads(path.read_text()) | {"run": run, "weights": "stand-in"}
        measure(record)
        if record.get("model"):
            record["model"]["weights"] = "stand-in"
        if hostile:
            poison(record)
        jsonio.write_json(path, record, "record")
    jsonio.write_json(folder / "numbers.json", numbers.derive(folder), "numbers")
    jsonio.write_json(folder / "claims.json", claims.of_run(folder, published), "ledger")
    return folder


def measure(record: dict[str, Any]) -> None:
    """Give the record's llama-bench tests the samples that a measured run has."""
    for test in record.get("tests", []):
        mean = test["as_published"]["mean"]
        rates = [mean * (COLD if i == 0 else 1.1 + 0.002 * i) for _ in range(3) for i in range(5)]
        test["samples"] = [
            {
                "process": k // 5,
                "index": k % 5,
                "cold": k % 5 == 0,
                "tokens_per_s": r,
                "ns": round(test["tokens"] / r * 1e9),
            }
            for k, r in enumerate(rates)
        ]
        interval = {"low": mean * 1.09, "high": mean * 1.12, "level": 0.95, "method": "bootstrap", "n": 12}
        steady = {
            "n": 12,
            "mean": mean * 1.105,
            "median": mean * 1.105,
            "stdev": mean * 0.002,
            "min": mean,
            "max": mean,
        }
        test["steady"] = {**steady, "interval": interval, "between_process_spread": mean * 0.001, "processes": 3}


def poison(record: dict[str, Any]) -> None:
    """Hostile text in every place that comes from outside: titles, names of models and GPUs, command lines, answers."""
    record["title"] = HOSTILE
    record["command_lines"] = [["llama-bench", "-m", HOSTILE]]
    record["remarks"] = [{"code": "odd", "message": HOSTILE}]
    for gpu in record["machine"]["gpus"]:
        gpu["name"] = HOSTILE
    record["machine"]["cpu"]["model"] = HOSTILE
    record["engine"]["compiler"] = HOSTILE
    if record.get("model"):
        record["model"]["name"] = record["model"]["file"] = HOSTILE
    for request in record.get("requests", []):
        request["content"] = HOSTILE


def reported(run_dir: Path, reports: Path, published: Path | None = PUBLISHED) -> Path:
    """Draw and render a run below `reports`, at the place its page has; returns that folder."""
    out = reports.joinpath(*run_dir.parts[-3:])
    draw_all(run_dir, out / "figures", list(FIGURES))
    render(run_dir, out / "figures", out, published)
    return out
