"""Records: from raw to samples with both views, and everything that makes one invalid.

Covers: samples of all processes in order, cold by position, the device really used, another model, a changed or missing
raw file, failed and absent measurements, the ceiling, requests, provenance, the same bytes each time.
"""

import json

import made_run
import pytest

from tokentrail import jsonio
from tokentrail.problems import Problem
from tokentrail.records import paired, tools, views, whole_run


@pytest.fixture
def run_dir(tmp_path):
    """The made run, raw only."""
    return made_run.make(tmp_path)


def codes(record):
    return [reason["code"] for reason in record["reasons"]]


def test_samples_of_all_processes_in_order(run_dir):
    """Each repetition of each process once, in the order measured; the first of each process is cold."""
    test = made_run.record(run_dir, "bench-small")["tests"][0]

    assert [s["ns"] for s in test["samples"]] == [ns for one in made_run.PREFILL_NS["0.6b"] for ns in one]
    assert [(s["process"], s["index"]) for s in test["samples"] if s["cold"]] == [(0, 0), (1, 0)]


def test_cold_samples_are_tested_not_chosen(run_dir):
    """The test says that the cold ones mattered; the warm ones are all others, whatever their value."""
    test = made_run.record(run_dir, "bench-small")["tests"][0]

    assert test["steady"]["n"] == 6
    assert test["steady"]["processes"] == 2
    assert test["cold"]["mattered"] is True


def test_repeated_batch_size_drops_the_cold_row(run_dir):
    """The first row of each process is cold; its twin is the steady one."""
    record = made_run.record(run_dir, "batched-small")
    alone = record["batches"][0]

    assert [row["cold"] for row in record["rows"][:4]] == [True, False, False, False]
    assert alone["decode"]["as_published"]["mean"] == pytest.approx(512)
    assert alone["decode"]["steady"]["median"] == pytest.approx(640)


def test_unknown_first_sample_is_not_published():
    """What is published is the first; where that one is unknown, no other stands for it."""
    found = views.first(None, [(0, False, 5.0), (0, False, 5.1)])

    assert found["as_published"] is None
    assert found["steady"]["n"] == 2


def test_requests_keep_both_clocks(run_dir):
    """The client's time to first token and the server's time for the prompt, side by side."""
    record = made_run.record(run_dir, "request-short")
    second = record["requests"][1]

    assert (second["ttft_ms"], second["prompt_ms"], second["cold"]) == (pytest.approx(7.6), pytest.approx(3.6), False)
    assert record["request_views"]["request-short"]["ttft_ms"]["steady"]["n"] == 2


@pytest.mark.parametrize(
    ("gaps", "decides", "quantity", "value", "why"),
    [
        ([1.0] * 99 + [9.0], "client", "itl_p50_ms", 1.0, None),
        ([1.0] * 99, "client", "itl_p99_ms", None, "p99 needs 100 samples, 99 are there"),
        ([1.0] * 19, "client", "itl_p95_ms", None, "p95 needs 20 samples, 19 are there"),
        ([1.0] * 200, "server", "itl_p50_ms", None, "chunks of this answer are not tokens"),
        (None, "client", "itl_p50_ms", None, "needs 1 samples, 0"),
    ],
)
def test_percentiles_of_gaps_only_where_there_are_enough(gaps, decides, quantity, value, why):
    """A percentile that the gaps cannot hold is none, with the reason; so are gaps between what is no token."""
    request = {"itl_ms": gaps, "decided_by": decides}
    found, reason = paired.percentile(request, quantity)

    assert found == value == paired.value(request, quantity)
    assert (why in reason) if why else reason is None


def test_a_percentile_that_is_none_says_why(run_dir):
    """The record keeps the reason, and the number is not measured for it."""
    record = made_run.record(run_dir, "request-short")
    found = record["request_views"]["request-short"]["itl_p99_ms"]

    assert found["as_published"] is None
    assert "p99 needs 100 samples" in found["reason"]


def test_gaps_are_taken_request_by_request(run_dir):
    """A prompt that took three times as long moves both times; their gap stays the 4 ms it is."""
    record = made_run.record(run_dir, "request-short")
    gap = record["request_views"]["request-short"]["ttft_gap_ms"]

    assert gap["as_published"]["mean"] == pytest.approx(4.0)
    assert gap["steady"]["interval"]["low"] == pytest.approx(4.0)


def test_gaps_of_both_signs_have_an_interval():
    """Logarithms do not exist there: Student's t on plain values, around the median."""
    found = views.of([(0, True, 9.0), (0, False, -1.0), (0, False, 0.0), (0, False, 1.0)])["steady"]

    assert found["interval"]["low"] == pytest.approx(-4.303 / 3**0.5, rel=1e-3)
    assert found["interval"]["high"] == pytest.approx(4.303 / 3**0.5, rel=1e-3)


