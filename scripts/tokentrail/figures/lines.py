"""A family of lines over one setting, with direct labels at their ends: the shape of every sweep figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes

from tokentrail.figures.data import Number
from tokentrail.figures.style import above, error_bar, label, thousands

Points = Sequence[tuple[float, Number]]
# Colour tells kinds of things apart; lines that differ only in the model are told apart by their dashes.
DASHES = ("-", (0, (5, 2)), (0, (1.5, 1.5)), (0, (6, 2, 1.5, 2)))


def draw_lines(
    ax: Axes,
    lines: Mapping[str, Points],
    colour: str,
    unit: str,
    every_point: bool = False,
    log: bool = False,
    clear_of: Mapping[float, float] | None = None,
) -> None:
    """Each line with its name at its right end; the x positions are the settings in order, evenly spaced.

    `clear_of` gives heights, by setting, that labels stand above: those of another line in the same plot.
    """
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
            height = max(above(number), (clear_of or {}).get(x, 0))
            below = _crowded(lines, name, x, number)
            beside = -10 if not log and _climbs(points, x, max(values)) else 0
            label(ax, place[x], number["value"] if below else height, number["shown"].removesuffix(f" {unit}"), colour,
                  dx=beside, dy=-11 if below else 8, size=8.5)  # fmt: skip
        if name:
            label(ax, at[-1], points[-1][1]["value"], name, colour, dx=12, ha="left", size=9, weight="bold")
    ax.set(xlim=(-0.55, len(settings) - 0.6))
    if log:
        ax.set(yscale="log", ylim=(min(values) / 2.2, max(values) * 2.1))
    else:
        ax.set(ylim=(0, max(*values, *(clear_of or {}).values()) * 1.22))
        thousands(ax, "y")
    ax.set_xticks(range(len(settings)), [f"{x:,.10g}" for x in settings])
    ax.set_ylabel(unit)


def _crowded(lines: Mapping[str, Points], name: str, x: float, number: Number) -> bool:
    """Whether another line runs just above this point, so that its label belongs below."""
    others = [n["value"] for other, points in lines.items() if other != name for at, n in points if at == x]
    return any(number["value"] <= value < 1.9 * number["value"] for value in others)


def _climbs(points: Points, x: float, top: float) -> bool:
    """Whether the line leaves this point steeply upwards, through a label that stands straight above."""
    values = {at: number["value"] for at, number in points}
    later = [value for at, value in values.items() if at > x]
    return bool(later) and later[0] - values[x] > 0.12 * top
