"""Prefill against decode rate, one row per model and device: the lesson's headline ratio as a distance."""

from __future__ import annotations

from tokentrail.figures import NotDrawn
from tokentrail.figures.data import Number, RunData
from tokentrail.figures.palette import COLOURS
from tokentrail.figures.style import (
    SOFT,
    Drawing,
    canvas,
    error_bar,
    error_note,
    folded,
    label,
    plain_log_ticks,
    view_note,
)

CLOSE = 14  # rates nearer than this factor: their labels stand outside, not over each other
Row = tuple[str, str, Number, Number, Number | None]  # model label, device, prefill, decode, ratio


def rows(run: RunData) -> list[Row]:
    """Model and device pairs for which both rates exist, swept settings left out."""
    found = []
    for match, prefill in run.matching(r"prefill-rate-(.+)-(gpu|cpu|hybrid)"):
        decode = run.best(f"decode-rate-{match[1]}-{match[2]}")
        if decode:
            ratio = run.best(f"prefill-decode-ratio-{match[1]}-{match[2]}")
            found.append((match[1], match[2], prefill, decode, ratio))
    return found


def outward(prefill: Number, decode: Number) -> tuple[str, str]:
    """How the labels of two points are aligned: above them, or away from each other where they lie close."""
    low, high = sorted((prefill["value"], decode["value"]))
    if high >= CLOSE * low:
        return "center", "center"
    return ("left", "right") if prefill["value"] > decode["value"] else ("right", "left")


def draw(run: RunData) -> Drawing:
    """Two points a row on a logarithmic scale, the ratio written between them."""
    pairs = rows(run)
    if not pairs:
        raise NotDrawn("no model was measured in both halves")
    model, device, prefill, decode, ratio = pairs[0]
    where = f"{run.model_name(model)} on the {device.upper()}"
    title = (
        f"{where} reads a prompt {ratio['shown']} as fast as it writes"
        if ratio
        else f"{where} reads {prefill['shown']} and writes {decode['shown']}"
    )
    numbers = [n for _, _, p, d, _ in pairs for n in (p, d)]
    figure, (ax,) = canvas(run, title, [0.75 * len(pairs) + 0.25], [view_note(numbers), error_note(numbers)], left=1.45)
    for y, (_, _, fast, slow, times) in enumerate(pairs):
        ax.plot([slow["value"], fast["value"]], [y, y], color=COLOURS["other"], linewidth=3, zorder=1)
        sides = outward(fast, slow)
        for number, half, side in ((fast, "prefill", sides[0]), (slow, "decode", sides[1])):
            ax.plot([number["value"]], [y], "o", color=COLOURS[half], markersize=9, zorder=4)
            error_bar(ax, number, y, COLOURS[half])
            label(ax, number["value"], y, number["shown"], COLOURS[half], dy=15, ha=side, size=9)
        if times:
            middle = (slow["value"] * fast["value"]) ** 0.5
            label(ax, middle, y, times["shown"], SOFT, dy=-11, size=9)
    # a label that stands left of the leftmost point needs its width in decades
    room = 13 if any(p["value"] < CLOSE * d["value"] for _, _, p, d, _ in pairs) else 3
    low, high = min(n["value"] for n in numbers), max(n["value"] for n in numbers)
    ax.set(xscale="log", xlim=(low / room, high * 2.6), ylim=(len(pairs) - 0.45, -0.62), yticks=range(len(pairs)))
    ax.set_yticklabels([f"{folded(run.model_name(m))}\n{d.upper()}" for m, d, *_ in pairs])
    ax.set_xlabel("tokens per second (logarithmic scale)")
    ax.tick_params(axis="y", length=0)
    plain_log_ticks(ax)
    fast, slow = pairs[0][2], pairs[0][3]
    sides = outward(fast, slow)
    label(ax, slow["value"], 0, "decode", COLOURS["decode"], dy=27, ha=sides[1], weight="bold")
    label(ax, fast["value"], 0, "prefill", COLOURS["prefill"], dy=27, ha=sides[0], weight="bold")
    return Drawing(figure, title, describe(run, pairs))


def describe(run: RunData, pairs: list[Row]) -> str:
    """The same in words."""
    parts = [
        f"{run.model_name(m)} on {d.upper()}: prefill {p['shown']}, decode {q['shown']}"
        + (f", ratio {r['shown']}" if r else "")
        for m, d, p, q, r in pairs
    ]
    return ". ".join(parts) + "."
