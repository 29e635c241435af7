"""A workflow killed in the middle leaves nothing running and loses nothing; what was set aside is measured again."""

from __future__ import annotations

import json
import shlex
import subprocess
import time

import psutil
from clones import Clone, write_campaign
from test_failures import GOOD

LONG = {**GOOD, "id": "long", "arguments": {"n_prompt": [16], "n_gen": [64], "repetitions": 12}}
# a test that the plan does not know: the tool ends well, and the measurement is no answer to what was asked
UNPLANNED = {**GOOD, "id": "unplanned", "arguments": {**GOOD["arguments"], "extra": ["-p", "8"]}}


def _tools(clone: Clone) -> list[psutil.Process]:
    """llama-bench and measuring scripts that this clone started."""
    found = []
    for process in psutil.process_iter(["cmdline", "environ"]):
        words = " ".join(process.info["cmdline"] or [])
        if ("llama-bench" in words or "measure_llama_bench" in words) and (process.info["environ"] or {}).get(
            "TOKENTRAIL_TEST"
        ) == str(clone.path):
            found.append(process)
    return found


def _until(met, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if met():
            return True
        time.sleep(0.1)
    return False


def test_killed(clone: Clone) -> None:
    """SIGKILL of Snakemake while a tool runs: nothing lives on, the evidence is kept, the next run completes."""
    write_campaign(clone, "killed", [LONG])
    workflow = subprocess.Popen(
        clone.command(campaign="killed"),
        cwd=clone.path,
        env={**clone.environment(), "TOKENTRAIL_TEST": str(clone.path)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    started = _until(lambda: any(p.name() == "llama-bench" for p in _tools(clone)), 600)
    time.sleep(1)  # in the middle
    workflow.kill()
    workflow.wait()

    assert started
    assert _until(lambda: not _tools(clone), 10), _tools(clone)
    assert not list(clone.run_dir("killed").glob("raw/*/*/measurement.json"))

    locked = clone.snakemake(campaign="killed", check=False)
    assert locked.returncode == 1
    assert "--unlock" in locked.stdout + locked.stderr
    clone.snakemake("--unlock", campaign="killed")
    clone.snakemake(campaign="killed")

    (evidence,) = clone.run_dir("killed").glob("failed/long/*")
    assert any(path.name.startswith("process-0") for path in evidence.iterdir())
    assert json.loads((clone.run_dir("killed") / "records" / "long.json").read_text())["valid"]
    assert clone.planned(campaign="killed") == {}


def test_invalid_measurement_set_aside(clone: Clone) -> None:
    """A tool that ends well with another test than planned is no valid measurement; the hint to repeat it works."""
    write_campaign(clone, "other", [GOOD, UNPLANNED])

    done = clone.snakemake(campaign="other", check=False)

    assert done.returncode == 1
    (line,) = {line for line in done.stderr.splitlines() if "- unplanned: " in line}
    hint = line.partition("to measure it again: python ")[2].partition(",")[0]
    assert "measure_llama_bench" not in clone.planned(campaign="other")
    before = [path.read_bytes() for path in clone.run_dir("other").glob("raw/unplanned/*/measurement.json")]

    moved = clone.script(*shlex.split(hint))

    assert moved.returncode == 0, moved.stderr
    planned = clone.planned(campaign="other")
    assert planned["measure_llama_bench"] == planned["make_records"] == planned["check_coverage"] == 1
    kept = [path.read_bytes() for path in clone.run_dir("other").glob("failed/unplanned/*/measurement.json")]
    assert kept == before
