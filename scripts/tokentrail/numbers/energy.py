"""Numbers of energy: joules per token, where the driver or the processor counts energy over the whole case."""

from __future__ import annotations

from tokentrail.numbers.registry import Definition, fact, plain

_NOTE = "loading, warm-up and the pauses of the tool are in it; it belongs to the case, not to one test"

DEFINITIONS = [
    Definition(
        f"energy-per-token-{{case}}-{meter}", f"Energy per token of the {meter.upper()}, case {{case}}", "J/token",
        "cost",
        f"energy that the {meter.upper()} counted during the case over all prompt and answer tokens it processed",
        "energy / tokens",
        {"energy": plain(f"/telemetry/energy_j/{meter}", "J"), "tokens": fact("/telemetry/tokens", "tokens")}, "energy",
        ("other",), group="energy", note=_NOTE,
        applies=lambda c, meter=meter: c.record.document["telemetry"]["energy_j"][meter] is not None,
    )
    for meter in ("gpu", "cpu")
]  # fmt: skip
