"""Both halves under the device's two limits: arithmetic per second against arithmetic per byte loaded."""

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
    label,
    plain_log_ticks,
    shorten,
    view_note,
)

EIGHT_BIT = "Above the line: quantized weights are multiplied in 8 bits, where the peak is higher."
Point = tuple[str, str, Number, Number]  # half, model label, operations per byte, operations per second


def points(run: RunData) -> list[Point]:
    """Each half of each model for which intensity and rate are known."""
    found = []
    for half in ("decode", "prefill"):
        for match, flops in run.matching(rf"{half}-flops-([a-z0-9.]+)"):
            intensity = run.best(f"{half}-intensity-{match[1]}")
            if intensity:
                found.append((half, match[1], intensity, flops))
    return found


def draw(run: RunData) -> Drawing:
    """The two limits as one bent line, the halves as points below it."""
    peak, bandwidth, ridge = run.need("spec-tensor-flops", "spec-bandwidth", "spec-intensity")
    found = points(run)
    if not found:
        raise NotDrawn("no half has both its operations per second and its operations per byte")
    label_big = found[-1][1]
    shares = [run.best(f"prefill-flops-share-{label_big}"), run.best(f"decode-bandwidth-share-{label_big}-gpu")]
    title = "Decode lies under the memory's limit, prefill under the arithmetic's"
    if all(shares):
        title = (
            f"{run.model_name(label_big)}: prefill reaches {shares[0]['shown']} of the FP16 peak, "
            f"decode {shares[1]['shown']} of the bandwidth"
        )
    numbers = [n for *_, x, y in found for n in (x, y)]
    notes = [
        view_note(numbers),
        error_note([y for *_, y in found]),
        EIGHT_BIT if any(y["value"] > peak["value"] for *_, y in found) else "",
    ]
    figure, (ax,) = canvas(run, title, [3.3], notes, left=0.95, right=0.5)
    left = min(x["value"] for _, _, x, _ in found) / 3
    right = max(max(x["value"] for _, _, x, _ in found), ridge["value"]) * 12
    low = min(y["value"] for *_, y in found) / 8
    # the slope is the bandwidth: at the ridge it meets the peak
    corner = [(left, peak["value"] * left / ridge["value"]), (ridge["value"], peak["value"]), (right, peak["value"])]
    ax.plot(*zip(*corner, strict=True), color=COLOURS["limit"], linewidth=1.6)
    label(ax, ridge["value"], peak["value"], f"arithmetic: {peak['shown']}", SOFT, dx=-6, dy=8, ha="right", size=8.5)
    middle = left**0.3 * ridge["value"] ** 0.7
    rise = peak["value"] * middle / ridge["value"]
    label(ax, middle, rise, f"memory: {bandwidth['shown']}", SOFT, dx=-8, dy=8, ha="right", size=8.5)
    ax.axvline(ridge["value"], color=COLOURS["faint"], zorder=0)
    label(ax, ridge["value"], low, ridge["shown"], SOFT, dx=4, dy=8, ha="left", size=8.5)
    for half, model, x, y in found:
        ax.plot([x["value"]], [y["value"]], "o", color=COLOURS[half], markersize=9, zorder=4)
        error_bar(ax, y, x["value"], COLOURS[half], horizontal=False)
        text = f"{half}\n{shorten(run.model_name(model), 18)}\n{y['shown']}"
        lift = 20 if y["value"] > peak["value"] else -18  # the label stays off the limit's line
        label(ax, x["value"], y["value"], text, COLOURS[half], dx=9, dy=lift, ha="left", size=8.5)
    ax.set(
        xscale="log",
        yscale="log",
        xlim=(left, right),
        ylim=(low, max(peak["value"], *(y["value"] for *_, y in found)) * 3),
    )
    ax.set_xlabel("operations per byte of weights loaded (FLOP/byte)")
    ax.set_ylabel("TFLOP/s")
    plain_log_ticks(ax)
    plain_log_ticks(ax, "y")
    words = [f"{half} of {run.model_name(m)}: {y['shown']} at {x['shown']}" for half, m, x, y in found]
    limits = f"Limits: {peak['shown']}, {bandwidth['shown']}, meeting at {ridge['shown']}."
    return Drawing(figure, title, "; ".join(words) + ". " + limits)
