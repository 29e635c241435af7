"""One look for all figures: colours by meaning, sizes, direct labels, error bars and the notes below a figure."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib

matplotlib.use("Agg")

import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tokentrail.figures.data import Number, RunData, one_line
from tokentrail.figures.palette import COLOURS

INK, SOFT, FAINT, PAPER = COLOURS["ink"], COLOURS["soft"], COLOURS["faint"], COLOURS["paper"]
WIDTH = 5.6  # inches; narrow on purpose, so that text is still read on a phone
TITLE_CHARACTERS, NOTE_CHARACTERS = 46, 90
TITLE_LINE, NOTE_LINE = 0.25, 0.165  # inches
UNIT = re.compile(
    r"(?<=\d) (?=×|%|(?:tokens|GB|TFLOP)/s|m?s\b|min\b|users\b)"
)  # the blank before a unit: no line ends there

RC = {
    "axes.edgecolor": SOFT, "axes.facecolor": PAPER, "axes.labelcolor": SOFT, "axes.labelsize": 9.5,
    "axes.linewidth": 0.8, "axes.prop_cycle": matplotlib.cycler(color=[INK]),
    "axes.unicode_minus": True, "figure.facecolor": PAPER, "font.family": ["DejaVu Sans"],
    "font.size": 10, "grid.color": FAINT, "grid.linewidth": 0.8, "lines.linewidth": 1.8, "savefig.facecolor": PAPER,
    "svg.fonttype": "none", "text.color": INK, "text.parse_math": False, "xtick.color": SOFT, "xtick.labelsize": 9,
    "ytick.color": SOFT, "ytick.labelsize": 9.5,
}  # fmt: skip


@dataclass(frozen=True)
class Drawing:
    """A drawn figure with the words that go with it."""

    figure: Figure
    title: str
    description: str  # what a reader who cannot see it needs: the numbers drawn, in words


def canvas(
    run: RunData | None,
    title: str,
    panels: Sequence[float],
    notes: Iterable[str] = (),
    left: float = 1.2,
    right: float = 0.35,
    gap: float = 0.75,
    axis_label: float = 0.55,
) -> tuple[Figure, list[Axes]]:
    """A figure of fixed width with its title above and its notes and stamps below.

    `panels` are the heights of the plots, top to bottom; `gap` lies between them; `axis_label` below the last. Inches.
    """
    sns.set_theme(style="ticks", rc=RC)
    title_lines = textwrap.wrap(UNIT.sub("\u00a0", title), TITLE_CHARACTERS)
    note_lines = [line for note in [*notes, _origin(run)] if note for line in textwrap.wrap(note, NOTE_CHARACTERS)]
    top, bottom = 0.2 + TITLE_LINE * len(title_lines) + 0.32, axis_label + NOTE_LINE * len(note_lines) + 0.15
    height = top + sum(panels) + gap * (len(panels) - 1) + bottom
    figure = Figure(figsize=(WIDTH, height))
    axes, y = [], height - top
    for panel in panels:
        y -= panel
        axes.append(figure.add_axes((left / WIDTH, y / height, (WIDTH - left - right) / WIDTH, panel / height)))
        y -= gap
    for i, line in enumerate(title_lines):
        figure.text(0.03, 1 - (0.2 + TITLE_LINE * i) / height, line, va="top", size=12.5, weight="bold")
    for i, line in enumerate(reversed(note_lines)):
        figure.text(0.03, (0.12 + NOTE_LINE * i) / height, line, va="bottom", size=8, color=SOFT)
    for ax in axes:
        sns.despine(ax=ax)
    return figure, axes


def _origin(run: RunData | None) -> str:
    return " · ".join([run.name, *run.stamps]) if run else ""


def error_bar(ax: Axes, number: Number, at: float, colour: str, horizontal: bool = True) -> None:
    """The number's interval as a bar through its point; nothing where it has none."""
    interval = number.get("interval")
    if not interval:
        return
    reach = [[max(0.0, number["value"] - interval["low"])], [max(0.0, interval["high"] - number["value"])]]
    place: dict[str, Any] = {"fmt": "none", "ecolor": colour, "elinewidth": 1.4, "capsize": 3, "zorder": 3}
    if horizontal:
        ax.errorbar([number["value"]], [at], xerr=reach, **place)
    else:
        ax.errorbar([at], [number["value"]], yerr=reach, **place)


