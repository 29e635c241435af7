"""What `--version` and table footers say of a build."""

from __future__ import annotations

import re

_NEW = re.compile(r"version:\s*(\S+)\s*\(build\s+(\d+),\s*commit\s+(\w+)\)")
_OLD = re.compile(r"version:\s*b?(\d+)(?:-\w+)?\s*\((\w+)\)|^b(\d+)-([0-9a-f]{6,})$", re.M)
_BUILT = re.compile(r"built with\s+(.+?)\s+for\s+(\S+)")


def parse_version(text: str) -> dict:
    """`--version` of any build -> {version, build_number, commit, compiler, target}; unknown parts are None.

    Two wordings: "version: 0.6.0-dev (build 0, commit unknown)" and "version: 6264 (043fb27d)".
    Build 0 and commit "unknown" mean that it was built without git: provenance is missing, not zero.
    """
    new, old, built = _NEW.search(text), _OLD.search(text), _BUILT.search(text)
    number, commit = (new[2], new[3]) if new else (old[1] or old[3], old[2] or old[4]) if old else (None, None)
    return {
        "version": new[1] if new else None,
        "build_number": known_build(number),
        "commit": known_commit(commit),
        "compiler": built[1] if built else None,
        "target": built[2] if built else None,
    }


def known_build(value: object) -> int | None:
    """A build number, or None for 0, "0", "unknown" and nothing."""
    text = str(value if value is not None else "").strip()
    return int(text) if text.isdigit() and int(text) > 0 else None


def known_commit(value: object) -> str | None:
    """A commit, or None for "unknown" and nothing."""
    text = str(value if value is not None else "").strip()
    return None if text.lower() in ("", "unknown", "none") else text
