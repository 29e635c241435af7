"""Decode rate against the conversation's length: each token also reads the keys and values of all before it."""

from __future__ import annotations

from tokentrail.figures import NotDrawn
from tokentrail.figures.data import RunData
from tokentrail.figures.lines import draw_lines
from tokentrail.figures.palette import COLOURS
from tokentrail.figures.style import Drawing, canvas, error_note, shorten, view_note

MEASURED = r"decode-rate-([a-z0-9.]+)-(gpu|cpu|hybrid)-d(\d+)"


def draw(run: RunData) -> Drawing:
    """Measured points, and below them what a straight line through time per token and bytes per token predicts."""
    lines: dict[tuple[str, str], list] = {}
    predicted: dict[tuple[str, str], list] = {}
    for match, number in run.matching(MEASURED):
        key, depth = (match[1], match[2]), int(match[3])
        lines.setdefault(key, []).append((depth, number))
        foretold = run.best(f"decode-rate-predicted-{match[1]}-{match[2]}-d{match[3]}")
        if foretold:
            predicted.setdefault(key, []).append((depth, foretold))
    lines = {key: sorted(points, key=lambda p: p[0]) for key, points in lines.items() if len(points) > 1}
    if not lines:
        raise NotDrawn("decode was not measured at several depths")
    first = next(iter(lines))
    start, end = lines[first][0], lines[first][-1]
    where = f"after {start[0]:,}" if start[0] else "in an empty context"
    title = f"{run.model_name(first[0])} writes {start[1]['shown']} {where}, {end[1]['shown']} after {end[0]:,} tokens"
    numbers = [n for points in lines.values() for _, n in points]
    notes = [view_note(numbers), error_note(numbers)]
    if predicted:
        notes.append(
            "Dashed: what one straight line, time per token over bytes read per token (weights, keys and values), "
            "predicts for all models and depths together."
        )
    figure, axes = canvas(run, title, [1.75] * len(lines), notes, left=0.95, right=0.5)
    for ax, (key, points) in zip(axes, lines.items(), strict=True):
        foretold = {d: n["value"] for d, n in predicted.get(key, [])}
        if key in predicted:
            places = {depth: i for i, (depth, _) in enumerate(points)}
            at = [(places[d], n["value"]) for d, n in sorted(predicted[key], key=lambda p: p[0]) if d in places]
            ax.plot(*zip(*at, strict=True), color=COLOURS["published"], linestyle="--", linewidth=1.4, zorder=1)
        draw_lines(ax, {"": points}, COLOURS["decode"], "tokens/s", every_point=True, clear_of=foretold)
        name = f"{shorten(run.model_name(key[0]))} on the {key[1].upper()}"
        ax.set_title(name, loc="left", size=10, weight="bold", pad=4)
    axes[-1].set_xlabel("tokens already in the conversation (depth)")
    words = [f"{run.model_name(k[0])} at depth {d:,}: {n['shown']}" for k, points in lines.items() for d, n in points]
    return Drawing(figure, title, "; ".join(words) + ".")
