"""Constants that numbers may use: data-sheet figures and prices of the machine, and definitions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tokentrail import config

# what a formula expects; a constant in another unit is an error, never a silent factor
UNITS = {"memory_bandwidth": "B/s", "tensor_flops": "FLOP/s", "price": "USD/h", "price_community": "USD/h",
         "planned_minutes_low": "min", "planned_minutes_high": "min", "flops_per_weight": "FLOP"}  # fmt: skip


def of_machine(machine: str, config_dir: Path = config.CONFIG) -> tuple[dict[str, dict[str, Any]], dict[str, str]]:
    """(constants by name with value, unit and source; reason by name for those that are not known)."""
    entry = config.read_machines(config_dir).get(machine, {})
    definitions = config.read_yaml(config_dir / "constants.yaml", "constants")["constants"]
    found = {**definitions, **{name: entry[name] for name in UNITS if name in entry}}
    for name, constant in found.items():
        if constant["unit"] != UNITS.get(name):
            raise config.Problem(
                f"config: constant {name} of {machine} is in {constant['unit']}, but formulas read {UNITS.get(name)}"
            )
    absent = {
        name: f"config/machines.yaml has no {name} for {machine}, so there is nothing to hold it against"
        for name in UNITS
        if name not in found
    }
    return found, absent
