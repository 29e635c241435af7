"""Where big files lie: one folder, shared by clones where the environment names it."""

from __future__ import annotations

import os
from pathlib import Path

from tokentrail.engines.filehash import Memory

TOOLS = ("llama-bench", "llama-batched-bench", "llama-server")


def resources_folder(resources: Path | None = None) -> Path:
    """The folder of big files: the one given, else TOKENTRAIL_RESOURCES, else ./resources; absolute."""
    return Path(resources or os.environ.get("TOKENTRAIL_RESOURCES") or "resources").absolute()


def memory(resources: Path) -> Memory:
    """What earlier parses learnt about files (hashes, versions)."""
    return Memory(resources / "engines" / "hashes.json")


def downloads(resources: Path) -> Path:
    """Archives as downloaded, or as an offline kit laid them."""
    return resources / "downloads"
