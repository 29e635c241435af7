"""The line before each case: which of how many, what it measures, about how long the rest takes."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from tokentrail import progress

RUN = {"machine": "m", "engine": "e", "campaign": "c"}


def case(case_id: str, **arguments: object) -> dict:
    return {"id": case_id, "key": "0" * 8, "title": case_id.title(), "arguments": arguments, "processes": 3}


PLAN = {"run": RUN, "cases": [case("one", repetitions=5), case("two"), case("three")]}


def past(results: Path, run: str, case_id: str, seconds: float) -> None:
    path = results / run / "raw" / case_id / ("0" * 8) / "measurement.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"processes": [{"duration_ns": int(seconds * 1e9)}]}))


def test_first_time_there_is_no_estimate(tmp_path: Path) -> None:
    """Without earlier runs the line says what, and claims no time."""
    assert progress.line(PLAN, "one", tmp_path) == "case 1 of 3 · one · One · 3 × 5 repetitions"


def test_time_left_comes_from_earlier_runs(tmp_path: Path) -> None:
    """The own machine's past counts before another's; measured cases are not left."""
    past(tmp_path, "m/e/c", "one", 100)
    for name, seconds in (("two", 20), ("three", 41)):
        past(tmp_path, "m/old/c", name, seconds)
        past(tmp_path, "other/e/c", name, 900)

    assert progress.line(PLAN, "two", tmp_path).endswith("case 2 of 3 · two · Two · about 60 s left")
    past(tmp_path, "m/e/c", "two", 20)
    assert progress.line(PLAN, "three", tmp_path).endswith("about 40 s left")


def test_another_machine_s_times_go_at_its_pace(tmp_path: Path) -> None:
    """What is measured already shows how much slower this machine is; other campaigns say nothing."""
    for name, seconds in (("one", 10), ("two", 20), ("three", 30)):
        past(tmp_path, "fast/e/c", name, seconds)
        past(tmp_path, "m/e/another", name, 7)
    assert progress.line(PLAN, "one", tmp_path).endswith("about 60 s left")

    past(tmp_path, "m/e/c", "one", 50)
    assert progress.line(PLAN, "two", tmp_path).endswith("about 4 min left")


def test_one_unknown_case_means_no_estimate(tmp_path: Path) -> None:
    """A sum with a hole in it is not shown."""
    past(tmp_path, "m/old/c", "two", 20)

    assert "left" not in progress.line(PLAN, "two", tmp_path)


def test_broken_history_costs_only_the_estimate(tmp_path: Path) -> None:
    """An unreadable older file never stops a measurement."""
    past(tmp_path, "m/old/c", "three", 20)
    next(tmp_path.rglob("measurement.json")).write_text("{")
    stream = io.StringIO()
    progress.announce(PLAN, "three", tmp_path, stream)

    assert stream.getvalue() == "case 3 of 3 · three · Three\n"


@pytest.mark.parametrize(("seconds", "expected"), [(1, "5 s"), (38, "40 s"), (89, "90 s"), (300, "5 min")])
def test_times_are_rounded(seconds: float, expected: str) -> None:
    """An estimate is no more exact than it is."""
    assert progress.in_words(seconds) == expected
