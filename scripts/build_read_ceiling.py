"""Compile the read kernels for this machine: the CPU's, and the GPU's where the engine uses CUDA."""

from __future__ import annotations

import argparse
from pathlib import Path

from tokentrail import jsonio
from tokentrail.measuring import read_ceiling
from tokentrail.problems import reported


def programs(resources: Path, engine_dir: Path, arch: str | None = None) -> dict[str, str]:
    """{"cpu": path, "cuda": path}, relative to `resources`; cuda only with an engine of that backend."""
    backend = jsonio.read_json(engine_dir / "manifest.json", "engine")["backend"].lower()
    kinds = ("cpu", "cuda") if backend == "cuda" else ("cpu",)
    return {kind: read_ceiling.build(kind, resources, arch) for kind in kinds}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--resources", type=Path, required=True, help="the folder of engines/, models/ and tools/")
    parser.add_argument("--engine-dir", type=Path, required=True, help="engine: bin/ and manifest.json")
    parser.add_argument("--out", type=Path, help="JSON file that names the programs")
    parser.add_argument("--log", type=Path, help="where a traceback goes")
    given = parser.parse_args()
    with reported(given.log, "build_read_ceiling"):
        made = programs(given.resources, given.engine_dir)
        if given.out:
            jsonio.write_json(given.out, made)
        else:
            print(jsonio.dumps(made), end="")
