"""Flash attention on against off, for each half and depth that was measured both ways."""

from __future__ import annotations

import math

from tokentrail.figures import NotDrawn, sweeps
from tokentrail.figures.data import RunData
from tokentrail.figures.palette import COLOURS
from tokentrail.figures.style import PAPER, Drawing, canvas, error_bar, error_note, label, plain_log_ticks, view_note


def draw(run: RunData) -> Drawing:
    """A row a test: hollow point without, filled point with."""
    pairs = sweeps.flash_attention(run)
    if not pairs:
        raise NotDrawn("nothing was measured with flash attention both on and off")
    title = "Flash attention makes no clear difference in any test"
    clear = [row for row in pairs if sweeps.apart(row[2], row[3])]
    if clear:
        _, name, on, off = max(clear, key=lambda row: abs(math.log(row[2]["value"] / row[3]["value"])))
        test = name.replace("\n", ", ")
        title = f"Flash attention matters most for {test}: {off['shown']} without, {on['shown']} with"
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
