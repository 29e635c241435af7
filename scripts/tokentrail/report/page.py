"""A run's page: one HTML file that needs nothing else."""

from __future__ import annotations

import base64
import hashlib
import os
import shlex
from collections import Counter
from pathlib import Path
from typing import Any

from markupsafe import Markup

from tokentrail import jsonio
from tokentrail.report import panels, svg
from tokentrail.report.context import Excerpts, Report
from tokentrail.report.html import Buttons, environment, script_json
from tokentrail.report.story import TEMPLATES


def write_page(report: Report, figures_dir: Path, out: Path, excerpts: Excerpts) -> None:
    """Write out/index.html."""
    jsonio.write_text(out / "index.html", html(report, figures_dir, excerpts))


def html(report: Report, figures_dir: Path, excerpts: Excerpts) -> str:
    """The page as text."""
    template = environment().get_template("page.html.j2")
    return template.render(report=report, **parts(report, figures_dir, excerpts)) + "\n"


def parts(report: Report, figures_dir: Path, excerpts: Excerpts) -> dict[str, Any]:
    """What the templates use beside the report itself. Markup is only what this package made."""
    trails = panels.panels(report.run, excerpts)
    drawn = [name for name, figure in report.figures.items() if figure.drawn]
    here = f"{report.run.name}/index.html"
    script = (TEMPLATES / "page.js").read_text(encoding="utf-8")
    return {
        "n": Buttons(),
        "svgs": {name: Markup(svg.inline(figures_dir / f"{name}.svg")) for name in drawn},
        "trails": script_json(trails),
        "palette": Markup(svg.css_variables()),
        "css": Markup((TEMPLATES / "page.css").read_text(encoding="utf-8")),
        "js": Markup(script),
        "script_hash": script_hash(script),
        **facts_of(report),
        "cases": cases(report),
        "intervals": {key: entry["interval"] for key, entry in trails["numbers"].items()},
        "filled": {key: entry["filled"] for key, entry in trails["numbers"].items()},
        "to_index": relative("index.html", here),
        "to_published": relative(f"{report.published.name}/index.html", here) if report.published else "",
    }


def facts_of(report: Report) -> dict[str, Any]:
    """What was measured with, in words; for HTML and Markdown alike."""
    facts = panels.run_facts(report.run)
    return {
        "machine": facts["machine"],
        "engine": facts["engine"],
        "models": [panels.model_words(model) for model in report.run.doc.get("models") or []],
        "ledger_summary": ledger_summary(report.ledger),
    }


def ledger_summary(ledger: list[dict[str, Any]]) -> str:
    """How many claims hold, in a sentence."""
    counts = Counter(claim["verdict"] for claim in ledger)
    return (
        f"Of {len(ledger)} published numbers: "
        + ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items()))
        + "."
    )


def script_hash(script: str) -> str:
    """The script as a content security policy names it: no other script of the page may run."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")


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
