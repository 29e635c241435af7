"""Whole measuring jobs over tools that succeed, fail, crash, hang, and are missing."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from measuring_fakes import case, given, resources

from tokentrail import jsonio
from tokentrail.measuring import bench, job
from tokentrail.problems import Problem


@pytest.fixture(autouse=True)
def own_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """These jobs measure nothing, so they need not wait for a real measurement."""
    monkeypatch.setenv("TOKENTRAIL_LOCK", str(tmp_path / "lock"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Resources with the fake engine."""
    return resources(tmp_path)


def measure(folder: Path, planned: dict) -> tuple[dict, Path, str | None]:
    """(measurement, folder of its files, problem)."""
    values = given(folder, planned)
    run = {"llama-bench": bench.llama_bench, "llama-batched-bench": bench.batched_bench, "read-ceiling": bench.ceiling}
    problem = job.run(planned["tool"], run[planned["tool"]], values)
    found = jsonio.read_json(values.out, "measurement")
    evidence = values.plan.parent / found["evidence"] if "evidence" in found else values.out.parent
    return found, evidence, problem


@pytest.mark.parametrize("tool", ["llama-bench", "llama-batched-bench"])
def test_measured(folder: Path, tool: str) -> None:
    """Each process with its streams, hashed, its telemetry, and no path of this machine."""
    found, files, problem = measure(folder, case(tool, processes=2))

    assert problem is None
    assert found["status"] == "measured"
    assert [p["index"] for p in found["processes"]] == [0, 1]
    for process in found["processes"]:
        assert process["exit_status"] == 0
        assert process["argv"][:3] == [f"engines/fake/bin/{tool}", "-m", "models/wheel/m.gguf"]
        for stream in (process["stdout"], process["stderr"], process["telemetry"]["samples"]):
            assert stream["sha256"] == jsonio.sha256_file(files / stream["file"])
            assert stream["bytes"] == (files / stream["file"]).stat().st_size
    assert (files / "process-1.stdout.txt").read_text() == '{"samples_ns": [1, 2]}\n'
    assert found["held_gpu_ns"] >= sum(p["duration_ns"] for p in found["processes"])
    assert str(folder) not in json.dumps(found)
    assert {p.name for p in files.iterdir()} == {"measurement.json"} | {
        f"process-{i}.{kind}" for i in (0, 1) for kind in ("stdout.txt", "stderr.txt", "telemetry.jsonl")
    }


@pytest.mark.parametrize(
    ("fake", "words", "status", "signal"),
    [
        ("memory", "memory ran out", 1, None),
        ("crash", "SIGABRT", None, "SIGABRT"),
        ("slow", "stopped after 1 s", None, "SIGTERM"),
    ],
)
def test_failed(folder: Path, fake: str, words: str, status: int | None, signal: str | None) -> None:
    """A failed case is a result as well: what happened, in one sentence, with the evidence kept."""
    found, files, problem = measure(folder, case("llama-bench", fake, timeout_s=1, processes=2))

    assert found["status"] == "failed"
    assert words in found["problem"]
    assert words in problem
    assert len(found["processes"]) == 1
    assert (found["processes"][0]["exit_status"], found["processes"][0]["signal"]) == (status, signal)
    assert (files / "process-0.stderr.txt").read_text().startswith("loading")
    if fake == "crash":
        assert "samples_ns" in (files / "process-0.stdout.txt").read_text()


def test_flag_the_build_lacks(folder: Path) -> None:
    """Known before anything ran: a failed measurement without processes."""
    tool = folder / "engines/fake/bin/llama-bench"
    tool.write_text(tool.read_text().replace("-d, --n-depth", "-x"))

    found, _, _ = measure(folder, case("llama-bench", arguments={"n_depth": [512]}))

    assert found["status"] == "failed"
    assert "no option -d" in found["problem"]
    assert found["processes"] == []


def test_missing_model(folder: Path) -> None:
    """The case fails with the sentence that getting the model left behind."""
    (folder / "models/wheel/m.gguf").unlink()
    jsonio.write_json(folder / "models/wheel/m.outcome.json", {"problem": "no network for m"})

    found, _, _ = measure(folder, case("llama-bench"))

    assert found["status"] == "failed"
    assert "no network for m" in found["problem"]


def test_driver_that_cannot_work(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Refused before the tool runs: it would go on with the CPU and end with status 0."""

    class Broken(job.Nvml):
        def __init__(self) -> None:
            super().__init__()
            self.reason, self.broken, self._handles = "versions differ; reboot", True, []

    monkeypatch.setattr(job, "Nvml", Broken)

    found, _, _ = measure(folder, case("llama-bench", device="gpu"))

    assert "versions differ; reboot" in found["problem"]
    assert found["processes"] == []


def test_measured_once(folder: Path) -> None:
    """A second run refuses; the first measurement stays byte for byte."""
    _, files, _ = measure(folder, case("llama-bench"))
    before = (files / "measurement.json").read_bytes()

    with pytest.raises(Problem, match="already measured"):
        measure(folder, case("llama-bench"))

    assert before == (files / "measurement.json").read_bytes()


def test_wrong_script(folder: Path) -> None:
    """A case of another tool is refused before anything is touched."""
    values = given(folder, case("llama-bench"))

    with pytest.raises(Problem, match="is of llama-bench, not llama-server"):
        job.run("llama-server", bench.llama_bench, values)

    assert not values.out.exists()


def test_unknown_case(folder: Path) -> None:
    """A case the plan lacks."""
    values = given(folder, case("llama-bench"))
    values.case = "other"

    with pytest.raises(Problem, match="is not in"):
        job.run("llama-bench", bench.llama_bench, values)


@pytest.mark.skipif(not any(map(shutil.which, ("g++", "c++", "clang++"))), reason="needs a C++ compiler")
def test_read_ceiling(folder: Path) -> None:
    """Compiled once, run for real: a line of bytes and nanoseconds per repetition, and the sum proves the reads."""
    found, files, problem = measure(folder, case("read-ceiling"))

    assert problem is None
    lines = [json.loads(line) for line in (files / "process-0.stdout.txt").read_text().splitlines()]
    assert [line["bytes"] for line in lines] == [1 << 20, 1 << 20]
    assert all(line["ns"] > 0 for line in lines)
    assert "sum correct" in (files / "process-0.stderr.txt").read_text()
    assert found["processes"][0]["argv"][0].startswith("tools/read-ceiling-cpu-")


def test_read_ceiling_without_compiler(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not measured, and what to install."""
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv("CXX", raising=False)

    found, _, _ = measure(folder, case("read-ceiling"))

    assert "apt install g++" in found["problem"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/build/x/common.cpp:22: failed", "common.cpp:22: failed"),
        ("see https://example.org/a/b and 1/2", "see https://example.org/a/b and 1/2"),
        ("'/root/m.gguf' is no file", "'m.gguf' is no file"),
        ("models/hub/m.gguf", "models/hub/m.gguf"),
    ],
)
def test_no_folders_in_messages(text: str, expected: str) -> None:
    """Absolute paths are cut to the file; addresses and relative paths are not touched."""
    assert expected == job.without_folders(text)
