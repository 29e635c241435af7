"""What an upgrade changed: the two builds of llama.cpp measured last on one machine with one campaign.

Compared are rates and waiting times of cases whose key is the same in both runs. The read ceiling is compared too: it
does not depend on llama.cpp, so where it moved, the machine did.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tokentrail import jsonio, statistics
from tokentrail.figures.data import Number, RunData
from tokentrail.report import words

_RATES = r"(prefill-rate|decode-rate|batched-rate)-(?!predicted|limit).+|read-ceiling(-.+)?"
_TIMES = r"(ttft|tpot)-(?!gap|growth).+"
SAME = "not told apart"


@dataclass
class Change:
    """One number before and after, and after over before."""

    before: Number
    after: Number
    ratio: str
    reach: str
    verdict: str


@dataclass
class Upgrade:
    """Two runs of one machine and campaign, the one measured later as `after`."""

    before: RunData
    after: RunData
    changes: list[Change]
    others: list[tuple[str, str, str]]  # what else differs between the two, before, after

    @property
    def moved(self) -> int:
        """How many numbers changed by more than their intervals."""
        return sum(change.verdict in ("faster", "slower") for change in self.changes)

    @property
    def remarked(self) -> list[str]:
        """How many cases of each build carry remarks on how they were measured; empty where none does."""
        told = [(run, sum(bool(case["remarks"]) for case in run.doc["cases"])) for run in (self.before, self.after)]
        return [f"{count} of {len(run.doc['cases'])} by {run.doc['run']['engine']}" for run, count in told if count]


def upgrades(runs: Mapping[Path, RunData]) -> list[Upgrade]:
    """The last upgrade of each machine and campaign that two builds measured; `runs`: folder -> its numbers."""
    measured = [(folder, run) for folder, run in runs.items() if run.doc["origin"] == "measured"]

    def place(item: tuple[Path, RunData]) -> tuple[str, str]:
        return item[1].doc["run"]["machine"], item[1].doc["run"]["campaign"]

    found = []
    for _, group in itertools.groupby(sorted(measured, key=place), place):
        ordered = sorted(group, key=lambda item: item[1].doc.get("measured_to") or "")
        if len(ordered) > 1:
            (old, before), (new, after) = ordered[-2:]
            found.append(Upgrade(before, after, _changes(before, after, _alike(old, new)), _others(before, after)))
    return found


def _changes(before: RunData, after: RunData, alike: set[str]) -> list[Change]:
    changes = []
    for pattern, faster, slower in ((_RATES, "faster", "slower"), (_TIMES, "slower", "faster")):
        for _, number in after.matching(pattern):
            old = before.exact(number["id"])
            if old and old["value"] > 0 and number["value"] > 0 and _cases(number) | _cases(old) <= alike:
                changes.append(_change(old, number, faster, slower))
    return changes


def _change(before: Number, after: Number, larger: str, smaller: str) -> Change:
    ratio = statistics.ratio(_quantity(after), _quantity(before))
    found = ratio.interval
    verdict = "no interval" if found is None else SAME
    if found and (found.low > 1 or found.high < 1):
        verdict = larger if found.low > 1 else smaller
    shown = statistics.shown(ratio.value, found, "ratio")
    number = {"value": ratio.value, "unit": "ratio", "interval": found and found.as_dict()}
    return Change(before, after, shown, words.reach(number), verdict)


def _quantity(number: Number) -> statistics.Quantity:
    return statistics.Quantity(number["value"], statistics.Interval.from_dict(number.get("interval")))


def _cases(number: Number) -> set[str]:
    return {Path(given["file"]).stem for given in number["inputs"] if given["kind"] == "record"}


def _alike(old: Path, new: Path) -> set[str]:
    """Ids of the cases with the same key in both plans: arguments, threads, model and prompts are the same."""
    keys = [{(case["id"], case["key"]) for case in jsonio.read_json(run / "plan.json")["cases"]} for run in (old, new)]
    return {case for case, _ in keys[0] & keys[1]}


def _others(before: RunData, after: RunData) -> list[tuple[str, str, str]]:
    facts = [dict(_facts(run.doc)) for run in (before, after)]
    return [(name, facts[0][name], facts[1][name]) for name in facts[0] if facts[0][name] != facts[1][name]]


def _facts(doc: dict[str, Any]) -> Iterable[tuple[str, str]]:
    engine, machine = doc.get("engine") or {}, doc.get("machine") or {}
    for name, value in (
        ("llama.cpp's build", engine.get("build_number")),
        ("commit", engine.get("commit")),
        ("backend", engine.get("backend")),
        ("compiler", engine.get("compiler")),
        ("flags", " ".join(engine.get("cmake_flags") or [])),
        ("CUDA", engine.get("cuda_version")),
        ("GPU driver", machine.get("driver")),
        ("kernel", machine.get("kernel")),
        ("processor", (machine.get("cpu") or {}).get("model")),
    ):
        yield name, str(value or "not known")
