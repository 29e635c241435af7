"""One decode step as four programs time it, a row each: the step, what it takes beyond another's, and of what."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tokentrail.figures.data import Number, RunData

COLD = "a cold row, where it was its process's first; else the same pass in another process"
SAME = "no work of its own: the same pass in another process"
ROWS = (
    ("llama-bench", "reconcile-bench", "", "", "a random token's pass through the model: the others add to it"),
    ("llama-batched-bench, one sequence", "reconcile-batched", "reconcile-gap-batched", "llama-bench", SAME),
    ("The server's own timing", "reconcile-server", "reconcile-gap-server", "llama-bench",
     "choosing each token, turning it into text, sending it"),
    ("The client's clock (TPOT)", "reconcile-client", "reconcile-gap-client", "the server",
     "HTTP, loopback, reading: only what the last token waits longer than the first"),
)  # fmt: skip


@dataclass(frozen=True)
class Layer:
    """One way of timing: its step and its gap (None where the run has none), over whose step, and the gap's sources."""

    name: str
    step: Number | None
    gap: Number | None
    over: str
    sources: str


@dataclass(frozen=True)
class Layers:
    """The table, and the depth that all its steps are brought to."""

    depth: Number | None
    rows: list[Layer]


def layers_of(run: RunData) -> Layers | None:
    """A row for each way of timing; None where fewer than two of them have a step."""
    rows = list(_rows(run))
    if sum(row.step is not None for row in rows) < 2:
        return None
    return Layers(run.best("reconcile-depth"), rows)


def _rows(run: RunData) -> Iterable[Layer]:
    # one view for all, or the steps would not differ by the gaps beside them
    gaps = [run.best(gap_id) for _, _, gap_id, _, _ in ROWS]
    steady = all(gap.get("view") == "steady" for gap in gaps if gap)
    for name, step_id, gap_id, over, sources in ROWS:
        step, gap = (run.best(one) if steady else run.exact(one) or run.best(one) for one in (step_id, gap_id))
        told = COLD if sources == SAME and not steady else sources
        yield Layer(name, step, gap, over if gap else "", told + doubt(gap))


def doubt(gap: Number | None) -> str:
    """What forbids to name a gap's sources: an interval on both sides of zero, or a gap below zero."""
    if gap is None:
        return ""
    interval = gap.get("interval") or {"low": gap["value"], "high": gap["value"]}
    if interval["high"] < 0:
        return "; below zero here: nothing added"
    return "; here not to be told from zero" if interval["low"] <= 0 else ""
