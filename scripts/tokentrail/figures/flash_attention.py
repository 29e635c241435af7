"""Flash attention on against off, for each half and depth that was measured both ways."""

from __future__ import annotations

import math

from tokentrail.figures import NotDrawn
from tokentrail.figures.data import Number, RunData
from tokentrail.figures.palette import COLOURS
from tokentrail.figures.style import PAPER, Drawing, canvas, error_bar, error_note, label, plain_log_ticks, view_note

# the setting stands before or after the depth, as a case's tag or as what a test varies
PATTERN = r"(prefill|decode)-rate-([a-z0-9.]+)-(?:gpu|cpu|hybrid)((?:-[dp]\d+)*)-fa-?(on|off|auto|[01])((?:-[dp]\d+)*)"
ON, OFF = {"1", "on"}, {"0", "off"}
Row = tuple[str, str, Number, Number]  # half, name, on, off


def rows(run: RunData) -> list[Row]:
    """Every test measured with flash attention and without."""
    found: dict[tuple[str, str, str], dict[str, Number]] = {}
    for match, number in run.matching(PATTERN):
        side = "on" if match[4] in ON else "off" if match[4] in OFF else "auto"
        found.setdefault((match[1], match[2], match[3] + match[5]), {})[side] = number
    both = [(key, sides) for key, sides in found.items() if {"on", "off"} <= set(sides)]
    return [(h, f"{h}, {m.upper()}{words(rest)}", s["on"], s["off"]) for (h, m, rest), s in both]


def words(rest: str) -> str:
    """`-d4096` as `depth 4,096` on a line of its own."""
    names = {"d": "depth", "p": "prompt"}
    parts = [f"{names[part[0]]} {int(part[1:]):,}" for part in rest.split("-") if part]
    return "\n" + ", ".join(parts) if parts else ""


def draw(run: RunData) -> Drawing:
    """A row a test: hollow point without, filled point with."""
    pairs = rows(run)
    if not pairs:
        raise NotDrawn("nothing was measured with flash attention both on and off")
    widest = max(pairs, key=lambda row: abs(math.log(row[2]["value"] / row[3]["value"])))
    test = widest[1].replace("\n", ", ")
    title = f"Flash attention matters most for {test}: {widest[3]['shown']} without, {widest[2]['shown']} with"
    numbers = [n for _, _, on, off in pairs for n in (on, off)]
    notes = ["Hollow: off. Filled: on.", view_note(numbers), error_note(numbers)]
    pairs.sort(key=lambda row: row[0] != "prefill")  # all of a half together
    figure, (ax,) = canvas(run, title, [0.5 * len(pairs) + 0.2], notes, left=1.35, right=0.5)
    for y, (half, _, on, off) in enumerate(pairs):
        ax.plot([off["value"], on["value"]], [y, y], color=COLOURS["other"], linewidth=3, zorder=1)
        for number, fill in ((off, PAPER), (on, "")):
            ax.plot([number["value"]], [y], "o", color=COLOURS[half], markerfacecolor=fill or COLOURS[half],
                    markersize=8, zorder=4)  # fmt: skip
            error_bar(ax, number, y, COLOURS[half])
        left, right = sorted((off, on), key=lambda n: n["value"])
        for number, end, side, dx in ((left, "low", "right", -9), (right, "high", "left", 9)):
            place = min if end == "low" else max
            at = place(number["value"], (number["interval"] or {}).get(end) or number["value"])
            label(ax, at, y, number["shown"].removesuffix(" tokens/s"), COLOURS[half], dx=dx, ha=side, size=8.5)
    low, high = min(n["value"] for n in numbers), max(n["value"] for n in numbers)
    ax.set(xscale="log", xlim=(low / 4, high * 4), ylim=(len(pairs) - 0.5, -0.6), yticks=range(len(pairs)))
    ax.set_yticklabels([name for _, name, *_ in pairs])
    ax.set_xlabel("tokens per second (logarithmic scale)")
    ax.tick_params(axis="y", length=0)
    plain_log_ticks(ax)
    text = [f"{name}: off {off['shown']}, on {on['shown']}" for _, name, on, off in pairs]
    return Drawing(figure, title, "; ".join(text).replace("\n", ", ") + ".")
