"""Prefill rate against the physical batch size: how many prompt tokens go through the model in one pass."""

from __future__ import annotations

from tokentrail.figures import NotDrawn
from tokentrail.figures.data import RunData
from tokentrail.figures.lines import draw_lines
from tokentrail.figures.palette import COLOURS
from tokentrail.figures.style import Drawing, canvas, error_note, view_note


def draw(run: RunData) -> Drawing:
    """A line per model."""
    lines: dict[str, list] = {}
    for match, number in run.matching(r"prefill-rate-([a-z0-9.]+)-(?:gpu|cpu|hybrid)(?:-p\d+)?-ub(\d+)"):
        lines.setdefault(match[1], []).append((float(match[2]), number))
    lines = {name.upper(): sorted(points, key=lambda p: p[0]) for name, points in lines.items() if len(points) > 1}
    if not lines:
        raise NotDrawn("prefill was not measured with several physical batch sizes")
    size, best = max(next(iter(lines.values())), key=lambda point: point[1]["value"])
    name = run.model_name(next(iter(lines)).lower())
    title = f"Prefill of {name} is fastest with {size:,.0f} tokens a pass: {best['shown']}"
    numbers = [n for points in lines.values() for _, n in points]
    figure, (ax,) = canvas(run, title, [2.4], [view_note(numbers), error_note(numbers)], left=0.95, right=0.9)
    draw_lines(ax, lines, COLOURS["prefill"], "tokens/s", every_point=True)
    ax.set_xlabel("prompt tokens per pass (-ub)")
    words = [f"{name} with {size:,.0f}: {n['shown']}" for name, points in lines.items() for size, n in points]
    return Drawing(figure, title, "; ".join(words) + ".")
