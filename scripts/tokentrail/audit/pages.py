"""A run's rendered pages held against its numbers: figures by their hashes, their words and the table by its numbers.

Numbers that stand in the pages' text are held by tokentrail.audit.texts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tokentrail import jsonio
from tokentrail.audit import texts
from tokentrail.problems import Problem

Fault = dict[str, Any]
AGAIN = "; render the run again (snakemake --cores 1)"


def check_pages(folder: Path, run_dir: Path, name: str, document: Mapping[str, Any] | None) -> list[Fault]:
    """Faults of reports/{run}/; none where the run has no such folder (it was not rendered yet).

    document: the run's numbers with its "samples" as for tokentrail.audit.texts; None where they cannot be read, which
    the run's own check says.
    """
    if not folder.is_dir():
        return []
    found = [
        _fault(name, file, f"is missing{AGAIN}")
        for file in ("index.html", "report.md", "numbers.csv", "figures.json")
        if not (folder / file).exists()
    ]
    if document is None:
        return found
    found += _figures(folder, name, document)
    table = folder / "numbers.csv"
    if table.exists() and table.read_text(encoding="utf-8") != _table(run_dir):
        found.append(_fault(name, "numbers.csv", f"is not what numbers.json gives{AGAIN}"))
    return found


def _figures(folder: Path, name: str, document: Mapping[str, Any]) -> list[Fault]:
    """Each listed file has its hash, none is there unlisted, and every number in a figure's words is a stored one."""
    try:
        notes = jsonio.read_json(folder / "figures.json")["figures"]
        files = {file: sha256 for note in notes.values() for file, sha256 in note["files"].items()}
    except Problem as problem:
        return [_fault(name, "figures.json", str(problem).replace(f"{folder}/", ""))] if _there(folder) else []
    except (KeyError, TypeError, AttributeError) as error:
        return [_fault(name, "figures.json", f"is no list of figures ({error}){AGAIN}")]
    found = []
    for file, sha256 in files.items():
        path = folder / "figures" / file
        if not path.exists():
            found.append(_fault(name, f"figures/{file}", f"is missing{AGAIN}"))
        elif jsonio.sha256_file(path) != sha256:
            found.append(
                _fault(name, f"figures/{file}", f"was changed: its SHA-256 is not the one in figures.json{AGAIN}")
            )
    images = [p for p in sorted((folder / "figures").glob("*")) if p.suffix in (".svg", ".png")]
    found += [_fault(name, f"figures/{p.name}", "is no figure of figures.json") for p in images if p.name not in files]
    for figure, note in notes.items():
        own = folder / "figures" / f"{figure}.json"
        kept = {key: value for key, value in note.items() if key != "files"}
        if not own.exists() or own.read_text(encoding="utf-8") != jsonio.dumps(kept):
            found.append(_fault(name, f"figures/{figure}.json", f"is not what figures.json says{AGAIN}"))
        words = json.dumps([note.get("title", ""), note.get("description", "")], ensure_ascii=False)
        for said in texts.measured(words):
            if not texts.is_stored(said, {name: document}, ()):
                found.append(_fault(name, "figures.json", f"{figure} says {said}, which no stored number does{AGAIN}"))
    return found


def _there(folder: Path) -> bool:
    return (folder / "figures.json").exists()


def _table(run_dir: Path) -> str:
    from tokentrail.figures.data import load
    from tokentrail.report import table

    return table.text(load(run_dir))


def _fault(name: str, file: str, what: str) -> Fault:
    return {"file": f"reports/{name}/{file}", "what": what, "numbers": []}
