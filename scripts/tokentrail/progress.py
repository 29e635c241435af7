"""One line before each measuring job: which case of how many, what it measures, about how long the rest takes.

Durations come from earlier runs of the same campaign, here or on another machine; without any the line gives none.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

# As many measured cases tell the pace; reading them all before each of 1,000 would take longer than measuring some.
PACE_FROM = 10


def announce(plan: Mapping[str, Any], case_id: str, results: Path, stream: TextIO = sys.stderr) -> None:
    """Print `case 3 of 8 · bench-small · Both halves apart … · about 40 s left` for the case that starts now.

    `results` is the folder of all runs. Never fails a measurement: unreadable older files only cost the estimate.
    """
    print(line(plan, case_id, results), file=stream, flush=True)


def line(plan: Mapping[str, Any], case_id: str, results: Path) -> str:
    """The line's text. Cases that already have a measurement are not counted as left."""
    cases = plan["cases"]
    position = next((i for i, case in enumerate(cases) if case["id"] == case_id), 0)
    run = plan["run"]
    run_dir = results / run["machine"] / run["engine"] / run["campaign"]
    left = [case for case in cases if case["id"] == case_id or not measured(run_dir, case)]
    repetitions = repetitions_of(cases[position])
    parts = [f"case {position + 1} of {len(cases)}", case_id, cases[position]["title"]]
    parts += [repetitions] if repetitions else []
    seconds = estimate(cases, left, results, run)
    return " · ".join([*parts, *([f"about {in_words(seconds)} left"] if seconds else [])])


def measured(run_dir: Path, case: Mapping[str, Any]) -> bool:
    """Whether this very case (id and key) has been measured in the run."""
    return (run_dir / "raw" / case["id"] / case["key"] / "measurement.json").exists()


def repetitions_of(case: Mapping[str, Any]) -> str:
    """`3 × 5 repetitions`: processes times repetitions, where the case says so."""
    arguments, processes = case["arguments"], case.get("processes", 1)
    inner = arguments.get("repetitions") or sum(r.get("repetitions", 1) for r in arguments.get("requests", []))
    return f"{processes} × {inner} repetitions" if inner else ""


def estimate(
    cases: Sequence[Mapping[str, Any]], left: Sequence[Mapping[str, Any]], results: Path, run: Mapping[str, str]
) -> float | None:
    """Seconds for the cases left, if each has been measured in this campaign before; the own machine's time goes first.

    Another machine's times are multiplied by its pace: how much longer (or shorter) what is measured here took there.
    """
    names = [case["id"] for case in left]
    done = [case["id"] for case in cases if case["id"] not in names]
    known = {name: past(name, results, run["campaign"]) for name in [*names, *done[:PACE_FROM]]}
    own = {name: statistics.median(times[run["machine"]]) for name, times in known.items() if run["machine"] in times}
    others = {
        name: statistics.median(t for machine, several in times.items() for t in several if machine != run["machine"])
        for name, times in known.items()
        if set(times) - {run["machine"]}
    }
    both = own.keys() & others.keys()
    pace = sum(own[name] for name in both) / sum(others[name] for name in both) if both else 1.0
    if any(name not in own and name not in others for name in names):
        return None
    return sum(own[name] if name in own else others[name] * pace for name in names)


def past(case_id: str, results: Path, campaign: str) -> dict[str, list[float]]:
    """{machine: seconds} of every stored measurement of this case of a campaign, with whatever engine."""
    found: dict[str, list[float]] = {}
    for path in results.glob(f"*/*/{campaign}/raw/{case_id}/*/measurement.json"):
        try:
            processes = json.loads(path.read_text(encoding="utf-8"))["processes"]
            seconds = sum(process["duration_ns"] for process in processes) / 1e9
        except (OSError, ValueError, KeyError, TypeError):
            continue  # a broken older file has no say in an estimate; the audit is where it is reported
        if seconds > 0:
            found.setdefault(path.relative_to(results).parts[0], []).append(seconds)
    return found


def in_words(seconds: float) -> str:
    """`40 s`, `3 min`: no more exact than an estimate is."""
    return f"{max(5, round(seconds / 5) * 5)} s" if seconds < 90 else f"{round(seconds / 60)} min"
