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
    parser.add_argument("--quiet", action="store_true", help="print the summary only")
    parser.add_argument("--log", type=Path, help="where a traceback goes")
    given = parser.parse_args()
    with reported(given.log, "check_claims"):
        ledger = claims.of_run(given.run_dir, given.published, given.config_dir)
        jsonio.write_text(given.run_dir / "claims.json", jsonio.dumps(ledger))
        show(ledger, given.quiet)
        if ledger["summary"]["holds"] < ledger["summary"]["claims"]:
            raise Problem(f"not every claim holds against its evidence; see {given.run_dir / 'claims.json'}")


def show(ledger: dict, quiet: bool) -> None:
    """Print the ledger: a table for people, and the summary."""
    console = Console()
    total = ledger["summary"]
    if not quiet:
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
    run = "/".join(ledger["run"][part] for part in ("machine", "engine", "campaign"))
    console.print(
        f"{run}: {total['holds']} of {total['claims']} claims hold, {total['differs']} differ, "
        f"{total['no_evidence']} without evidence", highlight=False, soft_wrap=True,
    )  # fmt: skip


if __name__ == "__main__":
    main()
