"""Which version of this project measured: commit, whether its code was changed, and a hash of the code itself."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).resolve().parents[3]
VERSION = "0.1.0"
# What decides how a measurement is made; results and reports do not.
CODE = ("Snakefile", "rules", "scripts", "config")


def of(checkout: Path = CHECKOUT) -> dict[str, Any]:
    """The schema's `workflow`; commit and dirty are None outside a git checkout."""
    commit = _git(checkout, "rev-parse", "HEAD")
    status = _git(checkout, "status", "--porcelain", "--", *CODE) if commit else None
    return {
        "version": VERSION,
        "commit": commit,
        "dirty": None if status is None else bool(status),
        "source_sha256": source_sha256(checkout / "scripts"),
    }


def source_sha256(scripts: Path) -> str:
    """SHA-256 over every file of code that can measure: names and contents, in order of name."""
    digest = hashlib.sha256()
    files = [f for kind in ("*.py", "*.cpp", "*.cu") for f in scripts.rglob(kind)]
    for file in sorted(files):
        digest.update(f"{file.relative_to(scripts)}\0".encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()


def _git(checkout: Path, *words: str) -> str | None:
    if not shutil.which("git"):
        return None
    command = ["git", "-C", str(checkout), *words]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    return answer.stdout.strip() if answer.returncode == 0 else None
