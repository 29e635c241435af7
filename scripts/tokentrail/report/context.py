"""Everything a page says about one run, gathered from its numbers, records, figures and ledger; nothing derived."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tokentrail import claims, jsonio
from tokentrail.figures import FIGURES
from tokentrail.figures.data import Number, RunData, load
from tokentrail.report import patterns, story
from tokentrail.report.conditions import Conditions, conditions_of
from tokentrail.report.gaps import Gap, missing
from tokentrail.report.grids import Grid, grids_of
from tokentrail.report.layers import Layers, layers_of
from tokentrail.report.settings import Choice, settings_of
from tokentrail.report.words import plain_label

# the lesson's side questions stand with the step they belong to
SHOWN_WITH = {"check-3": "3b", "ceiling": "7", "deeper": "7"}


@dataclass
class Figure:
    """One figure as its own small JSON describes it."""

    name: str
    drawn: bool
    title: str = ""
    description: str = ""
    reason: str = ""


@dataclass
class Row:
    """One line of a step's table: the number here in both views, and its published counterpart."""

    label: str
    here: Number
    reported: Number | None
    published: Number | None
    same: bool  # the counterpart is of the same model and device


@dataclass
class Report:
    """What the templates see."""

    run: RunData
    published: RunData | None
    words: story.Words
    steps: list[story.Step]
    tables: dict[str, list[Row]]
    figures: dict[str, Figure]
    predictions: list[dict[str, Any]]
    hides: list[story.Sentence]
    headline: list[Number]
    missing: list[Gap]
    follows: list[Gap]
    ledger: dict[str, Any]
    patterns: list[patterns.Told]
    settings: list[Choice]
    grids: list[Grid]
    layers: Layers | None
    conditions: Conditions
    plan: dict[str, Any] = field(default_factory=dict)


def gather(run_dir: Path, figures_dir: Path, published_dir: Path | None) -> Report:
    """Read a run and everything beside it; `published_dir`: the run to compare with (default: its claims ledger's)."""
    run, ledger = load(run_dir), optional(run_dir / "claims.json")
    if published_dir is None and ledger:
        named = "/".join(ledger["published_run"][key] for key in ("machine", "engine", "campaign"))
        published_dir = claims.folder_of(named, run_dir)
    published = load(published_dir) if published_dir and (published_dir / "numbers.json").exists() else None
    if published and published.name == run.name:
        published = None
    figures = read_figures(figures_dir)
    words = story.words_of(run)
    plan = optional(run_dir / "plan.json")
    steps = story.steps_of(
        run, {name for name, figure in figures.items() if figure.drawn}, words, plan.get("skipped", []), published
    )
    claimed = {claim["id"] for claim in ledger.get("claims", [])}
    # a sweep's numbers stand in its grids
    tables = {step.step: [] if step.step == "sweep" else table(run, published, step.step, claimed) for step in steps}
    skipped = tuple(case["reason"] for case in plan.get("skipped", []))
    labels = {claim["id"]: claim["label"] for claim in ledger.get("claims", [])}
    gaps, follows = missing(run, figures, {step.step for step in steps}, skipped, labels)
    return Report(
        run=run,
        published=published,
        words=words,
        steps=steps,
        tables=tables,
        figures=figures,
        predictions=story.predictions_of(run, words),
        hides=story.hides_of(run, words),
        headline=story.headline_of(run, words),
        missing=gaps,
        follows=follows,
        ledger=ledger,
        patterns=patterns.told(ledger, run),
        settings=settings_of(run),
        grids=grids_of(run),
        layers=layers_of(run),
        conditions=conditions_of(run),
        plan=plan,
    )


def optional(path: Path) -> dict[str, Any]:
    """A JSON object that a run may lack."""
    return jsonio.read_json(path) if path.exists() else {}


def read_figures(folder: Path) -> dict[str, Figure]:
    """Every figure of the table: drawn, or not and why."""
    found = {}
    for name in FIGURES:
        path = folder / f"{name}.json"
        about = (
            json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"drawn": False, "reason": "not made"}
        )
        keys = ("drawn", "title", "description", "reason")
        found[name] = Figure(name, **{key: about[key] for key in keys if key in about})
    return found


def table(run: RunData, published: RunData | None, step: str, claimed: set[str]) -> list[Row]:
    """A step's numbers that are headlines, or that the published page states of this model or its counterpart."""
    rows = []
    for number_id in run.base_ids:
        here = run.best(number_id)
        if here is None or SHOWN_WITH.get(here["step"], here["step"]) != step:
            continue
        other, same = counterpart(run, published, number_id)
        if not (here.get("headline") or number_id in claimed or (other and other["id"] in claimed)):
            continue
        reported = run.exact(number_id) if here["id"] != number_id else None
        rows.append(Row(plain_label(here["label"]), here, reported, other, same))
    return rows


def others(rows: list[Row], published: RunData | None) -> str:
    """Which model on which device the starred numbers of the published run are of; empty where none is starred."""
    starred = [row.published for row in rows if row.published and not row.same]
    found = {(number.get("model"), number.get("device")): None for number in starred}
    pairs = [(m, d) for m, d in found if d or not any(m == other and on for other, on in found)]
    names = [
        " on the ".join([*([published.model_name(model)] if model else []), *([device.upper()] if device else [])])
        for model, device in pairs
        if published and (model or device)
    ]
    return ", ".join(names)


def counterpart(run: RunData, published: RunData | None, number_id: str) -> tuple[Number | None, bool]:
    """The published run's number of the same id, and whether model and device are the same too; else the number that
    plays the same role there."""
    if published is None:
        return None, True
    same, own = published.exact(number_id), run.best(number_id) or {}
    if same:
        return same, all(own.get(key) == same.get(key) for key in ("model", "device"))
    here, there = story.words_of(run).labels, story.words_of(published).labels
    swapped = number_id
    for key in ("small", "big", "dev", "users"):
        swapped = re.sub(rf"(?<![a-z0-9.]){re.escape(here[key])}(?![a-z0-9.])", f"\0{key}\0", swapped)
    swapped = re.sub("\0([a-z]+)\0", lambda match: there[match[1]], swapped)
    return published.exact(swapped), False
