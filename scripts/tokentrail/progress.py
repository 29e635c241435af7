"""One line before each measuring job: which case of how many, what it measures, about how long the rest takes.

Durations come from earlier measurements of the same work, here or in other runs; without any the line gives none.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO


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
    seconds = estimate(left, results, run)
    return " · ".join([*parts, *([f"about {in_words(seconds)} left"] if seconds else [])])


def measured(run_dir: Path, case: Mapping[str, Any]) -> bool:
    """Whether this very case (id and key) has been measured in the run."""
    return (run_dir / "raw" / case["id"] / case["key"] / "measurement.json").exists()


def repetitions_of(case: Mapping[str, Any]) -> str:
    """`3 × 5 repetitions`: processes times repetitions, where the case says so."""
    arguments, processes = case["arguments"], case.get("processes", 1)
    inner = arguments.get("repetitions") or sum(r.get("repetitions", 1) for r in arguments.get("requests", []))
    return f"{processes} × {inner} repetitions" if inner else ""


def estimate(left: Sequence[Mapping[str, Any]], results: Path, run: Mapping[str, str]) -> float | None:
    """Seconds for the cases left, if each has been measured before somewhere; the own machine's time goes first."""
    total = 0.0
    for case in left:
        found = past(case["id"], results)
        here = [seconds for machine, seconds in found if machine == run["machine"]]
        times = here or [seconds for _, seconds in found]
        if not times:
            return None
        total += sorted(times)[len(times) // 2]
    return total


def past(case_id: str, results: Path) -> list[tuple[str, float]]:
    """(machine, seconds) of every stored measurement of a case of this name."""
    found = []
    for path in results.glob(f"*/*/*/raw/{case_id}/*/measurement.json"):
        try:
            processes = json.loads(path.read_text(encoding="utf-8"))["processes"]
            seconds = sum(process["duration_ns"] for process in processes) / 1e9
        except (OSError, ValueError, KeyError, TypeError):
            continue  # a broken older file has no say in an estimate; the audit is where it is reported
        if seconds > 0:
            found.append((path.relative_to(results).parts[0], seconds))
    return found


def in_words(seconds: float) -> str:
    """`40 s`, `3 min`: no more exact than an estimate is."""
    return f"{max(5, round(seconds / 5) * 5)} s" if seconds < 90 else f"{round(seconds / 60)} min"
