"""Which source files a script is made of: the import closure, so that a rule's declared inputs are never stale."""

from __future__ import annotations

import ast
import functools
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[1]


def closure(*starts: str) -> list[str]:
    """Paths (relative to the repository) of the starts and of all they import below scripts/, sorted.

    `starts` are paths relative to scripts/ ("make_records.py"). Found by reading the import statements, also those
    inside functions; nothing is imported. A module loaded by a computed name is not seen: name it as a start too.
    """
    found: set[Path] = set()
    queue = [SCRIPTS / start for start in starts]
    while queue:
        path = queue.pop()
        if path in found:
            continue
        found.add(path)
        queue.extend(_imports(path))
    root = SCRIPTS.parent
    return sorted(str(path.relative_to(root)) for path in found)


@functools.cache
def _imports(path: Path) -> tuple[Path, ...]:
    names: list[str] = []
    package = path.parent.relative_to(SCRIPTS).parts
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), filename=str(path))):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = list(package[: len(package) - node.level + 1]) if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            names += [module, *(f"{module}.{alias.name}" for alias in node.names)]
    return tuple(file for name in names for file in _files(name))


def _files(name: str) -> list[Path]:
    if not name.startswith("tokentrail"):
        return []
    place = SCRIPTS.joinpath(*name.split("."))
    # importing a.b.c runs a/__init__ and a/b/__init__ too
    parts = name.split(".")
    files = [SCRIPTS.joinpath(*parts[:n], "__init__.py") for n in range(1, len(parts) + 1)]
    return [file for file in [*files, place.with_suffix(".py")] if file.exists()]
