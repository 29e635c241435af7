"""The key of a case: what changes it, and that stored runs still have theirs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tokentrail import jsonio, plan

ROOT = Path(__file__).resolve().parents[2]
# Every source the read kernels have had, by version: whoever edits one says here whether it measures something else.
KERNELS = {1: {
    "read_ceiling.cpp": "7d7828879cb87e396fb2945285d90fd184ebccd979bd14366279389e8cafd08b",
    "read_ceiling.cu": "5d614f34ab6ecff2dab90a43ad65527cf739beff9074e8105089d4962a64cc47",
}}  # fmt: skip


def test_an_edited_read_kernel_gets_a_version() -> None:
    """An edit that changes nothing measured replaces the hash here; one that does takes the next KERNEL_VERSION."""
    sources = sorted((ROOT / "scripts" / "native").iterdir())

    assert {path.name: jsonio.sha256_file(path) for path in sources} == KERNELS[plan.KERNEL_VERSION]


def test_another_kernel_is_another_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only for the ceiling: no other tool runs the kernel."""
    ceiling, bench = ({"tool": tool, "arguments": {}, "device": "gpu", "processes": 1, "threads": {"value": 1},
                       "model": None} for tool in ("read-ceiling", "llama-bench"))  # fmt: skip
    before = plan.key_of(ceiling), plan.key_of(bench)
    monkeypatch.setattr(plan, "KERNEL_VERSION", plan.KERNEL_VERSION + 1)

    assert plan.key_of(ceiling) != before[0]
    assert plan.key_of(bench) == before[1]


# a transcribed case has a name for a key
STORED = [p for p in sorted(ROOT.glob("results/*/*/*/plan.json")) if jsonio.read_json(p)["origin"] == "measured"]


@pytest.mark.parametrize("path", STORED, ids=lambda path: "-".join(path.parts[-4:-1]))
def test_stored_cases_keep_their_keys(path: Path) -> None:
    """A clone of a stored run measures nothing again: each case still has the key under which it is stored."""
    stored = jsonio.read_json(path, "plan")

    assert {case["id"]: plan.key_of(case) for case in stored["cases"]} == {c["id"]: c["key"] for c in stored["cases"]}
