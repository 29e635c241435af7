"""What settings a sweep speaks for: of the measured ones the fastest, beside the default, picked and not computed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tokentrail.figures import sweeps
from tokentrail.figures.data import Number, RunData

DEFAULT_UBATCH = 512  # llama.cpp's own, the one a user has who sets nothing


@dataclass(frozen=True)
class Choice:
    """One setting: what it decides, which value is fastest, and the number it is measured against."""

    question: str
    value: str
    best: Number
    against: str
    other: Number


def settings_of(run: RunData) -> list[Choice]:
    """Every setting that this run swept."""
    return [*_ubatch(run), *_flash(run), *_users(run)]


def _ubatch(run: RunData) -> Iterator[Choice]:
    lines: dict[str, dict[int, Number]] = {}
    for match, number in run.matching(r"prefill-rate-([a-z0-9.]+)-(?:gpu|cpu|hybrid)(?:-p\d+)?-ub(\d+)"):
        lines.setdefault(match[1], {})[int(match[2])] = number
    for model, sizes in lines.items():
        best = max(sizes, key=lambda size: sizes[size]["value"])
        other = DEFAULT_UBATCH if DEFAULT_UBATCH in sizes else min(sizes)
        if best != other and len(sizes) > 1:
            value = f"-ub {best}" if sweeps.apart(sizes[best], sizes[other]) else f"-ub {other} or {best}: not decided"
            question = f"Prompt tokens per pass, {run.model_name(model)}"
            yield Choice(question, value, sizes[best], f"-ub {other}", sizes[other])


def _flash(run: RunData) -> Iterator[Choice]:
    """One line for all tests that say the same, with the one that says it loudest."""
    verdicts: dict[str, list[Choice]] = {}
    for _, name, on, off in sweeps.flash_attention(run):
        best, other, words = (on, off, ("on", "off")) if on["value"] >= off["value"] else (off, on, ("off", "on"))
        value = f"-fa {words[0]}" if sweeps.apart(best, other) else "not decided: the intervals overlap"
        choice = Choice(name.replace("\n", ", "), value, best, f"-fa {words[1]}", other)
        verdicts.setdefault(value, []).append(choice)
    total = sum(len(choices) for choices in verdicts.values())
    for value, choices in verdicts.items():
        most = max(choices, key=lambda choice: choice.best["value"] / choice.other["value"])
        count = f"in {len(choices)} of {total} tests, most in " if len(choices) > 1 else ""
        yield replace(most, question=f"Flash attention, {count}{most.question}", value=value)


def _users(run: RunData) -> Iterator[Choice]:
    for suffix, points in sweeps.lines(run, "batched-rate").items():
        if len(points) >= sweeps.FEWEST:
            users, best = max(points, key=lambda point: point[1]["value"])
            name = sweeps.name_of(run, suffix)
            question = f"Users at once for the most tokens together, {name}"
            yield Choice(question, f"-np {users:.0f}", best, f"-np {points[0][0]:.0f}", points[0][1])
            knee = sweeps.knees(run).get(suffix, 1)
            each, alone = run.best(f"rate-per-user-{knee}{suffix}"), run.best(f"rate-per-user-1{suffix}")
            if knee > 1 and each and alone:
                question = f"Users at once of whom each keeps at least half a lone user's rate, {name}"
                yield Choice(question, f"-np {knee}", each, "-np 1", alone)
