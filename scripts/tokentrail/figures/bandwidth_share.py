"""Decode as a stream of weights: bytes per second against what the memory is specified, and measured, to deliver."""

from __future__ import annotations

from tokentrail.figures import NotDrawn
from tokentrail.figures.data import RunData
from tokentrail.figures.palette import COLOURS
from tokentrail.figures.style import SOFT, Drawing, canvas, error_bar, error_note, folded, label, thousands, view_note


def draw(run: RunData) -> Drawing:
    """A bar per model, the limits as vertical lines."""
    rows = run.matching(r"decode-bandwidth-(?!share-)(.+)-(gpu|cpu|hybrid)")
    if not rows:
        raise NotDrawn("no decode rate with known bytes per token")
    specified, ceiling = run.best("spec-bandwidth"), run.best("read-ceiling")
    best = max(rows, key=lambda row: row[1]["value"])
    share = run.best(f"decode-bandwidth-share-{best[0][1]}-{best[0][2]}")
    title = f"{run.model_name(best[0][1])} streams {best[1]['shown']} while it writes" + (
        f", {share['shown']} of the data sheet's rate" if share else ""
    )
    numbers = [number for _, number in rows]
    notes = [view_note(numbers), error_note(numbers), "Bytes streamed: every tensor that one decoded token reads."]
    notes += ["Percentages: of the rate that the data sheet specifies."] if share else []
    figure, (ax,) = canvas(run, title, [0.62 * len(rows) + 0.55], notes, left=1.45, right=0.75)
    for y, (match, number) in enumerate(rows):
        part = run.best(f"decode-bandwidth-share-{match[1]}-{match[2]}")
        ax.barh(y, number["value"], height=0.46, color=COLOURS["decode"])
        error_bar(ax, number, y, COLOURS["ink"])
        text = number["shown"] + (f" · {part['shown']}" if part else "")
        label(ax, 0, y, text, COLOURS["ink"], dx=2, dy=17, ha="left", size=9)
    device = "GPU: " if len({match[2] for match, _ in rows}) > 1 else ""  # its limits, not the CPU's
    limits = [(specified, f"{device}specified"), (ceiling, f"{device}measured read ceiling")]
    bottom, rows_of_names = len(rows) - 0.55, sorted((n["value"], n, w) for n, w in limits if n)
    for row, (value, number, name) in enumerate(rows_of_names):  # each line ends at its name, none crosses another's
        top = -0.62 - 0.26 * row
        style = "--" if number is specified else ":"
        ax.plot([value, value], [bottom, top - 0.1], color=COLOURS["limit"], linewidth=1.4, linestyle=style)
        label(ax, value, top, f"{name} {number['shown']}", SOFT, dx=-4, ha="right", size=8.5)
    largest = max([n["value"] for n in numbers] + [n["value"] for n, _ in limits if n])
    ax.set(xlim=(0, largest * 1.05), ylim=(bottom, -1.05), yticks=range(len(rows)))
    ax.set_yticklabels([f"{folded(run.model_name(m[1]))}\n{m[2].upper()}" for m, _ in rows])
    ax.set_xlabel("GB of weights read per second while decoding")
    ax.tick_params(axis="y", length=0)
    thousands(ax)
    words = [f"{run.model_name(m[1])} on {m[2].upper()}: {n['shown']}" for m, n in rows]
    words += [f"{name}: {number['shown']}" for number, name in limits if number]
    return Drawing(figure, title, "; ".join(words) + ".")
