"""The table at the end of a run: coloured on a terminal, plain lines in a log."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TextIO

from tokentrail.figures.data import RunData, load
from tokentrail.report import story, words
from tokentrail.report.context import optional
from tokentrail.report.gaps import missing

MOST_REASONS = 5


def print_run(run_dir: Path, stream: TextIO) -> None:
    """Write the headline of the run in `run_dir`; rich only where a person watches."""
    run = load(run_dir)
    numbers = story.headline_of(run, story.words_of(run))
    rows = [(n["label"], n["shown"], "" if n.get("exact") else words.reach(n, with_unit=False)) for n in numbers]
    gaps = reasons(run, optional(run_dir / "plan.json"))
    page = f"reports/{run.name}/index.html"
    if stream.isatty() and not os.environ.get("CI"):
        print_rich(run, rows, gaps, page, stream)
    else:
        print_plain(run, rows, gaps, page, stream)


def reasons(run: RunData, plan: dict) -> list[str]:
    """One line a gap: what is missing and why; long lists end with their count."""
    lines = [f"step {case['step']}, {case['title']}: {case['reason']}" for case in plan.get("skipped", [])]
    skipped = tuple(case["reason"] for case in plan.get("skipped", []))
    for reason, names in missing(run, {}, set(), skipped)[0]:
        more = f"; and {len(names) - 2} more" if len(names) > 2 else ""
        lines.append(f"{'; '.join(names[:2])}{more}: {reason}")
    return lines


def print_plain(run: RunData, rows: list, gaps: list[str], page: str, stream: TextIO) -> None:
    """Lines that are safe in any log."""
    width = max((len(label) for label, *_ in rows), default=0)
    head = run.name + (f" ({'; '.join(run.stamps)})" if run.stamps else "")
    lines = [head, *(f"  {label:<{width}}  {shown}" + (f"  [{s}]" if s else "") for label, shown, s in rows)]
    lines += [f"  not measured: {gap}" for gap in shortened(gaps)]
    print("\n".join([*lines, f"  page: {page}"]), file=stream)


def print_rich(run: RunData, rows: list, gaps: list[str], page: str, stream: TextIO) -> None:
    """The same as a table with colours; text from outside is shown as it is, never as markup."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(file=stream, highlight=False)
    table = Table(title=Text(run.name), title_justify="left", show_edge=False, pad_edge=False)
    for heading, side in (("number", "left"), ("value", "right"), ("interval", "left")):
        table.add_column(heading, justify=side)
    for label, shown, interval in rows:
        table.add_row(Text(label), Text(shown, style="bold"), Text(interval, style="dim"))
    console.print()
    console.print(table)
    for stamp in run.stamps:
        console.print(Text(stamp, style="yellow"))
    for gap in shortened(gaps):
        console.print(Text(f"not measured: {gap}", style="dim"))
    console.print(Text("page: "), Text(page, style="bold"), sep="")


def shortened(gaps: list[str]) -> list[str]:
    """At most a screenful; the page has them all."""
    rest = len(gaps) - MOST_REASONS
    return gaps if rest <= 1 else [*gaps[:MOST_REASONS], f"and {rest} more reasons, on the page"]
