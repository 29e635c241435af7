"""A server of our own: started, waited for, told from others, asked, stopped; and every way in which that fails."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from pathlib import Path

import psutil
import pytest
from measuring_fakes import case, given, resources

from tokentrail import jsonio
from tokentrail.measuring import job, requests, server


@pytest.fixture(autouse=True)
def own_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """These jobs measure nothing, so they need not wait for a real measurement."""
    monkeypatch.setenv("TOKENTRAIL_LOCK", str(tmp_path / "lock"))


def measure(tmp_path: Path, planned: dict) -> tuple[dict, Path]:
    """(measurement, folder of its files)."""
    values = given(resources(tmp_path), planned)
    job.run("llama-server", server.measure, values)
    found = jsonio.read_json(values.out, "measurement")
    return found, values.plan.parent / found["evidence"] if "evidence" in found else values.out.parent


def servers() -> list[psutil.Process]:
    """Fake servers that are still there; a process that has just ended has no command line any more."""
    found = []
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            if "llama-server" in " ".join(process.cmdline()):
                found.append(process)
    return found


def test_requests_are_recorded(tmp_path: Path) -> None:
    """Bodies, every byte with its time, the server's identity; each process its own server, none left."""
    planned = [
        {"name": "w", "prompt": "p", "max_tokens": 4},
        {"name": "q", "prompt": "p", "max_tokens": 9, "repetitions": 2},
    ]

    found, files = measure(tmp_path, case("llama-server", processes=2, arguments={"requests": planned}))

    assert found["status"] == "measured"
    assert servers() == []
    for process in found["processes"]:
        assert [(r["index"], r["name"], r["http_status"]) for r in process["requests"]] == [
            (0, "w", 200), (1, "q", 200), (2, "q", 200)]  # fmt: skip
        assert [r["body"]["max_tokens"] for r in process["requests"]] == [4, 9, 9]
        for request in process["requests"]:
            assert request["chunks"]["sha256"] == jsonio.sha256_file(files / request["chunks"]["file"])
            chunks = requests.read_chunks(files / request["chunks"]["file"])
            assert b"[DONE]" in b"".join(data for _, data in chunks)
            assert chunks[0][0] > request["sent_ns"]
        facts = process["server"]
        assert facts["props"]["build_info"] == "b11434-unknown"
        assert facts["props"]["model_path"] == "models/wheel/m.gguf"
        assert facts["port_free_after"] is True
        assert facts["health"]["waited_ns"] > 0.2e9
        assert "--reasoning off" in " ".join(process["argv"])
        assert "--cache-ram 0" in " ".join(process["argv"])
    assert str(tmp_path) not in json.dumps(found)


def test_serving_without_requests(tmp_path: Path) -> None:
    """Step 1: start, health, memory, stop."""
    found, _ = measure(tmp_path, case("llama-server", arguments={"requests": []}))

    assert found["status"] == "measured"
    assert found["processes"][0]["requests"] == []
    assert found["processes"][0]["server"]["rss_bytes"] > 0


@pytest.mark.parametrize(
    ("fake", "words"),
    [
        ("port", "couldn't bind"),
        ("flag", "invalid argument: --reasoning"),
        ("load", "tensor data is not within the file bounds"),
        ("other", "another server"),
        ("never", "not ready in time"),
        ("refuse", "prompt has 909 tokens, context is 512"),
        ("die", "illegal memory access"),
        ("hang", "no bytes for 2 s"),
    ],
)
def test_failures(tmp_path: Path, fake: str, words: str) -> None:
    """One sentence with the cause, in good time; the evidence is kept; no server is left."""
    start = time.monotonic()

    found, files = measure(tmp_path, case("llama-server", fake, timeout_s=2, processes=2))

    assert found["status"] == "failed"
    assert words in found["problem"]
    assert time.monotonic() - start < 8
    assert servers() == []
    assert (files / "process-0.stderr.txt").exists()
    if fake in ("die", "hang"):
        (request,) = found["processes"][0]["requests"]
        assert request["problem"]
        assert b"data: {}" in b"".join(data for _, data in requests.read_chunks(files / request["chunks"]["file"]))


def test_another_server_on_the_port(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours cannot bind and ends; that another answers /health on that port deceives nobody."""
    other = resources(tmp_path / "other")
    port = server.free_port()
    argv = [str(other / "engines/fake/bin/llama-server"), "--port", str(port), "-m", "m", "-c", "1"]
    process = psutil.Popen(argv, stderr=-3)
    try:
        end = time.monotonic() + 10
        while server.get(port, "/health")[0] != 200 and time.monotonic() < end:
            time.sleep(0.05)
        monkeypatch.setattr(server, "free_port", lambda: port)

        found, _ = measure(tmp_path, case("llama-server", "port"))
    finally:
        process.kill()
        process.wait()

    assert found["status"] == "failed"
    assert "another server answers on this port" in found["problem"]


def test_older_build_is_asked_in_the_prompt(tmp_path: Path) -> None:
    """A build without a flag for it: only a model whose template knows thinking is told not to, in the prompt."""
    session = server.Session.__new__(server.Session)
    session.thinking = {"arguments": [], "prompt_suffix": "/no_think", "how": "x"}

    assert session.suffix("{% if enable_thinking %}") == " /no_think"
    assert session.suffix("{{ messages }}") == ""
    assert session.suffix(None) == " /no_think"


def test_free_port_is_free() -> None:
    """Two asked at the same time are not the same."""
    found: set[int] = set()
    threads = [threading.Thread(target=lambda: found.add(server.free_port())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert all(1024 < port < 65536 for port in found)
