"""One decode step as four programs time it, brought to one depth: what each adds."""

from __future__ import annotations

from tokentrail.figures import NotDrawn
from tokentrail.figures.data import RunData
from tokentrail.figures.palette import COLOURS
from tokentrail.figures.style import Drawing, canvas, error_bar, error_note, label, view_note

BARS = (
    ("reconcile-bench", "llama-bench"),
    ("reconcile-batched", "batched-bench,\none sequence"),
    ("reconcile-server", "server's timing"),
    ("reconcile-client", "client's clock"),
)


def draw(run: RunData) -> Drawing:
    """A bar a program."""
    bars = [(run.best(number_id), name) for number_id, name in BARS]
    bars = [(number, name) for number, name in bars if number]
    if len(bars) < 2:
        raise NotDrawn(run.why_missing("reconcile-server"))
    first, last = bars[0], bars[-1]
    title = f"One decode step: {first[0]['shown']} by {first[1]}, {last[0]['shown']} by the {last[1]}"
    numbers = [number for number, _ in bars]
    notes = [view_note(numbers), error_note(numbers), "All moved to the mean depth of the short request."]
    figure, (ax,) = canvas(run, title, [0.5 * len(bars) + 0.15], notes, left=1.35, right=0.9)
    longest = 1.6 * max(number["value"] for number in numbers)  # a wide interval is cut, or the bars would vanish
    for y, (number, _) in enumerate(bars):
        ax.barh(y, number["value"], height=0.5, color=COLOURS["decode"])
        error_bar(ax, number, y, COLOURS["ink"])
        reach = min(max(number["value"], (number.get("interval") or {}).get("high", 0)), longest)
        label(ax, reach, y, number["shown"], COLOURS["decode"], dx=6, ha="left", size=9)
    ax.set(xlim=(0, longest), ylim=(len(bars) - 0.5, -0.5), yticks=range(len(bars)))
    ax.set_yticklabels([name for _, name in bars])
    ax.set_xlabel("milliseconds per decode step")
    ax.tick_params(axis="y", length=0)
    words = [f"{name.replace(chr(10), ' ')}: {number['shown']}" for number, name in bars]
    return Drawing(figure, title, "; ".join(words) + ".")