def error_note(numbers: Iterable[Number]) -> str:
    """What the error bars of these numbers mean, one sentence; empty where none has an interval."""
    intervals = [number["interval"] for number in numbers if number.get("interval")]
    meanings: dict[str, list[str]] = {}
    for interval in intervals:
        level = f"{100 * interval['level']:g} % interval, " if interval.get("level") else ""
        kinds = meanings.setdefault(level, [])
        kinds += [kind for kind in interval["method"].rstrip(".").removeprefix("carried from ").split("; ")
                  if kind not in kinds]  # fmt: skip
    said = [level + " and ".join(_told_once(kinds)) for level, kinds in meanings.items()]
    return f"Error bars: {'; '.join(said)}." if said else ""


def _told_once(kinds: Sequence[str]) -> list[str]:
    """Methods that differ only in how many processes there were, as one: `… of 4 or 5 processes`."""
    counts: dict[str, list[int]] = {}
    for kind in kinds:
        found = re.search(r"\d+(?= processes)", kind)
        counts.setdefault(re.sub(r"\d+(?= processes)", "{}", kind), []).extend([int(found[0])] if found else [])
    return [kind.format(" or ".join(str(n) for n in sorted(set(numbers)))) if numbers else kind
            for kind, numbers in counts.items()]  # fmt: skip


def view_note(numbers: Sequence[Number]) -> str:
    """Which view the numbers show, one sentence."""
    views = {number.get("view") for number in numbers}
    if "steady" in views:
        return "Steady values: median of warm samples." if views <= {"steady", "exact", "other"} else (
            "Steady values (median of warm samples) where the run has them, else as the tool prints them."
        )  # fmt: skip
    return "Values as the tools print them, cold repetitions included." if "as-published" in views else ""


def shorten(text: str, limit: int = 28) -> str:
    """A name that fits beside a plot, one line, cut with an ellipsis."""
    return one_line(text, limit)


def folded(text: str, width: int = 16) -> str:
    """A name that stands beside a plot whole, on lines of at most `width` characters where it has places to break."""
    return "\n".join(textwrap.wrap(one_line(text), width))


def label(ax: Axes, x: float, y: float, text: str, colour: str = INK, dx: float = 0, dy: float = 0, **how: Any) -> None:
    """Direct label at a data point, moved by (dx, dy) points."""
    settings = {"ha": "center", "va": "center", "size": 9.5, "color": colour, **how}
    ax.annotate(text, (x, y), xytext=(dx, dy), textcoords="offset points", annotation_clip=False, **settings)


def above(number: Number) -> float:
    """The height above which a number's label is clear of its error bar."""
    return max(number["value"], (number.get("interval") or {}).get("high") or number["value"])


def plain_log_ticks(ax: Axes, axis: str = "x") -> None:
    """Powers of ten written out (10,000, not 10⁴), with 2 and 5 between where the axis is short; no minor ticks."""
    target = ax.xaxis if axis == "x" else ax.yaxis
    low, high = target.get_view_interval()
    subs = (1.0, 2.0, 5.0) if high < 120 * low else (1.0,)
    target.set_major_locator(matplotlib.ticker.LogLocator(subs=subs, numticks=12))
    target.set_major_formatter(matplotlib.ticker.FuncFormatter(lambda value, _: f"{value:,.10g}"))
    target.set_minor_formatter(matplotlib.ticker.NullFormatter())
    target.set_minor_locator(matplotlib.ticker.NullLocator())


def thousands(ax: Axes, axis: str = "x") -> None:
    """Tick labels with thousands separators on a linear axis."""
    target = ax.xaxis if axis == "x" else ax.yaxis
    target.set_major_formatter(matplotlib.ticker.FuncFormatter(lambda value, _: f"{value:,.10g}"))
