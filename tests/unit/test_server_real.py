"""The real llama-server with a real model: measured, and gone after every kind of death. Skipped without one."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from measuring_fakes import case, given

from tokentrail import jsonio
from tokentrail.measuring import job, requests, server
from tokentrail.tools import server_stream

ROOT = Path(__file__).resolve().parents[2]
RESOURCES = Path(os.environ.get("TOKENTRAIL_RESOURCES") or ROOT / "resources")
MODEL = RESOURCES / "models/wheel/smollm2-135m-instruct-q4_1.gguf"
ENGINES = sorted(
    p.parents[1] for p in RESOURCES.glob("engines/*/bin/llama-server") if (p.parents[1] / "manifest.json").exists()
)

pytestmark = pytest.mark.skipif(not ENGINES or not MODEL.exists(), reason="no llama-server or no SmolLM2 in resources")


@pytest.fixture
def planned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, dict]:
    """(resources, case): links to what the workflow has built and fetched."""
    monkeypatch.setenv("TOKENTRAIL_LOCK", str(tmp_path / "lock"))
    for name in ("models", "engines"):
        (tmp_path / name).symlink_to(RESOURCES / name)
    facts = jsonio.read_json(MODEL.with_suffix(".facts.json"), "model-facts")
    model = {"id": facts["model"], "label": facts["label"], "name": facts["name"], "weights": "wheel", "identity": {}}
    asked = [{"name": "q", "prompt": "p", "max_tokens": 8, "repetitions": 2}]
    found = case("llama-server", model=model, timeout_s=120, arguments={"requests": asked})
    del found["arguments"]["extra"]
    return tmp_path, found


def test_measured(planned: tuple[Path, dict]) -> None:
    """At most eight tokens by the server's count, no cached prompt, and a client whose own time hardly counts."""
    folder, found_case = planned
    values = given(folder, found_case, ENGINES[0].name)

    problem = job.run("llama-server", server.measure, values)

    assert problem is None
    found = jsonio.read_json(values.out, "measurement")
    (process,) = found["processes"]
    for request in process["requests"]:
        chunks = requests.read_chunks(values.out.parent / request["chunks"]["file"])
        answer = server_stream.parse(chunks, request["sent_ns"], 8)
        assert 2 <= answer["predicted_n"] <= 8
        assert answer["cache_n"] == 0
        assert answer["ttft_ms"] >= answer["prompt_ms"] * 0.9
        assert request["cpu_ns"] < 50_000_000
    assert process["server"]["port_free_after"]
    text = json.dumps(found) + "".join(f.read_text() for f in values.out.parent.glob("*.txt"))
    assert str(folder) not in text
    assert str(RESOURCES.resolve()) not in text


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's help to die with the parent is Linux's")
@pytest.mark.parametrize("way", ["kill snakemake", "kill script", "term script", "hup script"])
def test_gone(planned: tuple[Path, dict], way: str) -> None:
    """Whoever is killed, the server is gone soon after, and the next attempt keeps what the first one left."""
    folder, found_case = planned
    found_case["arguments"]["settle_s"] = 60
    values = given(folder, found_case, ENGINES[0].name)
    boss = folder / "snakemake"
    boss.write_text("import subprocess, sys\nsubprocess.run(['bash', '-c', '\"$@\"; true', 'bash', *sys.argv[1:]])\n")
    options = {"plan": values.plan, "case": values.case, "engine-dir": values.engine_dir, "resources": folder,
               "out": values.out, "failed-dir": values.failed_dir}  # fmt: skip
    words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    script = [sys.executable, str(ROOT / "scripts/measure_requests.py"), *words]
    process = subprocess.Popen([sys.executable, str(boss), *script], start_new_session=True)
    try:
        running = wait_for(lambda: [p for p in family(process.pid) if "llama-server" in p.name()])[0]
        own = next(p for p in family(process.pid) if "measure_requests" in " ".join(p.cmdline()) and p.name() != "bash")
        time.sleep(1.0)

        if way == "kill snakemake":
            process.kill()
        else:
            own.send_signal({"kill": signal.SIGKILL, "term": signal.SIGTERM, "hup": signal.SIGHUP}[way.split()[0]])

        wait_for(lambda: not alive(running) and not alive(own))
    finally:
        for one in family(process.pid):
            one.kill()
        process.kill()
        process.wait()
    left = [*values.out.parents[1].glob(".*.partial-*"), *values.failed_dir.glob("*/*")]
    assert len(left) == 1
    assert (left[0] / "process-0.stderr.txt").exists()


def family(pid: int) -> list[psutil.Process]:
    """All descendants."""
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def alive(process: psutil.Process) -> bool:
    """Running, and not only waiting to be collected."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def wait_for(condition, limit_s: float = 20.0):
    """The condition's value, once it is true."""
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        if value := condition():
            return value
        time.sleep(0.05)
    raise AssertionError("it did not happen in time")