def test_ceiling_is_a_distribution(run_dir):
    """All readings with their spread, the first of each process cold; never the best one."""
    record = made_run.record(run_dir, "read-ceiling")

    assert len(record["ceiling"]) == 6
    assert record["ceiling_views"]["steady"]["n"] == 4


def test_device_that_was_used_decides(tmp_path):
    """A CUDA build that saw no GPU ran on the CPU: not what was planned."""
    record = made_run.record(made_run.make(tmp_path, row={"gpu_info": ""}), "bench-small")

    assert record["device"] == "cpu"
    assert "device-not-as-planned" in codes(record)


def test_no_layers_offloaded_is_not_a_cpu_run(tmp_path):
    """-ngl 0 alone still sends prompt batches to the GPU: hybrid."""
    record = made_run.record(made_run.make(tmp_path, row={"n_gpu_layers": 0}), "bench-small")

    assert record["device"] == "hybrid"
    assert record["valid"] is False


def test_some_layers_offloaded_is_not_a_gpu_run(tmp_path):
    """The model's own count of layers tells that the rest was computed on the CPU."""
    record = made_run.record(made_run.make(tmp_path, row={"n_gpu_layers": 10}), "bench-small")

    assert record["device"] == "hybrid"
    assert "device-not-as-planned" in codes(record)


@pytest.mark.parametrize(
    ("flags", "device"),
    [
        (["-ngl", "28"], "hybrid"),
        (["-ngl", "0", "--no-op-offload"], "cpu"),
        (["-ngl", "0"], "hybrid"),
        (["-dev", "none"], "cpu"),
        (["-ngl", "99"], "gpu"),
        ([], "gpu"),
    ],
)
def test_device_of_a_tool_that_names_none(flags, device):
    """batched-bench and the server say nothing of it: the command line does, and what the job added is only there."""
    measurement = {
        "model": {"layers": 28},
        "engine": {"backend": "cuda"},
        "machine": {"gpus": [{"name": "Card"}]},
        "processes": [{"argv": ["llama-batched-bench", "-m", "x.gguf", *flags]}],
    }

    assert tools._flagged_device(measurement) == device


def test_another_model_is_noticed(tmp_path):
    """The tool's own size is not the planned file's: another file was measured."""
    record = made_run.record(made_run.make(tmp_path, row={"model_size": 798801920}), "bench-small")

    assert codes(record) == ["model-not-as-planned"]


def test_changed_raw_file_is_named(run_dir):
    """A byte changed in a tool's output: refused, with the file's name."""
    path = run_dir / "raw" / "bench-small" / "0123abcd" / "process-0.stdout.txt"
    path.write_text(path.read_text().replace("10000000", "10000001"))

    with pytest.raises(Problem, match=r"process-0\.stdout\.txt was changed"):
        made_run.record(run_dir, "bench-small")


def test_missing_raw_file_is_named(run_dir):
    """A request's bytes deleted: refused, with the file's name."""
    (run_dir / "raw" / "request-short" / "0123abcd" / "request-1.jsonl").unlink()

    with pytest.raises(Problem, match=r"request-1\.jsonl is missing"):
        made_run.record(run_dir, "request-short")


def test_failed_measurement_is_an_invalid_record(run_dir):
    """The problem is the reason; there are no samples."""
    path = run_dir / "raw" / "bench-big" / "0123abcd" / "measurement.json"
    jsonio.write_json(path, {**json.loads(path.read_text()), "status": "failed", "problem": "out of memory"})
    record = made_run.record(run_dir, "bench-big")

    assert codes(record) == ["measuring-failed"]
    assert "out of memory" in record["reasons"][0]["message"]


def test_absent_measurement_is_an_invalid_record(run_dir):
    """A planned case that was not measured has a record that says so."""
    (run_dir / "raw" / "bench-big" / "0123abcd" / "measurement.json").unlink()
    made = whole_run.build(run_dir, jsonio.read_json(run_dir / "plan.json"))

    assert codes(made["bench-big"]) == ["not-measured"]
    assert made["bench-small"]["valid"] is True


def test_run_without_any_measurement_is_refused(tmp_path):
    """Nothing to interpret: one sentence that says what to do."""
    run_dir = made_run.make(tmp_path)
    for path in run_dir.rglob("measurement.json"):
        path.unlink()

    with pytest.raises(Problem, match="measure first"):
        whole_run.write(run_dir)


def test_record_of_a_dropped_case_goes(run_dir):
    """records/ holds the planned cases only; the raw of others stays."""
    stray = run_dir / "records" / "old.json"
    stray.parent.mkdir()
    stray.write_text("{}\n")
    whole_run.write(run_dir)

    assert not stray.exists()
    assert (run_dir / "raw" / "bench-big").is_dir()


def test_same_raw_gives_the_same_bytes(run_dir):
    """Made twice, a record is the same to the byte."""
    first, second = (jsonio.dumps(made_run.record(run_dir, "bench-small")) for _ in range(2))

    assert first == second
