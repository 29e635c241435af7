"""The lesson's text with a run's numbers put in: which sentences a run can say, as pieces of text and numbers."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tokentrail.figures.data import Number, RunData

TEMPLATES = Path(__file__).resolve().parents[3] / "reports" / "templates"
PARAGRAPH = "¶ "
PLACE = re.compile(r"\{([^{}]+)\}")

Piece = str | Number  # plain text, or a number to be made clickable
Sentence = list[Piece]


@dataclass(frozen=True)
class Words:
    """Labels that complete a story's ids (`$small`), and the names that stand for them in sentences (`{=small}`)."""

    labels: Mapping[str, str]
    names: Mapping[str, str]


@dataclass
class Step:
    """One step as this run can tell it."""

    step: str
    title: str
    question: str
    sentences: list[Sentence] = field(default_factory=list)
    figures: list[str] = field(default_factory=list)
    numbers: list[Number] = field(default_factory=list)

    @property
    def paragraphs(self) -> list[list[Sentence]]:
        """The sentences, a new paragraph where one starts with the story's mark for it."""
        found: list[list[Sentence]] = []
        for pieces in self.sentences:
            head = pieces[0] if isinstance(pieces[0], str) else ""
            if not found or head.startswith(PARAGRAPH):
                found.append([])
            found[-1].append([head.removeprefix(PARAGRAPH), *pieces[1:]] if head else pieces)
        return found


def load_story() -> dict[str, Any]:
    """reports/templates/story.yaml."""
    return yaml.safe_load((TEMPLATES / "story.yaml").read_text(encoding="utf-8"))


@functools.cache  # every number of a page asks for it
def words_of(run: RunData) -> Words:
    """The run's small and big model, main device and largest batch, from its records and, without them, its ids."""
    pairs = [m for m, _ in run.matching(r"decode-rate-([a-z0-9.]+)-(gpu|cpu|hybrid)(?:-.+)?")]
    devices = [m[2] for m in pairs]
    device = "gpu" if "gpu" in devices else (devices[0] if devices else "gpu")
    models = list(dict.fromkeys(m[1] for m in pairs if m[2] == device))
    small = run.model_label("bench-small", "request-short", "serve", "batched-small") or (
        models[0] if models else "small"
    )
    big = run.model_label("bench-big", "batched-big") or next((m for m in models if m != small), "big")
    users = max((int(m[1]) for m, _ in run.matching(r"batched-rate-(\d+)")), default=32)
    labels = {"small": small, "big": big, "dev": device, "users": str(users)}
    names = {"small": run.model_name(small), "big": run.model_name(big), "device": device.upper(), "users": str(users)}
    names["memory"] = "the GPU's own memory" if device == "gpu" else "main memory"
    return Words(labels, names)


def full_id(pattern: str, words: Words) -> str:
    """`decode-rate-$small-$dev` as the id it means in this run."""
    return re.sub(r"\$([a-z]+)", lambda match: words.labels[match[1]], pattern)


def sentence(text: str, run: RunData, words: Words) -> Sentence | None:
    """A sentence's pieces; None where one of its numbers does not exist."""
    pieces: Sentence = []
    end = 0
    for match in PLACE.finditer(text):
        pieces.append(text[end : match.start()])
        end = match.end()
        if match[1].startswith("="):
            pieces.append(words.names[match[1][1:]])
            continue
        number = pick(match[1], run, words)
        if number is None:
            return None
        pieces.append(number)
    return [*(piece for piece in pieces if piece), *([text[end:]] if text[end:] else [])]


def said(items: list[Any], run: RunData, words: Words) -> list[Sentence]:
    """The sentences of a list that this run can say: strings, or {say, only_if, unless} with conditions on numbers.

    `unless` may be several conditions: a sentence is said where none of them holds.
    """
    found = []
    for item in items:
        told = {"say": item} if isinstance(item, str) else item
        wanted = "only_if" not in told or holds(told["only_if"], run, words)
        unless = told.get("unless", [])
        unwanted = any(holds(one, run, words) for one in ([unless] if isinstance(unless, str) else unless))
        pieces = sentence(told["say"], run, words) if wanted and not unwanted else None
        if pieces:
            found.append(pieces)
    return found


