"""Every repetition in the order it was measured: the first one is cold."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes

from tokentrail.figures import NotDrawn
from tokentrail.figures.data import RunData
from tokentrail.figures.palette import COLOURS
from tokentrail.figures.style import Drawing, canvas, shorten, thousands

ROLES = ("bench-small", "bench-small-cpu", "bench-big")
MOST_PANELS = 6


def strips(run: RunData) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """(record, test) of each llama-bench test whose samples were kept."""
    records = sorted(run.role(*ROLES), key=lambda record: ROLES.index(record["role"]))
    pairs = [(record, test) for record in records for test in record.get("tests", [])]
    return [(record, test) for record, test in pairs if test["samples"]][:MOST_PANELS]


def draw(run: RunData) -> Drawing:
    """A panel per test: tokens per second over the repetition, processes side by side, cold samples hollow."""
    found = strips(run)
    if not found:
        raise NotDrawn("the source keeps no single repetitions, only means and spreads")
    title = title_of(run)
    notes = ["Each dot is one repetition, each ring the first of its process: cold by rule, whatever its value."]
    alike = len({len(test["samples"]) for _, test in found}) == 1  # then only the last panel needs its axis labelled
    figure, axes = canvas(run, title, [0.72] * len(found), notes, left=0.95, gap=0.42 if alike else 0.6)
    for ax, (record, test) in zip(axes, found, strict=True):
        panel(ax, record, test)
    if alike:
        for ax in axes[:-1]:
            ax.set_xticklabels([])
    axes[-1].set_xlabel("repetition, in the order measured")
    if any(s["cold"] for s in found[0][1]["samples"]):
        legend(axes[0])
    return Drawing(figure, title, "; ".join(in_words(record, test) for record, test in found) + ".")


def title_of(run: RunData) -> str:
    """The finding: the tool's own mean beside the steady rate."""
    for match, steady in run.matching(r"prefill-rate-(.+)-(gpu|cpu)"):
        mean = run.exact(f"prefill-rate-{match[1]}-{match[2]}")
        if mean and steady is not mean:
            if steady["value"] > mean["value"]:
                return f"Prefill: {mean['shown']} as the tool prints it, {steady['shown']} once warm"
            return f"Prefill: {mean['shown']} in the first process, {steady['shown']} over all of them"
    return "Every repetition in the order it was measured"


def panel(ax: Axes, record: dict[str, Any], test: dict[str, Any]) -> None:
    """One test's samples from left to right."""
    colour = COLOURS["prefill" if test["kind"] == "prefill" else "decode"]
    samples = test["samples"]
    for x, sample in enumerate(samples):
        cold = sample["cold"]
        ax.plot([x + 1], [sample["tokens_per_s"]], "o", markersize=6.5 if cold else 5,
                color=COLOURS["cold"] if cold else colour, fillstyle="none" if cold else "full",
                markeredgewidth=1.8 if cold else 0.5)  # fmt: skip
    values = [sample["tokens_per_s"] for sample in samples]
    ax.set(xlim=(0.3, len(samples) + 0.7), ylim=(0, max(values) * 1.18))
    model = (record.get("model") or {}).get("name") or record["case"]
    device = (record.get("device") or "").upper()
    text = f"{test['kind']}, {shorten(model, 30)}, {device} ({test['label']})"
    ax.set_title(text, loc="left", size=9.5, weight="bold", color=colour, pad=4)
    ax.set_ylabel("tokens/s", size=8.5)
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.locator_params(axis="y", nbins=3)
    thousands(ax, "y")


def legend(ax: Axes) -> None:
    """Cold against warm, named once above the first panel's own title."""
    ax.annotate("○ cold   ● warm", (1, 1), xytext=(0, 19), xycoords="axes fraction", textcoords="offset points",
                ha="right", size=9, color=COLOURS["soft"])  # fmt: skip


def in_words(record: dict[str, Any], test: dict[str, Any]) -> str:
    """One panel in words."""
    values = [round(sample["tokens_per_s"]) for sample in test["samples"]]
    reach = f"{min(values):,} to {max(values):,} tokens/s"
    return f"{record['case']} {test['label']}: {len(values)} repetitions from {reach}"
