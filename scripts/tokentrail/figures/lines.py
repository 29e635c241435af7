"""A family of lines over one setting, with direct labels at their ends: the shape of every sweep figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes

from tokentrail.figures.data import Number
from tokentrail.figures.style import error_bar, label, thousands

Points = Sequence[tuple[float, Number]]
# Colour tells kinds of things apart; lines that differ only in the model are told apart by their dashes.
DASHES = ("-", (0, (5, 2)), (0, (1.5, 1.5)), (0, (6, 2, 1.5, 2)))


def draw_lines(
    ax: Axes, lines: Mapping[str, Points], colour: str, unit: str, every_point: bool = False, log: bool = False
) -> None:
    """Each line with its name at its right end; the x positions are the settings in order, evenly spaced."""
    settings = sorted({x for points in lines.values() for x, _ in points})
    place = {x: i for i, x in enumerate(settings)}
    values = [number["value"] for points in lines.values() for _, number in points]
    for i, (name, points) in enumerate(lines.items()):
        at = [place[x] for x, _ in points]
        ax.plot(at, [n["value"] for _, n in points], "o", linestyle=DASHES[i % 4], color=colour, markersize=5.5)
        for x, (_, number) in zip(at, points, strict=True):
            error_bar(ax, number, x, colour, horizontal=False)
        marked = points if every_point else [points[0], points[-1]] if len(points) > 1 else points
        for x, number in marked:
            label(ax, place[x], number["value"], number["shown"].removesuffix(f" {unit}"), colour, dy=11, size=8.5)
        if name:
            label(ax, at[-1], points[-1][1]["value"], name, colour, dx=12, ha="left", size=9, weight="bold")
    ax.set(xlim=(-0.4, len(settings) - 0.6))
    if log:
        ax.set(yscale="log", ylim=(min(values) / 1.6, max(values) * 1.9))
    else:
        ax.set(ylim=(0, max(values) * 1.22))
        thousands(ax, "y")
    ax.set_xticks(range(len(settings)), [f"{x:,.10g}" for x in settings])
    ax.set_ylabel(unit)
