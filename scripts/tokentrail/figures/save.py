"""Write a drawing as SVG and PNG, the same bytes each time, with a title, a description and ids of its own."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import matplotlib

from tokentrail import jsonio
from tokentrail.figures.style import Drawing

PNG_DPI = 200


def save(drawing: Drawing, name: str, folder: Path) -> None:
    """Write {name}.svg, {name}.png and {name}.json (its title and description) into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with matplotlib.rc_context({"svg.hashsalt": name, "svg.fonttype": "none"}):
        stream = io.StringIO()
        drawing.figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
    jsonio.write_text(folder / f"{name}.svg", finish_svg(stream.getvalue(), name, drawing.title, drawing.description))
    drawing.figure.savefig(folder / f"{name}.png", dpi=PNG_DPI, metadata={"Software": None})
    about = {"drawn": True, "title": drawing.title, "description": drawing.description}
    write_about(folder, name, about)


def save_absent(name: str, reason: str, folder: Path) -> None:
    """Note why a figure is not drawn, and remove an older drawing of it."""
    for suffix in ("svg", "png"):
        (folder / f"{name}.{suffix}").unlink(missing_ok=True)
    write_about(folder, name, {"drawn": False, "reason": reason})


def write_about(folder: Path, name: str, about: dict[str, Any]) -> None:
    """The figure's own small JSON: what the page and the workflow read instead of the drawing."""
    jsonio.write_json(folder / f"{name}.json", {"schema_version": 1, "figure": name, **about})


def finish_svg(svg: str, name: str, title: str, description: str) -> str:
    """Matplotlib's SVG without its document type and metadata, named for screen readers, ids prefixed by the name."""
    svg = re.sub(r"<!DOCTYPE[^>]*>\s*", "", svg)
    svg = re.sub(r"\s*<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', svg)
    svg = re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", svg)
    svg = re.sub(r'href="#([^"]+)"', rf'href="#{name}-\1"', svg)
    names = f'role="img" aria-labelledby="{name}-title {name}-desc"'
    head = f'<title id="{name}-title">{escape(title)}</title>\n <desc id="{name}-desc">{escape(description)}</desc>'
    return re.sub(r"<svg ([^>]*)>", lambda match: f"<svg {names} {match[1]}>\n {head}", svg, count=1)
