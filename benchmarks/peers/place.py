"""Where the engine and the model of the benchmarks lie, and how a run is saved."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
RESOURCES = Path(os.environ.get("TOKENTRAIL_RESOURCES") or ROOT / "resources").absolute()
MODEL = "smollm2-135m-instruct-q4_1"


def engine() -> tuple[Path, int]:
    """(llama-server, build number) of the newest engine built here."""
    manifests = RESOURCES.glob("engines/*/manifest.json")
    built = [path for path in manifests if (path.parent / "bin" / "llama-server").exists()]
    if not built:
        sys.exit("there is no engine yet; run `make` first")
    manifest = max(built, key=lambda path: path.stat().st_mtime)
    return manifest.parent / "bin" / "llama-server", json.loads(manifest.read_text())["build_number"]


def model() -> Path:
    """The small model that comes from a Python package."""
    path = RESOURCES / "models" / "wheel" / f"{MODEL}.gguf"
    if not path.exists():
        sys.exit(f"{MODEL} is not there yet; run `make` first")
    return path


def save(run: dict[str, Any], path: Path) -> None:
    """As JSON, one line; times to the microsecond, errors to what they hold."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(_short(run), sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")


def _short(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 6)
    if isinstance(value, dict):
        return {key: _short(each) for key, each in value.items()}
    return [_short(each) for each in value] if isinstance(value, list) else value
