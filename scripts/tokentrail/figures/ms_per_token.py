"""Milliseconds per token against prompt length: a longer prompt makes each prompt token cheaper, no answer token."""

from __future__ import annotations

from tokentrail.figures.data import RunData
from tokentrail.figures.palette import COLOURS
from tokentrail.figures.style import Drawing, above, canvas, error_bar, error_note, label, plain_log_ticks, view_note

HALVES = (("prefill", "prompt token (prefill)"), ("decode", "answer token (decode)"))


def draw(run: RunData) -> Drawing:
    """Two lines on logarithmic axes through the short and the long request."""
    tokens = run.need("prompt-tokens-short", "prompt-tokens-long")
    costs = {half: run.need(f"{half}-per-token-short", f"{half}-per-token-long") for half, _ in HALVES}
    x = [number["value"] for number in tokens]
    numbers = [number for pair in costs.values() for number in pair]
    shown = {half: [number["shown"] for number in pair] for half, pair in costs.items()}
    answer = shown["decode"][0] if len(set(shown["decode"])) == 1 else ", then ".join(shown["decode"])
    title = f"A prompt token cost {', then '.join(shown['prefill'])} in the long prompt; an answer token {answer}"
    figure, (ax,) = canvas(run, title, [2.7], [view_note(numbers), error_note(numbers)], left=0.95, right=0.55)
    for half, name in HALVES:
        y = [number["value"] for number in costs[half]]
        ax.plot(x, y, "o-", color=COLOURS[half], markersize=7)
        for at, number in zip(x, costs[half], strict=True):
            error_bar(ax, number, at, COLOURS[half], horizontal=False)
            below = half == "prefill" and at == x[1]  # the line comes from above
            label(ax, at, number["value"] if below else above(number), number["shown"], COLOURS[half],
                  dy=-13 if below else 11, size=9)  # fmt: skip
        middle = ((x[0] * x[1]) ** 0.5, (y[0] * y[1]) ** 0.5)
        label(ax, *middle, name, COLOURS[half], dy=14 if half == "decode" else -14, dx=0 if half == "decode" else -14,
              ha="center" if half == "decode" else "right", weight="bold")  # fmt: skip
    low, high = min(n["value"] for n in numbers), max(n["value"] for n in numbers)
    ax.set(xscale="log", yscale="log", xlim=(x[0] / 1.7, x[1] * 1.7), ylim=(low / 2.8, high * 2.2))
    ax.set_xlabel("prompt length (tokens)")
    ax.set_ylabel("milliseconds per token")
    plain_log_ticks(ax, "y")
    plain_log_ticks(ax, "x")
    ax.set_xticks(x, [f"{value:,.0f}" for value in x])
    description = "; ".join(
        f"{name}: {costs[half][0]['shown']} at {tokens[0]['shown']}, {costs[half][1]['shown']} at {tokens[1]['shown']}"
        for half, name in HALVES
    )
    return Drawing(figure, title, description + ".")
