"""What a run does not have, by reason: gaps of its own, and what another campaign or another number would bring."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from tokentrail.figures.data import RunData
from tokentrail.report import story
from tokentrail.report.words import plain_label

Gap = tuple[str, list[str]]  # a reason, and what it keeps from being there
# reasons that are no gap of this run: another number's, or another campaign's
NOT_OWN = ("needs ", "this run measured another model or device")


def missing(
    run: RunData,
    figures: Mapping[str, Any],  # by name: what the page knows of each figure, drawn or not
    steps: set[str],
    skipped: tuple[str, ...] = (),
    labels: Mapping[str, str] = MappingProxyType({}),
) -> tuple[list[Gap], list[Gap]]:
    """Gaps by reason: those with a cause of their own, and those of another campaign or another number.

    A figure of a step that this run's campaign does not have is no gap; what a `skipped` case explains follows from it.
    `labels` name what has no label of its own, by id.
    """
    wanted = {name for step in story.load_story()["steps"] if step["step"] in steps for name in step.get("figures", [])}
    groups: dict[str, list[str]] = {}
    there = set(run.base_ids)
    for entry in run.doc["not_measured"]:
        if re.sub(r"-steady$", "", entry["id"]) not in there:
            name = entry.get("label") or labels.get(entry["id"]) or entry["id"]
            groups.setdefault(entry["reason"], []).append(plain_label(name))
    for figure in figures.values():
        if not figure.drawn and figure.name in wanted:
            own = figure.reason.partition(": ")[2]  # a number's reason, after its label
            reason = own if own in groups else figure.reason
            groups.setdefault(reason, []).append(f"the figure {figure.name.replace('-', ' ')}")
    gaps = [(reason, list(dict.fromkeys(names))) for reason, names in groups.items()]
    follows = [gap for gap in gaps if gap[0].startswith(NOT_OWN) or (skipped and gap[0].endswith(skipped))]
    return [gap for gap in gaps if gap not in follows], follows
