"""Numbers of energy: joules per token, where the record's telemetry holds an energy that may be trusted."""

from __future__ import annotations

from tokentrail.numbers.registry import Definition

DEFINITIONS: list[Definition] = []
