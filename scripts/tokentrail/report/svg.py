"""Figures set into the page: their colours become CSS variables, so that they follow a dark page."""

from __future__ import annotations

import re
from pathlib import Path

from tokentrail.figures.palette import COLOURS, DARK


def inline(path: Path) -> str:
    """The SVG of a figure without its XML head and fixed size, its palette as variables `--c-name`."""
    svg = path.read_text(encoding="utf-8")
    svg = svg[svg.index("<svg") :]
    head, rest = svg.split(">", 1)
    head = re.sub(r'\s(width|height)="[^"]*"', "", head)
    names = {value: name for name, value in COLOURS.items()}
    colours = re.compile("|".join(names), re.IGNORECASE)
    rest = colours.sub(lambda match: f"var(--c-{names[match[0].lower()]})", rest)
    rest = re.sub(r"font: ([^;\"]*?)px 'DejaVu Sans'[^;\"]*", r"font: \1px var(--sans)", rest)
    return head + ">" + rest


def css_variables() -> str:
    """The palette as CSS: light by default, dark where the reader's system asks for it; print stays light."""
    light = "".join(f"--c-{name}:{value};" for name, value in COLOURS.items())
    dark = "".join(f"--c-{name}:{value};" for name, value in DARK.items())
    return f":root{{{light}}}@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}"
