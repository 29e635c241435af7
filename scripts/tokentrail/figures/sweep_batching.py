"""Batch sizes from one to hundreds: total rate, each user's rate, and the memory bandwidth that the steps use."""

from __future__ import annotations

from matplotlib.axes import Axes

from tokentrail.figures import NotDrawn, sweeps
from tokentrail.figures.data import RunData
from tokentrail.figures.lines import draw_lines
from tokentrail.figures.palette import COLOURS
from tokentrail.figures.style import SOFT, Drawing, canvas, error_note, label, plain_log_ticks, view_note

PANELS = (
    ("batched-rate", "all users together", "decode", "tokens/s"),
    ("rate-per-user", "each user", "decode", "tokens/s"),
    ("batch-bandwidth", "memory read per second", "limit", "GB/s"),
)


def draw(run: RunData) -> Drawing:
    """Three panels over the batch size, one line a model."""
    found = {prefix: sweeps.lines(run, prefix) for prefix, *_ in PANELS}
    lines = found["batched-rate"].items()
    total = {
        name: points for name, points in lines if len(points) >= sweeps.FEWEST and (name or len(points) > sweeps.MOST)
    }
    if not total:
        raise NotDrawn("so few batch sizes are drawn with the lesson's sixth step")
    users, number = max(next(iter(total.values())), key=lambda point: point[1]["value"])
    title = f"The total rate peaks at {number['shown']}, with {users:,.0f} users at once"
    if users == max(point[0] for point in next(iter(total.values()))):
        title = f"The total rate still grows at {users:,.0f} users at once: {number['shown']}"
    numbers = [n for p in total.values() for _, n in p]
    panels = [panel for panel in PANELS if any(found[panel[0]].get(name) for name in total)]
    notes = [
        view_note(numbers),
        error_note(numbers),
        "Ring: the most users of whom each still has half a lone user's rate." if rings(run, total) else "",
    ]
    figure, axes = canvas(run, title, [1.6] * len(panels), notes, left=0.95, right=1.0)
    for ax, (prefix, heading, colour, unit) in zip(axes, panels, strict=True):
        chosen = {sweeps.label_of(run, name): found[prefix][name] for name in total if found[prefix].get(name)}
        draw_lines(ax, chosen, COLOURS[colour], unit, log=True)
        plain_log_ticks(ax, "y")
        ax.set_title(heading, loc="left", size=10, weight="bold", color=COLOURS[colour], pad=4)
        if prefix == "rate-per-user":
            mark_knees(ax, run, found[prefix], total)
    specified = run.best("spec-bandwidth")
    if specified and panels[-1][0] == "batch-bandwidth":
        axes[-1].axhline(specified["value"], color=SOFT, linestyle="--", linewidth=1.2)
        text, end = f"specified {specified['shown']}", axes[-1].get_xlim()[1]
        label(axes[-1], end, specified["value"], text, SOFT, dy=7, ha="right", size=8.5)
        axes[-1].set_ylim(top=max(axes[-1].get_ylim()[1], specified["value"] * 2))
    axes[-1].set_xlabel("users at once (sequences in the batch)")
    words = [f"{sweeps.label_of(run, name)} {u:,.0f} users: {n['shown']}" for name, p in total.items() for u, n in p]
    return Drawing(figure, title, "; ".join(words).strip() + ".")


def rings(run: RunData, total: dict[str, list]) -> dict[str, int]:
    """The knees that are drawn: of lines in the plot, and of more users than one."""
    return {suffix: users for suffix, users in sweeps.knees(run).items() if suffix in total and users > 1}


def mark_knees(ax: Axes, run: RunData, each: dict[str, list], total: dict[str, list]) -> None:
    """A ring around each line's knee, with its batch size."""
    settings = sorted({users for name in total for users, _ in each.get(name, [])})
    for suffix, users in rings(run, total).items():
        for at, number in each.get(suffix, []):
            if at == users:
                x = settings.index(at)
                ax.plot([x], [number["value"]], "o", markersize=11, fillstyle="none", color=COLOURS["ink"], zorder=5)
                label(ax, x, number["value"], f"{users} users", COLOURS["ink"], dx=-2, dy=-13, ha="right", size=8.5)
