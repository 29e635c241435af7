"""The raw files of a record, line by line, each with its place: what raw_lines looks through."""

from __future__ import annotations

import base64
import functools
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tokentrail import jsonio
from tokentrail.problems import Problem
from tokentrail.tools import lenient_json

Line = dict[str, Any]


def lines(run_dir: Path, record: Mapping[str, Any], names: list[str]) -> Iterator[Line]:
    """{file, sha256, line (from 1), text} of every line of these files of a record."""
    for name in names:
        yield from _placed(record, name, _split(run_dir / _folder(record) / name))


def pieces(run_dir: Path, record: Mapping[str, Any], name: str) -> Iterator[Line]:
    """The lines of a stream of received bytes, with the time and the bytes decoded to text."""
    path = run_dir / _folder(record) / name
    about = path.stat()
    yield from _placed(record, name, _decoded(path, about.st_mtime_ns, about.st_size))


def stdouts(record: Mapping[str, Any]) -> list[str]:
    """The files that hold what the tool printed, in the order of the processes."""
    if record["origin"] == "transcribed":
        return [one["file"] for one in record["transcription"]["files"]]
    names = [name for name in record["raw"]["files"] if ".stdout." in name]
    return sorted(names, key=lambda name: [int(digits) for digits in re.findall(r"\d+", name)])


def measurement(run_dir: Path, record: Mapping[str, Any]) -> dict[str, Any]:
    """The record's measurement.json."""
    return jsonio.read_json(run_dir / record["raw"]["file"])


def _folder(record: Mapping[str, Any]) -> Path:
    return Path(record["raw"]["file"]).parent


def _placed(record: Mapping[str, Any], name: str, texts: list[str]) -> Iterator[Line]:
    file, sha256 = (_folder(record) / name).as_posix(), record["raw"]["files"].get(name)
    for number, text in enumerate(texts, start=1):
        yield {"file": file, "sha256": sha256, "line": number, "text": text}


def _split(path: Path) -> list[str]:
    try:
        return lenient_json.as_text(path.read_bytes()).removesuffix("\n").split("\n")
    except OSError as error:
        raise Problem(f"{path} cannot be read ({error.strerror}); restore it from the repository") from None


@functools.lru_cache(maxsize=64)
def _decoded(path: Path, mtime_ns: int, size: int) -> list[str]:
    """A page asks for the same answers for hundreds of numbers; a file that changed is read again."""
    try:
        read = [json.loads(line) for line in _split(path)]
        texts = [(one["t_ns"], base64.b64decode(one["data"]).decode("utf-8", "replace")) for one in read]
    except (ValueError, KeyError, TypeError) as error:
        raise Problem(f"{path} is no list of received pieces ({error}); restore it from the repository") from None
    return [f"t_ns {t}: {' '.join(text.split())}" for t, text in texts]
