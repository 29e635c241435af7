"""Model, engine and machine of a transcribed run, as far as its source says; what it does not say is named."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tokentrail import config
from tokentrail.importing.sources import Part
from tokentrail.problems import Problem

_NOT_SAID = "the source does not say"
LONGEST_SLUG = 60
_FACTS = ("architecture", "layers", "tied_embedding", "tensor_bytes", "embedding_bytes", "streamed_bytes_per_token",
          "kv_bytes_per_position", "parameters")  # fmt: skip


def read_host(path: Path | None) -> dict[str, Any]:
    """Host facts (schema `host`), or {} without a file."""
    if path is None:
        return {}
    host = config.read_yaml(path)
    if isinstance(host, dict) and "date" in host:
        host["date"] = str(host["date"])
    config.jsonio.validate(host, "host", str(path))
    return host


def model(part: Part, host: Mapping[str, Any], parts: Sequence[Part]) -> dict[str, Any] | None:
    """Facts (schema `model-facts`) of the part's model, or None where nothing says which it was."""
    known = config.read_yaml(config.CONFIG / "model_facts.yaml", "known-models")["models"]
    listed = config.read_models()
    name = _identify(part, host, known, parts)
    if name is None:
        return _unknown(part) if part.model_type else None
    entry, facts = listed[name], known[name]
    hub = entry.get("hub", {})
    stated = host.get("models", {}).get(name)
    pinned = stated is not None and all(stated.get(k) == hub.get(k) for k in ("repo", "file"))
    missing = {} if pinned else {k: "the source does not say which file it was" for k in ("sha256", "file_bytes")}
    source = {"facts": facts["source"]}
    if stated:
        source |= stated
    if pinned:
        source["revision"] = hub["revision"]
        source["note"] = "revision, bytes and hash are those pinned in config/models.yaml; the source states none"
    return {
        "schema_version": 1, "model": name, "label": entry["label"], "weights": "hub", "name": entry["name"],
        "file": (stated or hub).get("file", ""), "sha256": hub.get("sha256") if pinned else None,
        "file_bytes": hub.get("bytes") if pinned else None, **{k: facts[k] for k in _FACTS},
        "bits_per_weight": 8 * facts["tensor_bytes"] / facts["parameters"], "formats": {}, "source": source,
        "missing": {**missing, "formats": _NOT_SAID},
    }  # fmt: skip


def _identify(part: Part, host: Mapping[str, Any], known: Mapping[str, Any], parts: Sequence[Part]) -> str | None:
    """The known model: by printed name, size and parameters; else as stated, or by the file's name among the host's."""
    if part.model_type:
        fits = [
            name for name, facts in known.items()
            if facts["printed_as"] == part.model_type
            and _within(part.size, facts["tensor_bytes"]) and _within(part.params, facts["parameters"])
        ]  # fmt: skip
        return fits[0] if len(fits) == 1 else None
    if part.role == "serve" and part.model is None:
        part = next((p for p in parts if p.model), part)
    if part.model:
        return part.model if part.model in known else None
    here = [name for name in host.get("models", {}) if name in known]
    named = [name for name in here if name.rsplit("-", 1)[0] in part.file.stem]
    candidates = named or (here if len(here) == 1 else [])
    return candidates[0] if len(candidates) == 1 else None


def _within(printed: Mapping[str, Any] | None, value: int) -> bool:
    """True where the print, with its rounding, can be this value (or nothing was printed)."""
    return printed is None or "low" not in printed or printed["low"] <= value <= printed["high"]


def _unknown(part: Part) -> dict[str, Any]:
    """A model that config/ does not know: named as printed, everything else missing."""
    slug = re.sub(r"[^a-z0-9.]+", "-", (part.model_type or "").lower())[:LONGEST_SLUG].strip("-.") or "model"
    nothing = ("sha256", "file_bytes", "tensor_bytes", "embedding_bytes", "streamed_bytes_per_token",
               "kv_bytes_per_position", "parameters", "bits_per_weight", "tied_embedding", "architecture",
               "layers")  # fmt: skip
    why = "the source prints only rounded sizes, and config/model_facts.yaml does not know this model"
    return {
        "schema_version": 1, "model": slug, "label": slug, "weights": "hub", "name": part.model_type, "file": "",
        **dict.fromkeys(nothing), "formats": {}, "missing": {k: why for k in (*nothing, "formats")},
        "source": {"printed": {k: v["text"] for k, v in (("size", part.size), ("params", part.params)) if v}},
    }  # fmt: skip


def engine(name: str, host: Mapping[str, Any], parts: Sequence[Part]) -> dict[str, Any]:
    """Manifest (schema `engine`) from the build lines and the host facts; they must not contradict each other."""
    builds = {p.build for p in parts if p.build[0] is not None}
    stated = host.get("llama_cpp_build")
    if len(builds) > 1 or (builds and stated is not None and {b for b, _ in builds} != {stated}):
        said = ", ".join(str(b) for b, _ in sorted(builds)) + (f", host facts {stated}" if stated else "")
        raise Problem(f"the sources name different builds ({said}); import each build as a run of its own")
    number, commit = next(iter(builds), (stated, host.get("llama_cpp_commit")))
    backend = next((p.backend for p in parts if p.backend), None)
    missing = {"binaries": "a printed result names no hashes", "cmake_flags": _NOT_SAID, "compiler": _NOT_SAID}
    for key, value in (("build_number", number), ("commit", commit), ("cuda_version", host.get("cuda"))):
        if value is None:
            missing[key] = _NOT_SAID
    return {
        "schema_version": 1, "name": name, "provider": "transcribed", "build_number": number,
        "commit": commit or "unknown", "backend": (backend or "unknown").lower(), "binaries": {}, "cmake_flags": [],
        "compiler": None, "cuda_version": host.get("cuda"), "source": {"from": host.get("source", _NOT_SAID)},
        "version_output": None, "missing": missing,
    }  # fmt: skip


def machine(name: str, host: Mapping[str, Any]) -> dict[str, Any]:
    """The machine (schema `machine`) as the host facts have it."""
    missing = {key: _NOT_SAID for key in ("driver", "os", "kernel", "memory_bytes", "cpu.model")}
    size = host.get("gpu_memory_mib")
    gpu = {"index": 0, "name": host.get("gpu"), "memory_bytes": size * 2**20 if size else None}
    for key in ("date", "gpu", "vcpus", "price_usd_per_hour"):
        if key not in host:
            missing[key] = _NOT_SAID
    return {
        "schema_version": 1, "machine": name,
        "cpu": {"model": None, "logical": host.get("vcpus"), "physical": None, "affinity": None, "quota": None,
                "virtual": None},
        "threads": {"value": None, "reason": "transcribed: each case keeps what its source prints"},
        "memory_bytes": None, "gpus": [gpu] if host.get("gpu") else [], "driver": None, "os": None, "kernel": None,
        "container": None, "date": host.get("date"), "host": host.get("host"),
        "price_usd_per_hour": host.get("price_usd_per_hour"), "missing": missing,
    }  # fmt: skip
