"""What an upgrade changed: two builds on one machine with one campaign, side by side on the page over all runs."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from page_runs import PUBLISHED, made

from tokentrail import jsonio
from tokentrail.report import index, upgrades

DECODE = "decode-rate-8b-gpu-steady"


@pytest.fixture
def before(tmp_path: Path) -> Path:
    return made(tmp_path / "results")


def upgraded(before: Path, engine: str, day: int, **factors: float) -> Path:
    """A copy of a run by another build, the numbers whose ids are given (with _ for -) times a factor."""
    after = before.parents[1] / engine / before.name
    shutil.copytree(before, after)
    document = json.loads((after / "numbers.json").read_text())
    document["run"]["engine"] = engine
    document["measured_to"] = f"2026-11-{day:02}T00:00:00Z"
    for number in document["numbers"]:
        factor = factors.get(number["id"].replace("-", "_").replace(".", "_"))
        if factor:
            number["value"] *= factor
            number["interval"] = {**number["interval"], **{e: number["interval"][e] * factor for e in ("low", "high")}}
    jsonio.write_json(after / "numbers.json", document, "numbers")
    return after


def found(*runs: Path) -> list[upgrades.Upgrade]:
    return upgrades.upgrades({run: index.read(run) for run in runs})


def test_faster_slower_same(before: Path) -> None:
    """A higher rate and a shorter wait are faster; what its interval does not tell from 1 is said to be so."""
    after = upgraded(before, "b2-cuda-00000000", 30, decode_rate_8b_gpu_steady=2.0, ttft_short=3.0)

    (upgrade,) = found(before, after)

    verdicts = {change.after["id"]: change.verdict for change in upgrade.changes}
    assert verdicts[DECODE] == "faster"
    assert verdicts["ttft-short"] == "slower"
    assert verdicts["decode-rate-0.6b-gpu-steady"] == upgrades.SAME
    assert upgrade.moved == 2
    (change,) = (change for change in upgrade.changes if change.after["id"] == DECODE)
    assert change.ratio.startswith("2.0")
    assert "decode-rate-limit-8b-gpu" not in verdicts


def test_the_last_two_of_a_machine_and_campaign(before: Path) -> None:
    """Of three builds, the two measured last; a transcribed run and a lone one are compared with nothing."""
    second = upgraded(before, "b2-cuda-00000000", 30)
    first = upgraded(before, "b3-cuda-00000000", 1)

    (upgrade,) = found(PUBLISHED, first, second, before)

    names = [upgrade.before.doc["run"]["engine"], upgrade.after.doc["run"]["engine"]]
    assert names[1] == "b2-cuda-00000000"
    assert found(PUBLISHED, before) == []


def test_changed_case_is_not_compared(before: Path) -> None:
    """A number of a case whose key differs was measured under other conditions."""
    after = upgraded(before, "b2-cuda-00000000", 30, decode_rate_8b_gpu_steady=2.0)
    plan = json.loads((after / "plan.json").read_text())
    next(case for case in plan["cases"] if case["id"] == "bench-big")["key"] = "0" * 8
    jsonio.write_json(after / "plan.json", plan, "plan")

    (upgrade,) = found(before, after)

    ids = {change.after["id"] for change in upgrade.changes}
    assert DECODE not in ids
    assert "decode-rate-0.6b-gpu-steady" in ids


def test_on_the_page(before: Path, tmp_path: Path) -> None:
    """Builds, ratio and verdict stand on the page and in its Markdown twin; without an upgrade, nothing does."""
    after = upgraded(before, "b2-cuda-00000000", 30, decode_rate_8b_gpu_steady=2.0)

    index.write_index([PUBLISHED, before, after], tmp_path / "two")
    index.write_index([PUBLISHED, before], tmp_path / "one")

    html, text = ((tmp_path / "two" / name).read_text() for name in ("index.html", "index.md"))
    assert "What an upgrade changed" in html
    assert "<strong>faster</strong>" in html
    (row,) = (
        line
        for line in text.splitlines()
        if f"b2-cuda-00000000/lesson-stand-in#{DECODE}" in line and "÷" not in line and "faster" in line
    )
    assert "2.0" in row
    assert "made · lesson-stand-in · b2-cuda-00000000" in text
    assert "What an upgrade changed" not in (tmp_path / "one" / "index.html").read_text()
