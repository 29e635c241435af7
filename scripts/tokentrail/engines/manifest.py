"""An engine's folder: what the tools say of themselves, hashes of their files, the manifest that marks it complete."""

from __future__ import annotations

import platform
import re
from pathlib import Path
from typing import Any

from tokentrail import jsonio
from tokentrail.engines import toolchain
from tokentrail.problems import Problem

_NEW = re.compile(r"^version: \S+ \(build (\d+), commit (\w+)\)", re.MULTILINE)
_OLD = re.compile(r"^version: (\d+) \((\w+)\)", re.MULTILINE)


def version_of(text: str) -> tuple[int | None, str]:
    """Build number and commit out of what a tool prints for --version, in the older and the newer wording.

    "version: 11434 (515e855)" and "version: 0.6.0-dev (build 11434, commit 515e855)"; (None, "unknown") for other
    texts. Build 0 is what a source without git history says: not known either.
    """
    found = _NEW.search(text) or _OLD.search(text)
    if not found:
        return None, "unknown"
    return int(found[1]) or None, found[2]


def hashes(bin_folder: Path, sha256: Any = jsonio.sha256_file) -> dict[str, str]:
    """File name -> SHA-256 of every file in bin/; links to another file in it are that file, and left out."""
    files = [path for path in sorted(bin_folder.iterdir()) if path.is_file()]
    own = [path for path in files if not path.is_symlink() or path.readlink().parent != Path()]
    return {path.name: sha256(path) for path in own}


def write(engine_dir: Path, identity: dict, source: dict[str, Any], commit: str, number: int | None) -> dict[str, Any]:
    """Write engine_dir/manifest.json, last of all: it marks the folder as complete. Checks what the server says."""
    printed = toolchain.output_of([str(engine_dir / "bin" / "llama-server"), "--version"])
    if printed is None:
        raise Problem(f"{engine_dir}/bin/llama-server does not start (llama-server --version failed); see the log")
    told, _ = version_of(printed)
    if number is not None and told != number:
        raise Problem(f"{engine_dir}/bin/llama-server says build {told}, but build {number} was asked for")
    recipe = identity["recipe"]
    document = {
        "schema_version": 1,
        "name": identity["name"],
        "provider": identity["provider"],
        "build_number": number if number is not None else told,
        "commit": commit,
        "backend": identity["backend"],
        "binaries": hashes(engine_dir / "bin"),
        "cmake_flags": recipe.get("cmake_flags") or [],
        "compiler": recipe.get("compiler"),
        "cuda_version": recipe.get("cuda_version"),
        "cpu_type": recipe.get("cpu_type"),
        "source": source,
        "version_output": printed.strip(),
        "recipe": recipe,
        "built_on": f"{platform.system()} {platform.machine()}",
    }
    # Snakemake deletes a job's outputs before it runs the job; the twin lets a complete folder be recognised then.
    jsonio.write_json(_twin(engine_dir), document, "engine")
    jsonio.write_json(engine_dir / "manifest.json", document, "engine")
    return document


def complete(engine_dir: Path, identity: dict) -> bool:
    """Whether the folder holds this engine, complete and unchanged; restores a manifest that was deleted."""
    path = engine_dir / "manifest.json"
    kept = path if path.exists() else _twin(engine_dir)
    if not kept.exists():
        return False
    document = jsonio.read_json(kept)
    bin_folder = engine_dir / "bin"
    if document.get("name") != identity["name"] or not bin_folder.is_dir():
        return False
    if hashes(bin_folder) != document.get("binaries"):
        return False
    if kept != path:
        jsonio.write_json(path, document, "engine")
    return True


def _twin(engine_dir: Path) -> Path:
    return engine_dir / ".manifest.json"