def holds(condition: str, run: RunData, words: Words) -> bool:
    """`left > right`, each an id of the story or a plain number; False where a number is missing.

    `left >> right` asks for more: that the whole interval of the left lies above that of the right.
    """
    sure = ">>" in condition
    left, right = (reach_of(side.strip(), run, words) for side in condition.split(">>" if sure else ">"))
    if left is None or right is None:
        return False
    return left[0] > right[2] if sure else left[1] > right[1]


def reach_of(name: str, run: RunData, words: Words) -> tuple[float, float, float] | None:
    """Lower end, value and upper end of what an id of the story means in this run, or of a plain number."""
    if re.fullmatch(r"[\d.]+", name):
        return (float(name),) * 3
    number = pick(name, run, words)
    if number is None:
        return None
    interval = number.get("interval") or {}
    return interval.get("low", number["value"]), number["value"], interval.get("high", number["value"])


def pick(name: str, run: RunData, words: Words) -> Number | None:
    """The number an id of the story means: `id` its best view, `id!` just that one."""
    number_id = full_id(name.rstrip("!"), words)
    return run.exact(number_id) if name.endswith("!") else run.best(number_id)


def steps_of(
    run: RunData,
    drawn: set[str],
    words: Words,
    skipped: list[dict[str, Any]],
    published: RunData | None = None,
) -> list[Step]:
    """The story's steps for this run; steps it has nothing for are left out where the story says so.

    `skipped` are the plan's cases that were left out: a step without any number or any case says why, and what the
    `published` run found.
    """
    steps = []
    run_of = {case["step"] for case in run.doc.get("cases", [])}
    planned = run_of | {case["step"] for case in skipped}
    for entry in load_story()["steps"]:
        if entry["step"][0].isdigit() and planned and entry["step"] not in planned:
            continue  # another campaign's step
        if any(run.best(full_id(number_id, words)) is None for number_id in entry.get("needs", [])):
            continue
        sentences = said(entry["says"], run, words)
        figures = [name for name in entry.get("figures", []) if name in drawn]
        if (entry.get("needs_figure") and not figures) or (entry.get("needs_number") and not sentences):
            continue
        reasons = [case["reason"] for case in skipped if case["step"] == entry["step"]]
        left_out = bool(reasons) and entry["step"] not in run_of
        if left_out or not any(isinstance(piece, dict) for pieces in sentences for piece in pieces):
            absent = [f"Not in this run: {reason}." for reason in dict.fromkeys(reasons)]
            sentences = [[text] for text in absent or entry.get("otherwise", ["Not in this run."])]
            sentences += elsewhere(entry, published) if left_out and published else []
        question = "".join(str(piece) for piece in sentence(entry["question"], run, words) or [])
        steps.append(Step(entry["step"], entry["title"], question, sentences, figures))
    return steps


def elsewhere(entry: dict[str, Any], published: RunData) -> list[Sentence]:
    """What the published run found in a step that this run left out; its numbers are marked as from there."""
    found = said(entry.get("published", []), published, words_of(published))
    return [[{**p, "elsewhere": published.name} if isinstance(p, dict) else p for p in pieces] for pieces in found]


def predictions_of(run: RunData, words: Words, most: int = 6) -> list[dict[str, Any]]:
    """Questions whose answer this run measured: {number, ask (pieces), unit, low, high, answer}."""
    found = []
    for entry in load_story()["predictions"]:
        number = run.best(full_id(entry["number"], words))
        ask = sentence(entry["ask"], run, words)
        if number and ask:
            answer = number["value"] * (100 if entry["unit"] == "%" else 1)
            found.append({**entry, "number": number, "ask": ask, "answer": answer})
    return found[:most]


def hides_of(run: RunData, words: Words) -> list[Sentence]:
    """What a printed table hides, as far as this run's numbers show it."""
    return said(load_story()["hides"], run, words)


def headline_of(run: RunData, words: Words) -> list[Number]:
    """The few numbers that stand at the top of the page and at the end of the terminal's output."""
    lists = ([run.best(full_id(number_id, words)) for number_id in ids] for ids in load_story()["headlines"])
    return max(([number for number in found if number] for found in lists), key=len)
