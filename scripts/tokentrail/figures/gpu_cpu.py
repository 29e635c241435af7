"""The small model on the GPU and on the CPU alone: how much each half loses."""

from __future__ import annotations

from tokentrail.figures import NotDrawn
from tokentrail.figures.data import RunData
from tokentrail.figures.palette import COLOURS
from tokentrail.figures.style import (
    SOFT,
    Drawing,
    canvas,
    error_bar,
    error_note,
    label,
    plain_log_ticks,
    view_note,
)


def draw(run: RunData) -> Drawing:
    """A row a half: a point for each device, the factor written between them."""
    pairs = [m[1] for m, _ in run.matching(r"prefill-rate-(.+)-gpu") if run.best(f"prefill-rate-{m[1]}-cpu")]
    if not pairs:
        raise NotDrawn("no model was measured on a GPU and on the CPU alone")
    model = pairs[0]
    factors = run.need("prefill-gpu-over-cpu", "decode-gpu-over-cpu")
    rates = {(h, d): run.need(f"{h}-rate-{model}-{d}")[0] for h in ("prefill", "decode") for d in ("gpu", "cpu")}
    title = f"Without the GPU, prefill takes {factors[0]['shown']} as long, decode {factors[1]['shown']}"
    numbers = list(rates.values())
    figure, (ax,) = canvas(run, title, [1.75], [view_note(numbers), error_note(numbers)], left=1.0)
    for y, half in enumerate(("prefill", "decode")):
        gpu, cpu = rates[half, "gpu"], rates[half, "cpu"]
        ax.plot([cpu["value"], gpu["value"]], [y, y], color=COLOURS["other"], linewidth=3, zorder=1)
        for device, number in (("gpu", gpu), ("cpu", cpu)):
            ax.plot([number["value"]], [y], "o", color=COLOURS[device], markersize=9, zorder=4)
            error_bar(ax, number, y, COLOURS[device])
            label(ax, number["value"], y, number["shown"], COLOURS[device], dy=15, size=9)
        label(ax, (cpu["value"] * gpu["value"]) ** 0.5, y, factors[y]["shown"], SOFT, dy=-11, size=9)
    for device in ("gpu", "cpu"):
        label(ax, rates["prefill", device]["value"], 0, device.upper(), COLOURS[device], dy=28, weight="bold")
    low, high = min(n["value"] for n in numbers), max(n["value"] for n in numbers)
    ax.set(xscale="log", xlim=(low / 3.4, high * 2.6), ylim=(1.5, -0.75), yticks=[0, 1])
    ax.set_yticklabels(["prefill", "decode"])
    ax.set_xlabel("tokens per second (logarithmic scale)")
    ax.tick_params(axis="y", length=0)
    plain_log_ticks(ax)
    description = "; ".join(
        f"{half}: GPU {rates[half, 'gpu']['shown']}, CPU {rates[half, 'cpu']['shown']}, {factor['shown']}"
        for half, factor in zip(("prefill", "decode"), factors, strict=True)
    )
    return Drawing(figure, title, f"{run.model_name(model)}. {description}.")
