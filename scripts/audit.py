"""Where a number comes from, down to the line of its raw file; with --all, whether every number still does."""

from __future__ import annotations

import argparse
import csv
import difflib
import json
import os
import sys
from pathlib import Path
from typing import Any

from rich.console import Console

from tokentrail import audit, config, jsonio, trail
from tokentrail.audit import texts
from tokentrail.problems import Problem, reported
from tokentrail.trail import show

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    """Parse the command line; exit status 0 only if all that was asked holds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("number", nargs="?", help='an id, a claim, or a shown text ("767 GB/s")')
    parser.add_argument("--run", help="MACHINE/ENGINE/CAMPAIGN; default: every stored run (an id: the published one)")
    parser.add_argument("--all", action="store_true", help="derive everything again from raw and compare")
    parser.add_argument("--json", action="store_true", help="print JSON for programs")
    parser.add_argument("--results", type=Path, default=ROOT / "results", help="where runs lie")
    parser.add_argument("--texts", type=Path, help="folder whose Markdown and HTML is read; default: here")
    given = parser.parse_args()
    if bool(given.number) == given.all:
        parser.error("give a number, or --all")
    with reported(None, "audit"):
        try:
            holds = everything(given) if given.all else one(given)
            sys.stdout.flush()
        except BrokenPipeError:
            # the reader (head, less) has gone; what was not told does not hold
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            holds = False
    sys.exit(0 if holds else 1)


def one(given: argparse.Namespace) -> bool:
    """Print the trail of a number, or of each that the text can mean; True if the runs behind them hold."""
    claims = config.read_yaml(config.CONFIG / "claims.yaml", "claims")
    runs = stored_runs(given.results, given.run)
    documents = {run: jsonio.read_json(given.results / run / "numbers.json", "numbers") for run in runs}
    hits = audit.find(given.number, documents, claims["claims"])
    if not hits:
        raise Problem(_not_found(given, claims, documents))
    elsewhere: list[str] = []
    if hits[0]["as"] == "id" and not given.run and len(hits) > 1:
        every = [hit["run"] for hit in hits]
        published = [hit for hit in hits if hit["run"] == claims["published_run"]]
        hits = published or hits[:1]
        elsewhere = [run for run in every if run != hits[0]["run"]]
    faults = [fault for run in dict.fromkeys(h["run"] for h in hits) for fault in _faults(given.results, run)]
    trails = [trail.of(given.results / hit["run"], hit["id"]) for hit in hits]
    broken = [f for f in faults if any(t["number"]["id"] in f["numbers"] for t in trails)]
    if given.json:
        print(json.dumps({"found": hits, "trails": trails, "faults": broken}, indent=1, ensure_ascii=False))
        return not broken
    console = Console()
    for hit, found in zip(hits, trails, strict=True):
        console.print(show.tree(found))
        console.print(f"found as: {hit['as']}\n", style="dim", highlight=False)
    for run in elsewhere:
        console.print(f"also in {run} (--run {run})", style="dim", highlight=False, soft_wrap=True)
    _print_faults(console, broken)
    return not broken


def everything(given: argparse.Namespace) -> bool:
    """Check every run (or the one named) and every text; True only if all hold."""
    runs = stored_runs(given.results, given.run)
    checked = [audit.check_run(given.results / run, given.results) for run in runs]
    root = (given.texts or ROOT).resolve()
    if not root.is_dir():
        raise Problem(f"{root} is no folder; --texts names the one whose Markdown and HTML is read")
    claims = config.read_yaml(config.CONFIG / "claims.yaml", "claims")
    paths = {run: given.results / run / "numbers.json" for run in stored_runs(given.results, None)}
    documents = {run: document for run, path in paths.items() if (document := _readable(path))}
    for run in checked:
        name = run["run"]
        run["faults"] += audit.check_pages(root / "reports" / name, given.results / name, name, documents.get(name))
    lint = audit.check_texts(root, texts.project_texts(root), documents, claims["claims"])
    holds = not lint and not any(run["faults"] for run in checked)
    if given.json:
        print(json.dumps({"runs": checked, "texts": lint, "holds": holds}, indent=1, ensure_ascii=False))
        return holds
    console = Console(soft_wrap=True, highlight=False)
    for run in checked:
        state = "holds" if not run["faults"] else f"{len(run['faults'])} FAULTS"
        console.print(f"{run['run']}: {run['numbers']} numbers, {run['claims']} claims, {run['files']} files: {state}")
        _print_faults(console, run["faults"])
    console.print(f"texts: {'hold' if not lint else f'{len(lint)} FAULTS'}")
    for fault in lint:
        console.print(f"  {fault['file']}, line {fault['line']}: {fault['what']}", markup=False)
    return holds


def stored_runs(results: Path, wanted: str | None) -> list[str]:
    """Runs below `results` that have any product; only the wanted one if it is named."""
    if not results.is_dir():
        raise Problem(f"{results} is no folder; measure first, or name the folder with --results")
    products = ("numbers.json", "claims.json", "records.json", "measurements.csv")
    folders = [f for f in sorted(results.glob("*/*/*")) if any((f / product).exists() for product in products)]
    found = [folder.relative_to(results).as_posix() for folder in folders]  # the others are still being measured
    if wanted is None:
        return found
    return [config.choose("run", wanted.strip("/").removeprefix("results/"), found, "--run")]


def _faults(results: Path, run: str) -> list[dict[str, Any]]:
    return audit.check_run(results / run, results)["faults"]


def _readable(path: Path) -> dict[str, Any] | None:
    """numbers.json for the texts; where it cannot be read, its run's own check says so."""
    try:
        document = jsonio.read_json(path, "numbers")
    except Problem:
        return None
    try:
        with (path.parent / "measurements.csv").open(encoding="utf-8", newline="") as stream:
            rows = list(csv.DictReader(stream))
        return document | {"samples": [(float(row["value"]), row["unit"]) for row in rows if row["value"]]}
    except (OSError, ValueError, KeyError):
        return document


def _print_faults(console: Console, faults: list[dict[str, Any]]) -> None:
    for fault in faults:
        console.print(f"  {fault['file']} {fault['what']}", style="red", markup=False)
        if fault["numbers"]:
            few = ", ".join(fault["numbers"][:8])
            more = f" and {len(fault['numbers']) - 8} more" if len(fault["numbers"]) > 8 else ""
            console.print(f"    numbers that rest on it: {few}{more}", markup=False)


def _not_found(given: argparse.Namespace, claims: dict[str, Any], documents: dict[str, Any]) -> str:
    for run, document in documents.items():
        for absent in document["not_measured"]:
            if absent["id"] == given.number:
                return f"{given.number} was not measured in {run}: {absent['reason']}"
    ids = sorted({n["id"] for d in documents.values() for n in d["numbers"]})
    near = difflib.get_close_matches(given.number, ids, n=3)
    hint = f"; did you mean {', '.join(near)}?" if near else ""
    return f"no stored number is called or shown {given.number!r}{hint}"


if __name__ == "__main__":
    main()
