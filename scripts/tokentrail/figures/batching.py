"""Many users at once: the total decode rate rises, each user's own rate falls."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes

from tokentrail.figures import NotDrawn, sweeps
from tokentrail.figures.data import Number, RunData
from tokentrail.figures.palette import COLOURS
from tokentrail.figures.style import Drawing, above, canvas, error_bar, error_note, label, thousands, view_note


def panel(ax: Axes, points: Sequence[tuple[int, Number]], name: str, colour: str) -> None:
    """One line over the batch sizes with every point labelled."""
    positions = range(len(points))
    rising = points[-1][1]["value"] > points[0][1]["value"]
    look = {"ha": "right", "dx": -3} if rising else {"ha": "left", "dx": 3}  # beside the line, not on it
    values = [number["value"] for _, number in points]
    ax.plot(positions, values, "o-", color=colour, markersize=7)
    for x, (_, number) in zip(positions, points, strict=True):
        error_bar(ax, number, x, colour, horizontal=False)
        label(ax, x, above(number), number["shown"].removesuffix(" tokens/s"), colour, dy=9, size=9, **look)
    ax.set(ylim=(0, max(values) * 1.28), xlim=(-0.55, len(points) - 0.45))
    ax.set_xticks(list(positions), [f"{users}" for users, _ in points])
    ax.set_title(name, loc="left", size=10, weight="bold", color=colour, pad=4)
    ax.set_ylabel("tokens per second")
    thousands(ax, "y")


def draw(run: RunData) -> Drawing:
    """Two panels over the same batch sizes: all users together, and one of them."""
    total, each = sweeps.series(run, "batched-rate"), sweeps.series(run, "rate-per-user")
    if len(total) < 2:
        raise NotDrawn(run.why_missing("batched-rate-1"))
    if len(total) > sweeps.MOST:
        raise NotDrawn("so many batch sizes are drawn as a sweep")
    each = [(1, total[0][1]), *each] if each and total[0][0] == 1 and each[0][0] != 1 else each
    users = total[-1][0]
    gain = run.best(f"batching-gain-{users}")
    title = (
        f"{users} users together got {gain['shown']} the tokens; each {each[-1][1]['shown']}, not {each[0][1]['shown']}"
        if gain and len(each) > 1
        else f"One user got {total[0][1]['shown']}; {users} together {total[-1][1]['shown']}"
    )
    numbers = [n for _, n in [*total, *each]]
    printed = total[0][1].get("view") == "as-published"
    cold = "The first row (one user) comes right after loading and is often cold." if printed else ""
    heights = [1.7, 1.7] if len(each) > 1 else [1.9]
    figure, axes = canvas(run, title, heights, [view_note(numbers), error_note(numbers), cold], left=0.95)
    panel(axes[0], total, "all users together", COLOURS["decode"])
    if len(each) > 1:
        panel(axes[1], each, "each user", COLOURS["decode"])
    axes[-1].set_xlabel("users at once (sequences in the batch)")
    words = [f"{u} users: {n['shown']} together" for u, n in total] + [f"{u} users: {n['shown']} each" for u, n in each]
    return Drawing(figure, title, "; ".join(words) + ".")
