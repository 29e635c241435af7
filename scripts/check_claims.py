"""The claims ledger of a run: published, recomputed from its evidence, verdict, and the number of the run at hand."""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tokentrail import claims, config, jsonio
from tokentrail.problems import Problem, reported

MARKS = {claims.HOLDS: "holds", claims.DIFFERS: "DIFFERS", claims.NO_EVIDENCE: "no evidence"}


def main() -> None:
    """Parse the command line, write claims.json, print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run-dir", type=Path, required=True, help="results/{machine}/{engine}/{campaign}")
    parser.add_argument("--published", type=Path, help="folder of the published run; default: beside this one")
    parser.add_argument("--config-dir", type=Path, default=config.CONFIG)
    parser.add_argument("--table", type=Path, help="write the table there, and print only the summary")
    parser.add_argument("--log", type=Path, help="where a traceback goes")
    given = parser.parse_args()
    with reported(given.log, "check_claims"):
        ledger = claims.of_run(given.run_dir, given.published, given.config_dir)
        jsonio.write_text(given.run_dir / "claims.json", jsonio.dumps(ledger))
        show(ledger, given.table)
        if ledger["summary"]["holds"] < ledger["summary"]["claims"]:
            raise Problem(
                f"not every claim holds against its evidence; see {given.table or given.run_dir / 'claims.json'}"
            )


def show(ledger: dict, place: Path | None = None) -> None:
    """Print the ledger: a table for people (or write that to `place`), and the summary."""
    if place:
        place.parent.mkdir(parents=True, exist_ok=True)
        with place.open("w", encoding="utf-8") as stream:
            _table(ledger, Console(file=stream, width=160))
    else:
        _table(ledger, Console())
    total = ledger["summary"]
    run = "/".join(ledger["run"][part] for part in ("machine", "engine", "campaign"))
    where = f"; table: {place}" if place else ""
    print(
        f"{run}: {total['holds']} of {total['claims']} claims hold, {total['differs']} differ, "
        f"{total['no_evidence']} without evidence{where}"
    )


def _table(ledger: dict, console: Console) -> None:
    table = Table(title="Claims of the published page")
    for column in ("claim", "published", "recomputed", "verdict", "here"):
        table.add_column(column, overflow="fold")
    for entry in ledger["claims"]:
        recomputed = entry["recomputed"]["shown"] if entry["recomputed"] else "—"
        if entry["ours"]:
            recomputed += f" (ours: {entry['ours']['shown']}; {entry['convention']})"
        here = entry["here"]["shown"] if entry["here"] else "not measured"
        table.add_row(entry["id"], entry["published"]["shown"], recomputed, MARKS[entry["verdict"]], here)
    console.print(table)
    for pattern in ledger["patterns"]:
        console.print(f"{pattern['statement']}: {pattern['verdict']}", highlight=False)


if __name__ == "__main__":
    main()
