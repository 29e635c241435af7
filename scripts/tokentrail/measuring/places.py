"""Where a case's files lie below the resources folder, which is the tools' working folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tokentrail import jsonio
from tokentrail.problems import Problem


def model_file(case: dict[str, Any]) -> str:
    """models/{weights}/{model}.gguf of a planned case."""
    return f"models/{case['model']['weights']}/{case['model']['id']}.gguf"


def relative(path: Path, resources: Path) -> str:
    """`path` below the resources folder; raises Problem when it lies elsewhere, since argv would name this machine."""
    try:
        return str(path.absolute().relative_to(resources.absolute()))
    except ValueError:
        raise Problem(f"{path} is not below {resources}; give an engine of the resources folder") from None


def model_facts(case: dict[str, Any], resources: Path) -> dict[str, Any] | None:
    """Facts of the case's model; None for a case without one. Raises Problem when the model is not there, and why."""
    if case["model"] is None:
        return None
    file = resources / model_file(case)
    outcome = file.with_suffix(".outcome.json")
    if outcome.exists() and "problem" in (found := jsonio.read_json(outcome)):
        raise Problem(f"its model could not be had: {found['problem']}")
    if not file.exists():
        raise Problem(f"{model_file(case)} is missing; run scripts/get_model.py (the workflow's rule get_model)")
    return jsonio.read_json(file.with_suffix(".facts.json"), "model-facts")
