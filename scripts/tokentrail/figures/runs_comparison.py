"""All runs on one scale: prefill and decode rate of each run's small model."""

from __future__ import annotations

from collections.abc import Sequence

from tokentrail.figures import NotDrawn
from tokentrail.figures.data import Number, RunData
from tokentrail.figures.palette import COLOURS
from tokentrail.figures.prefill_decode import outward
from tokentrail.figures.style import Drawing, canvas, error_bar, folded, label, plain_log_ticks, shorten

NAME = "runs-comparison"
Row = tuple[RunData, str, Number, Number]  # run, model label, prefill rate, decode rate


def draw(rows: Sequence[Row]) -> Drawing:
    """A row a run, sorted by decode rate; hollow points where the weights are stand-ins."""
    if not rows:
        raise NotDrawn("no run measured both halves")
    ordered = sorted(rows, key=lambda row: -row[3]["value"])
    first, last = ordered[0], ordered[-1]
    title = f"Decode from {last[3]['shown']} to {first[3]['shown']}; prefill is faster on every machine"
    if any(prefill["value"] <= decode["value"] for _, _, prefill, decode in ordered):
        title = f"Decode from {last[3]['shown']} to {first[3]['shown']}"
    notes = ["Each run's small model; hollow: stand-in weights. Names differ in machine, engine or campaign."]
    figure, (ax,) = canvas(None, title, [0.82 * len(ordered) + 0.3], notes, left=1.95, right=0.45)
    for y, (run, model, prefill, decode) in enumerate(ordered):
        ax.plot([decode["value"], prefill["value"]], [y, y], color=COLOURS["other"], linewidth=3, zorder=1)
        sides = outward(prefill, decode)
        for number, half, side in ((prefill, "prefill", sides[0]), (decode, "decode", sides[1])):
            face = COLOURS["paper"] if run.stand_in(model) else COLOURS[half]
            ax.plot([number["value"]], [y], "o", color=COLOURS[half], markerfacecolor=face, markersize=9, zorder=4)
            error_bar(ax, number, y, COLOURS[half])
            label(ax, number["value"], y, number["shown"], COLOURS[half], dy=14, size=8.5, ha=side)
    low, high = min(r[3]["value"] for r in ordered), max(r[2]["value"] for r in ordered)
    ax.set(xscale="log", xlim=(low / 20, high * 3.5), ylim=(len(ordered) - 0.45, -0.8), yticks=range(len(ordered)))
    ax.set_yticklabels([row_name(run, model) for run, model, *_ in ordered], size=8.5)
    ax.set_xlabel("tokens per second (logarithmic scale)")
    ax.tick_params(axis="y", length=0)
    plain_log_ticks(ax)
    label(ax, first[3]["value"], 0, "decode", COLOURS["decode"], dy=27, weight="bold")
    label(ax, first[2]["value"], 0, "prefill", COLOURS["prefill"], dy=27, weight="bold")
    words = [f"{run.name}: prefill {p['shown']}, decode {d['shown']}" for run, _, p, d in ordered]
    return Drawing(figure, title, "; ".join(words) + ".")


def row_name(run: RunData, model: str) -> str:
    """Machine, engine, model and what must be said about them, in short lines."""
    path = run.doc["run"]
    stamp = ", stand-in" if run.stand_in(model) else ""
    stamp += ", transcribed" if run.doc["origin"] == "transcribed" else ""
    return f"{shorten(path['machine'], 26)}\n{shorten(path['engine'], 26)}\n{folded(run.model_name(model) + stamp, 26)}"
