"""A run's page: one HTML file that needs nothing else."""

from __future__ import annotations

import base64
import hashlib
import os
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

from markupsafe import Markup

from tokentrail import jsonio
from tokentrail.report import panels, svg
from tokentrail.report.context import Report, others
from tokentrail.report.html import Buttons, environment, script_json
from tokentrail.report.patterns import IN_PART
from tokentrail.report.story import TEMPLATES
from tokentrail.report.words import plain_label, step_name

# how a verdict looks: told apart by its word first, by colour second
MARKS = {"holds": "good", "differs": "bad", "does not hold": "bad", "not decided": "open", "not measured": "open",
         "no evidence": "open", IN_PART: "open"}  # fmt: skip


def write_page(report: Report, figures_dir: Path, out: Path, run_dir: Path) -> None:
    """Write out/index.html."""
    jsonio.write_text(out / "index.html", html(report, figures_dir, run_dir))


def html(report: Report, figures_dir: Path, run_dir: Path) -> str:
    """The page as text."""
    template = environment().get_template("page.html.j2")
    return template.render(report=report, **parts(report, figures_dir, run_dir)) + "\n"


def parts(report: Report, figures_dir: Path, run_dir: Path) -> dict[str, Any]:
    """What the templates use beside the report itself. Markup is only what this package made."""
    trails = panels.panels(report.run, run_dir)
    drawn = [name for name, figure in report.figures.items() if figure.drawn]
    here = f"{report.run.name}/index.html"
    to_published = relative(f"{report.published.name}/index.html", here) if report.published else ""
    buttons = Buttons(elsewhere=to_published)
    script = (TEMPLATES / "page.js").read_text(encoding="utf-8")
    return {
        "n": buttons,
        "evidence": evidence_of(report, buttons, to_published),
        "marks": MARKS,
        "svgs": {name: Markup(svg.inline(figures_dir / f"{name}.svg")) for name in drawn},
        "trails": script_json(panels.pack(trails)),
        "palette": Markup(svg.css_variables()),
        "css": Markup((TEMPLATES / "page.css").read_text(encoding="utf-8")),
        "js": Markup(script),
        "script_hash": script_hash(script),
        **facts_of(report),
        "cases": cases(report),
        "intervals": {key: entry["interval"] for key, entry in trails["numbers"].items()},
        "filled": {key: entry["filled"] for key, entry in trails["numbers"].items()},
        "to_index": relative("index.html", here),
        "to_published": to_published,
    }


def facts_of(report: Report) -> dict[str, Any]:
    """What was measured with, in words; for HTML and Markdown alike."""
    facts = panels.run_facts(report.run)
    return {
        "machine": facts["machine"],
        "engine": facts["engine"],
        "models": [panels.model_words(model) for model in report.run.doc.get("models") or []],
        "ledger_summary": ledger_summary(report.ledger),
        "label": plain_label,
        "step_name": step_name,
        "others": {step: others(rows, report.published) for step, rows in report.tables.items()},
        "when": period(report.run.doc.get("measured_from"), report.run.doc.get("measured_to")),
        "two_views": any(row.reported for rows in report.tables.values() for row in rows) or bool(report.grids),
    }


def period(start: str | None, end: str | None) -> str:
    """`2026-11-29, 17:04 to 17:06 UTC`; both days where the measuring went over midnight."""
    if not start or not end:
        return ""
    (day, clock), (last, until) = ((moment[:10], moment[11:16]) for moment in (start, end))
    return f"{day}, {clock} to {until} UTC" if day == last else f"{day}, {clock} to {last}, {until} UTC"


def ledger_summary(ledger: dict[str, Any]) -> str:
    """How many claims hold, in a sentence."""
    if not ledger:
        return ""
    count = ledger["summary"]
    if count["holds"] == count["claims"]:
        return f"All {count['claims']} published numbers hold against the evidence recorded with them."
    return (
        f"Of {count['claims']} published numbers, {count['holds']} hold against the evidence recorded with them, "
        f"{count['differs']} differ, {count['no_evidence']} have no evidence."
    )


def script_hash(script: str) -> str:
    """The script as a content security policy names it: no other script of the page may run."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")


def evidence_of(report: Report, buttons: Buttons, to_published: str) -> Callable[[dict[str, Any]], Markup]:
    """How the ledger shows a number of the published run: a button on its own page, elsewhere a link to that."""

    def shown(entry: dict[str, Any]) -> Markup:
        if not to_published:
            return buttons.number(report.run.by_id[entry["number"]])
        return Markup('<a class="published" href="{}#n-{}">{}</a>').format(
            to_published, entry["number"], entry["shown"]
        )

    return shown


def relative(target: str, page: str) -> str:
    """A link from one page below reports/ to another."""
    return os.path.relpath(target, Path(page).parent).replace(os.sep, "/")


def cases(report: Report) -> list[dict[str, Any]]:
    """One line a case: what was run and whether it counts."""
    return [
        {
            "title": record["title"],
            "step": record["step"],
            "command": shlex.join(record["command_lines"][0]) if record["command_lines"] else "not recorded",
            "valid": record["valid"],
            "reasons": [reason["message"] for reason in record["reasons"]],
        }
        for record in report.run.records
    ]
