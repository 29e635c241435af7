"""What a number is: its definition, and the evidence it may read.

A definition says once how a number is called, what it means, its unit, its formula and its inputs. A
scope gives the contexts it exists in (each llama-bench test, each batch size …); the words of a context
fill the braces in ids, labels and pointers. Nothing outside this package derives a number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

PUBLISHED, STEADY = "as-published", "steady"
BOTH = (PUBLISHED, STEADY)


@dataclass(frozen=True)
class Evidence:
    """One record as loaded: its document, and the file name and hash that a trail names."""

    document: dict[str, Any]
    file: str
    sha256: str


@dataclass(frozen=True)
class Context:
    """One place where a definition applies: words for its braces, and the record its pointers read."""

    words: Mapping[str, Any] = field(default_factory=dict)
    record: Evidence | None = None
    model: str | None = None
    device: str | None = None
    lists: Mapping[str, Sequence[Ref]] = field(default_factory=dict)


@dataclass(frozen=True)
class Ref:
    """Where an input comes from. kind: stat | fact | always | plain (of a record), number, constant, each."""

    kind: str
    where: str
    unit: str = ""
    record: Evidence | None = None


def stat(pointer: str, unit: str = "", record: Evidence | None = None) -> Ref:
    """The centre of a statistic in the record, in the number's view: mean as published, median steady."""
    return Ref("stat", pointer, unit, record)


def fact(pointer: str, unit: str = "", record: Evidence | None = None) -> Ref:
    """An exact value in the record: a count, a size."""
    return Ref("fact", pointer, unit, record)


def always(pointer: str, unit: str = "", record: Evidence | None = None) -> Ref:
    """An exact value that holds even where the record is not valid."""
    return Ref("always", pointer, unit, record)


def plain(pointer: str, unit: str = "", record: Evidence | None = None) -> Ref:
    """A single reading or a spread: a value whose own interval is unknown, but for the rounding of a print."""
    return Ref("plain", pointer, unit, record)


def number(identifier: str) -> Ref:
    """Another number, by id; in the steady view its steady twin where it has one."""
    return Ref("number", identifier)


def constant(name: str) -> Ref:
    """A data-sheet figure, price or definition of the configuration."""
    return Ref("constant", name)


def each(name: str) -> Ref:
    """A list of inputs that the context gathered under this name."""
    return Ref("each", name)


@dataclass(frozen=True)
class Definition:
    """One number, defined once."""

    id: str
    label: str
    unit: str
    step: str
    words: str
    code: str
    inputs: Mapping[str, Ref]
    scope: str = "run"
    views: tuple[str, ...] = BOTH
    group: str = "other"
    headline: bool = False
    applies: Callable[[Context], bool] = lambda context: True
    note: str = ""


class Missing(Exception):
    """An input that this run does not have; the text is the reason a reader gets."""


# What a step of a record's path means to a reader, where its name does not say it.
_WORDS = {
    "ttft_ms": "time to first token", "rest_ms": "time of the rest of the answer", "prompt_ms": "the prompt's time",
    "predicted_ms": "the answer's time", "prefill_share": "prefill's share", "prompt_n": "the length of the prompt",
    "predicted_n": "the length of the answer", "ttft_gap_ms": "the wait outside the server's prefill",
    **dict.fromkeys(("tpot_ms", "tpot_gap_ms"), "time per step at the client"),
    **dict.fromkeys(("itl_p50_ms", "itl_p95_ms", "itl_p99_ms"), "when each token arrived"),
}  # fmt: skip


def pointer(document: Any, path: str) -> Any:
    """The value at a JSON pointer (RFC 6901); Missing where there is none."""
    here = document
    for part in path.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        try:
            here = here[int(key)] if isinstance(here, list) else here[key]
        except (KeyError, IndexError, ValueError, TypeError):
            raise Missing(f"{_WORDS.get(key, key.replace('_', ' '))} is not known") from None
    return here


def escape(key: str) -> str:
    """A key as a part of a JSON pointer."""
    return key.replace("~", "~0").replace("/", "~1")
