"""Provide the engine of a workflow: build it, or link what is installed; reuse what is complete."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from tokentrail import engines, machine
from tokentrail.problems import Problem, reported


def build_engine(name: str, settings: dict, resources: Path, log: Path | None) -> Path:
    """Provide engine `name` from config's section `engine`; returns its manifest's path.

    The identity is taken anew and must be the one that was planned: between planning and building, a compiler or
    an installed llama.cpp may have been upgraded, and then the folder's name would lie.
    """
    identity = engines.identify(settings, machine.probe(), resources)
    if identity["name"] != name:
        raise Problem(f"{name} was planned, but {identity['name']} is what this machine gives now; run snakemake again")
    return engines.provide(identity, resources / "engines" / name, log, resources)


def main() -> None:
    """Command line of rule build_engine."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engine", required=True, help="the engine's name as planned, e.g. b11434-cpu-1a2b3c4d")
    parser.add_argument("--settings", type=json.loads, required=True, help="section engine of config.yaml, as JSON")
    parser.add_argument(
        "--resources", type=Path, help="folder of big files (default: TOKENTRAIL_RESOURCES, ./resources)"
    )
    parser.add_argument("--log", type=Path, help="log file, appended to")
    arguments = parser.parse_args()
    with reported(arguments.log, "build_engine"):
        resources = engines.resources_folder(arguments.resources)
        build_engine(arguments.engine, arguments.settings, resources, arguments.log)


if __name__ == "__main__":
    main()
