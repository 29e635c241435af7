"""Numbers of energy: joules per token, where the driver or the processor counts energy over the whole case."""

from __future__ import annotations

from collections.abc import Container, Sequence

from tokentrail.numbers.registry import Context, Definition, fact, plain

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


def absent(contexts: Sequence[Context], made: Container[str]) -> dict[str, dict[str, str]]:
    """One entry for a measured run of which no meter could be read, by its id; nothing where one could.

    `contexts` are those of the scope "energy".
    """
    cases = [context.words["case"] for context in contexts]
    if not cases or any(f"energy-per-token-{case}-{meter}" in made for case in cases for meter in ("gpu", "cpu")):
        return {}
    reason = "no energy counter could be read: neither a GPU's (NVML) nor the processor's (RAPL)"
    return {
        "energy-per-token": {"id": "energy-per-token", "label": "Energy per token", "step": "cost", "reason": reason}
    }
