"""SHA-256 of files, remembered between runs, for fingerprints taken at every parse.

The memory is keyed by path, size, modification time, inode and change time. A package manager restores old
modification times when it installs, but nobody can set the change time back, so new content is always noticed.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from tokentrail import jsonio

# A file written a moment ago may be written again within the clock's tick: its hash is not remembered yet.
_SETTLED_NS = 2_000_000_000


class Memory:
    """Facts about files and sets of files, kept in one JSON file; losing it costs time only."""

    def __init__(self, path: Path) -> None:
        self.path = Path(path)
        self._changed = False
        try:
            found = json.loads(self.path.read_text(encoding="utf-8"))
        except (OSError, ValueError):  # missing or torn: the facts are taken anew
            found = {}
        self._facts: dict[str, Any] = found if isinstance(found, dict) else {}

    def get(self, key: str) -> Any:
        """The fact remembered under `key`, or None."""
        return self._facts.get(key)

    def put(self, key: str, fact: Any) -> None:
        """Remember a fact; it reaches the disk with `save`."""
        self._facts[key] = fact
        self._changed = True

    def save(self) -> None:
        """Write what was learnt; a folder that cannot be written costs the next run time, and nothing else."""
        if not self._changed:
            return
        try:
            jsonio.write_json(self.path, self._facts)
        except OSError as error:
            print(f"note: {self.path} cannot be written ({error}); hashes are taken anew next time", file=sys.stderr)
        self._changed = False

    def sha256(self, path: Path) -> str:
        """SHA-256 of the file behind `path` (links followed), 64 hex digits, from memory where nothing changed."""
        real = os.path.realpath(path)
        state = os.stat(real)
        key = f"sha256 {real} {state.st_size} {state.st_mtime_ns} {state.st_ino} {state.st_ctime_ns}"
        known = self.get(key)
        if isinstance(known, str):
            return known
        digest = jsonio.sha256_file(Path(real))
        if time.time_ns() - state.st_ctime_ns > _SETTLED_NS:
            self.put(key, digest)
        return digest
