"""A sweep's numbers as small tables: one setting down the side, what it changes across."""

from __future__ import annotations

from dataclasses import dataclass

from tokentrail.figures import sweeps
from tokentrail.figures.data import Number, RunData

DEVICE = "(?:gpu|cpu|hybrid)"


@dataclass(frozen=True)
class Grid:
    """One table: its heading, its columns (the setting first), and its rows of numbers; None where there is none."""

    title: str
    columns: list[str]
    rows: list[tuple[str, list[Number | None]]]


def grids_of(run: RunData) -> list[Grid]:
    """Every table that this run's sweeps fill, in the order of the figures."""
    return [grid for grid in (*depths(run), *batches(run), *ubatches(run), *flash(run)) if len(grid.rows) > 1]


def depths(run: RunData) -> list[Grid]:
    """A table a model: rate, time and bandwidth share of decode at each depth, and what the straight line predicts."""
    found: dict[tuple[str, str], list[int]] = {}
    for match, _ in run.matching(r"decode-rate-([a-z0-9.]+)-(gpu|cpu|hybrid)-d(\d+)"):
        found.setdefault((match[1], match[2]), []).append(int(match[3]))
    names = ("decode-rate-{}", "decode-step-time-{}", "decode-bandwidth-share-{}-complete", "decode-rate-predicted-{}")
    columns = ["Depth", "Decode", "A step", "Of the specified bandwidth", "The line predicts"]
    return [
        Grid(
            f"Decode against depth, {run.model_name(model)} on the {device.upper()}",
            columns,
            [(f"{d:,}", [run.best(name.format(f"{model}-{device}-d{d}")) for name in names]) for d in sorted(at)],
        )
        for (model, device), at in found.items()
    ]


def batches(run: RunData) -> list[Grid]:
    """A table a model: what all users get together and each, at each batch size, and what a million tokens cost."""
    names = ("batched-rate", "rate-per-user", "step-time", "batch-bandwidth-share", "usd-per-million-tokens")
    columns = ["Users", "Together", "Each", "A step", "Of the specified bandwidth", "A million tokens"]
    return [
        Grid(
            f"Users at once, {sweeps.name_of(run, suffix)}",
            columns,
            [(f"{n:,.0f}", [run.best(f"{name}-{n:.0f}{suffix}") for name in names]) for n, _ in points],
        )
        for suffix, points in sweeps.lines(run, "batched-rate").items()
        if len(points) >= sweeps.FEWEST
    ]


def ubatches(run: RunData) -> list[Grid]:
    """One table: prefill of each model with each physical batch."""
    models: dict[str, dict[int, Number]] = {}
    for match, number in run.matching(rf"prefill-rate-([a-z0-9.]+)-{DEVICE}(?:-p\d+)?-ub(\d+)"):
        models.setdefault(match[1], {})[int(match[2])] = number
    sizes = sorted({size for found in models.values() for size in found})
    rows = [(f"{size:,}", [found.get(size) for found in models.values()]) for size in sizes]
    return [Grid("Prefill against tokens a pass", ["-ub", *(run.model_name(model) for model in models)], rows)]


def flash(run: RunData) -> list[Grid]:
    """One table: each test without flash attention and with it."""
    rows = [(name.replace("\n", ", "), [off, on]) for _, name, on, off in sweeps.flash_attention(run)]
    return [Grid("Flash attention", ["Test", "Off", "On"], rows)]
