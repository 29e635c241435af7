"""All runs on one scale: what many users at once gain together, against how many they are."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tokentrail.figures import NotDrawn, sweeps
from tokentrail.figures.data import RunData
from tokentrail.figures.lines import DASHES
from tokentrail.figures.palette import COLOURS
from tokentrail.figures.style import SOFT, Drawing, canvas, error_bar, error_note, label, plain_log_ticks, shorten

NAME = "runs-batching"
HEIGHT, LINE = 2.9, 24  # inches of the plot, points from one name to the next


def draw(runs: Sequence[RunData]) -> Drawing:
    """A line a run from one user, whose gain is 1 by definition; hollow points where the weights are stand-ins."""
    found = [(run, points) for run in runs if (points := sweeps.series(run, "batching-gain"))]
    if not found:
        raise NotDrawn("no run measured several users at once")
    found.sort(key=lambda pair: pair[1][-1][1]["value"])
    last = [(run, *points[-1]) for run, points in found]
    ends = [f"{users:,} users gain {gain['shown']} on {run.doc['run']['machine']}" for run, users, gain in last]
    title = "; ".join(dict.fromkeys([ends[0], ends[-1]]))
    notes = [
        "Each run's small model; hollow: stand-in weights. Dotted: users times the tokens of one.",
        error_note([gain for _, points in found for _, gain in points]),
    ]
    figure, (ax,) = canvas(None, title, [HEIGHT], notes, left=0.95, right=1.75)
    most = max(users for _, users, _ in last)
    top = max(gain["value"] for *_, gain in last) * 1.7
    ax.plot([1, min(most, top)], [1, min(most, top)], ":", color=COLOURS["other"], linewidth=1.4)
    ax.axhline(1, color=COLOURS["faint"], zorder=0)
    for i, (run, points) in enumerate(found):
        face = COLOURS["paper"] if run.stand_in(small(run)) else COLOURS["decode"]
        at, values = [1, *(users for users, _ in points)], [1.0, *(gain["value"] for _, gain in points)]
        look = {"color": COLOURS["decode"], "markerfacecolor": face, "markersize": 6}
        ax.plot(at, values, "o", linestyle=DASHES[i % len(DASHES)], **look)
        for users, gain in points:
            error_bar(ax, gain, users, COLOURS["decode"], horizontal=False)
    low = min(1.0, *(gain["value"] for _, points in found for _, gain in points)) / 1.3
    ax.set(xscale="log", yscale="log", xlim=(0.85, most * 1.2), ylim=(low, top))
    scale, ceiling = HEIGHT * 72 / math.log(top / low), math.inf
    for run, users, gain in reversed(last):  # from the top: no name stands on the one above it
        place = scale * math.log(gain["value"] / low)
        ceiling = min(place, ceiling - LINE)
        name = f"{shorten(run.doc['run']['machine'], 20)}\n{shorten(run.doc['run']['campaign'], 20)}: {gain['shown']}"
        look = {"ha": "left", "size": 8.5, "weight": "bold"}
        label(ax, users, gain["value"], name, COLOURS["decode"], dx=9, dy=ceiling - place, **look)
    plain_log_ticks(ax, "y")
    plain_log_ticks(ax)
    sizes = sorted({1, *(users for _, points in found for users, _ in points)})
    ax.set_xticks(sizes, [f"{users}" for users in sizes])
    ax.set_xlabel("users at once (sequences in the batch)")
    ax.set_ylabel("times one user's tokens per second")
    label(ax, most, 1, "as one alone", SOFT, dy=-9, ha="right", size=8.5)
    words = [f"{run.name}: " + ", ".join(f"{g['shown']} with {u:,}" for u, g in points) for run, points in found]
    return Drawing(figure, title, "; ".join(words) + ".")


def small(run: RunData) -> str:
    """Label of the model that the batches were measured with."""
    return next((n["model"] for _, n in sweeps.series(run, "batching-gain") if n.get("model")), "")
