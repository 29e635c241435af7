"""Figures of a run: one module each, drawing what numbers.json and the records hold and computing nothing.

This table is all a workflow needs at parse time; matplotlib is imported only when something is drawn.
"""

from __future__ import annotations

# name of the figure -> module of this package that draws it (`draw(run) -> Drawing`), in the page's order
FIGURES: dict[str, str] = {
    "request-timeline": "request_timeline",
    "ms-per-token": "ms_per_token",
    "prefill-decode": "prefill_decode",
    "samples-strip": "samples_strip",
    "gpu-cpu": "gpu_cpu",
    "batching": "batching",
    "bandwidth-share": "bandwidth_share",
    "roofline": "roofline",
    "reconciliation": "reconciliation",
    "depth": "depth",
    "step-time": "step_time",
    "sweep-batching": "sweep_batching",
    "ubatch": "ubatch",
    "flash-attention": "flash_attention",
}


class NotDrawn(Exception):
    """A figure whose numbers this run does not have; the text is the reason, for the reader of the page."""
