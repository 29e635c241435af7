"""The parts of benchmarks/peers.py that judge: the server's log, the tools' own outputs, the tables."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

from peers import foreign, place, served, summary

LOG = """\
0.02.978.497 I slot launch_slot_: id  0 | task 0 | processing task, is_child = 0
0.05.498.456 I slot print_timing: id  0 | task 0 | prompt eval time =    1990.48 ms /    31 tokens (64.21 ms per token)
0.05.498.681 I slot print_timing: id  0 | task 0 |        eval time =     529.42 ms /     8 tokens (75.63 ms per token)
0.05.498.699 I slot print_timing: id  0 | task 0 |       total time =    2519.90 ms /    39 tokens
0.05.499.187 I slot      release: id  0 | task 0 | stop processing: n_tokens = 38, truncated = 0
0.06.000.000 I slot print_timing: id  0 | task 9 | prompt eval time =      10.00 ms /     3 tokens (3.33 ms per token)
"""


def test_a_request_of_the_log_is_one_that_ended():
    log = served.Log()
    for line in LOG.splitlines():
        log.line(line)
    (request,) = log.requests
    assert (request.prompt_n, request.prompt_ms) == (31, 1990.48)
    assert (request.predicted_n, request.predicted_ms) == (8, 529.42)
    assert request.tpot_ms == pytest.approx(529.42 / 7)


def test_one_token_has_no_time_per_step():
    assert served.Served(1, predicted_n=1, predicted_ms=0.01).tpot_ms is None


def test_cpu_time_of_another_session_is_read():
    code = "import time\nwhile time.process_time() < 0.05: pass\ninput()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, start_new_session=True) as process:
        end = time.monotonic() + 30
        while served.session_cpu_ns(process.pid) < 50_000_000 and time.monotonic() < end:
            time.sleep(0.01)
        assert served.session_cpu_ns(process.pid) >= 50_000_000
        process.communicate(b"\n")
    assert served.session_cpu_ns(os.getsid(0)) > 0


def test_llama_benchy_tells_a_speed():
    test = {"e2e_ttft": {"values": [60.0, 61.0]}, "tg_req_throughput": {"values": [100.0, 80.0]}, "tg_throughput": None}
    found = foreign.read_benchy(json.dumps({"benchmarks": [test]}))
    assert found == [{"ttft_ms": 60.0, "tpot_ms": 10.0}, {"ttft_ms": 61.0, "tpot_ms": 12.5}]


def test_guidellm_orders_by_start_and_names_two_times():
    keys = ("request_start_time", "time_to_first_token_ms", "inter_token_latency_ms", "time_per_output_token_ms")
    requests = [dict(zip(keys, values, strict=True)) for values in ((9.0, 61.0, 10.1, 11.0), (8.0, 60.0, 10.0, 10.9))]
    found = foreign.read_guidellm(json.dumps({"benchmarks": [{"requests": {"successful": requests}}]}))
    assert found[0] == {"ttft_ms": 60.0, "tpot_ms": 10.0, "named_tpot_ms": 10.9}


def test_aiperf_leaves_out_failed_requests():
    metrics = {"time_to_first_token": {"value": 60.0}, "inter_token_latency": {"value": 10.0}}
    good = {"metadata": {"request_start_ns": 2}, "metrics": metrics}
    bad = {"metadata": {"request_start_ns": 1}, "metrics": {}, "error": {"code": 500}}
    assert foreign.read_aiperf("\n".join(map(json.dumps, (good, bad)))) == [{"ttft_ms": 60.0, "tpot_ms": 10.0}]


def _row(ttft: float, tpot: float, cold: bool = False) -> dict:
    return {
        "cold": cold,
        "ttft_ms": ttft,
        "tpot_ms": tpot,
        "prompt_ms": 50.0,
        "server_tpot_ms": 10.0,
        "cpu_ms": 1.0,
        "wall_ms": 100.0,
    }


def _run() -> dict:
    own = [_row(90, 20, cold=True), _row(52, 10.001), _row(53, 10.002), _row(54, 9.9)]
    return {
        "requests": {"own": own, "raw": [_row(52.9, 10), {"problem": "lost", "cold": False}]},
        "asked": {"own": 4, "raw": 2},
        "not_measured": {"aiperf": "could not be installed"},
        "versions": {},
        **{"machine": "m", "build": "b1", "model": "x", "flags": "-c 1", "date": "2026-11-29"},
        **{"rounds": 1, "max_tokens": 64, "prompt_n": 54},
    }


def test_cold_requests_are_apart_and_the_worst_is_the_farthest_off():
    ours, raw = summary.tools(_run())
    assert (ours["requests"], ours["lost"], raw["lost"]) == (3, 0, 1)
    assert ours["ttft_over_ms"] == 3
    assert ours["ttft_over_first_ms"] == 40
    assert ours["tpot_error"] == pytest.approx(0.01)
    assert ours["tpot_error_worst"] == pytest.approx(-1.0)
    assert ours["core_share"] == 1.0


def test_targets_are_judged_one_by_one():
    held = {what: held for what, _, _, held in summary.verdicts(_run())}
    assert held["median TPOT error"] and held["TTFT over the raw socket's"]
    assert not held["worst single TPOT"]


def test_table_lists_what_was_not_measured():
    assert "| aiperf | not measured: could not be installed |" in summary.markdown(_run())


def test_saved_runs_are_short(tmp_path):
    place.save({"a": [1.23456789, {"b": "c"}]}, tmp_path / "x" / "run.json")
    assert json.loads((tmp_path / "x" / "run.json").read_text()) == {"a": [1.234568, {"b": "c"}]}


@pytest.mark.parametrize("name", foreign.VERSIONS)
def test_each_tool_has_its_pinned_list(name):
    lines = (Path(foreign.HERE) / f"requirements-{name}.txt").read_text().splitlines()
    assert f"{name}=={foreign.VERSIONS[name]}" in lines
    assert all("==" in line and "/" not in line for line in lines)
