"""Time of a decode step against the bytes it reads: a fixed part that no memory shortens, and a slope."""

from __future__ import annotations

from tokentrail.figures import NotDrawn
from tokentrail.figures.data import Number, RunData
from tokentrail.figures.palette import COLOURS
from tokentrail.figures.style import SOFT, Drawing, canvas, error_bar, error_note, label, view_note

MARKERS = ("o", "s", "^", "D")
Point = tuple[str, Number, Number]  # what was varied ("" or "d4096"), bytes of the step, its time


def points(run: RunData, device: str) -> dict[str, list[Point]]:
    """The decode tests of each model on a device, by rising bytes."""
    found: dict[str, list[Point]] = {}
    for match, time in run.matching(rf"decode-step-time-([a-z0-9.]+)-{device}((?:-.+)?)"):
        size = run.best(f"step-bytes-{match[1]}-{device}{match[2]}")
        if size:
            found.setdefault(match[1], []).append((match[2].lstrip("-"), size, time))
    return {model: sorted(tests, key=lambda p: p[1]["value"]) for model, tests in found.items()}


def draw(run: RunData) -> Drawing:
    """Points of all models and depths, the straight line through them, and below it the data sheet's line."""
    device = next((d for d in ("gpu", "cpu") if run.best(f"step-fixed-cost-{d}")), None)
    if device is None:
        raise NotDrawn("fewer than three decode tests: no straight line through time over bytes")
    fixed, speed = run.need(f"step-fixed-cost-{device}", f"effective-bandwidth-{device}")
    specified = run.best("spec-bandwidth") if device == "gpu" else None
    models = points(run, device)
    title = f"A decode step costs {fixed['shown']} whatever it reads; its bytes then move at {speed['shown']}"
    if fixed["value"] <= 0:
        title = f"A decode step's time grows with its bytes, at {speed['shown']}"
    times = [time for tests in models.values() for *_, time in tests]
    notes = [view_note(times), error_note(times), "Bytes of a step: weights, and keys and values at its mean depth."]
    figure, (ax,) = canvas(run, title, [2.9], notes, left=0.95, right=0.45)
    top = max(size["value"] for tests in models.values() for _, size, _ in tests) / 1e9 * 1.08
    end = fixed["value"] + 1000 * top / speed["value"]
    ax.plot([0, top], [fixed["value"], end], color=COLOURS["published"], linestyle="--", linewidth=1.4, zorder=1)
    label(ax, 0.62 * top, fixed["value"] + 620 * top / speed["value"], f"straight line: {speed['shown']}",
          COLOURS["published"], dx=8, dy=-11, ha="left", size=8.5)  # fmt: skip
    ax.plot([0], [fixed["value"]], "D", color=COLOURS["published"], markersize=6, zorder=4, clip_on=False)
    error_bar(ax, fixed, 0, COLOURS["published"], horizontal=False)
    label(ax, 0, fixed["value"], f"fixed: {fixed['shown']}", COLOURS["published"], dx=8, dy=-5, ha="left", size=8.5)
    if specified:
        ax.plot([0, top], [0, 1000 * top / specified["value"]], color=COLOURS["limit"], linewidth=1.4, zorder=1)
        label(ax, top, 0, f"memory alone, by the data sheet: {specified['shown']}", SOFT, dy=9, ha="right", size=8.5)
    for marker, (model, tests) in zip(MARKERS * len(models), models.items(), strict=False):
        for _, size, time in tests:
            error_bar(ax, time, size["value"] / 1e9, COLOURS["decode"], horizontal=False)
            ax.plot([size["value"] / 1e9], [time["value"]], marker, color=COLOURS["decode"], markersize=6, zorder=4)
        first = model == next(iter(models))  # its name below its last point, the others' left of their first one
        _, size, time = tests[-1] if first else tests[0]
        place = {"dy": -14, "ha": "center"} if first else {"dx": -8, "dy": 6, "ha": "right"}
        name = run.model_name(model)
        label(ax, size["value"] / 1e9, time["value"], name, COLOURS["decode"], size=9, weight="bold", **place)
    ax.set(xlim=(-0.02 * top, top), ylim=(0, 1.28 * max(end, *(time["value"] for time in times))))
    ax.set_xlabel("GB read per decode step")
    ax.set_ylabel("ms per decode step")
    words = [f"{run.model_name(model)}{' ' + at if at else ''}: {time['shown']} for {size['shown']}"
             for model, tests in models.items() for at, size, time in tests]  # fmt: skip
    line = f" Straight line: {fixed['shown']} and {speed['shown']}."
    return Drawing(
        figure, title, "; ".join(words) + "." + line + (f" Data sheet: {specified['shown']}." if specified else "")
    )
