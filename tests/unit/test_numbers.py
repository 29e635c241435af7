"""Numbers of a made run: each subject's formulas against arithmetic done here, both views, and what is missing.

Covers: rates cold and warm, ratios, GPU against CPU, bandwidth and its shares, batching, requests, cost, energy,
compute, reconciliation, invalid records, missing evidence, determinism.
"""

import json
from pathlib import Path

import made_run
import pytest

from tokentrail import jsonio, numbers
from tokentrail.records import whole_run

SWEEP = Path(__file__).resolve().parents[2] / "results/h200/b11434-cuda-b8ae382b/sweep-stand-in"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """(run folder, numbers by id) of the made run."""
    return made_run.derived(tmp_path_factory.mktemp("run"))


def value(made, identifier):
    return made[1][identifier]["value"]


def test_both_views_of_a_rate(made):
    """As published: mean over the first process, cold one included; steady: median of the warm ones of all."""
    first = made_run.PREFILL_NS["0.6b"][0]
    warm = sorted(256e9 / ns for process in made_run.PREFILL_NS["0.6b"] for ns in process[1:])

    assert value(made, "prefill-rate-0.6b-gpu") == pytest.approx(sum(256e9 / ns for ns in first) / 4)
    assert value(made, "prefill-rate-0.6b-gpu-steady") == pytest.approx((warm[2] + warm[3]) / 2)
    assert made[1]["prefill-rate-0.6b-gpu-steady"]["interval"]["level"] == 0.95


def test_ratios_divide_the_same_view(made):
    """A steady ratio is made of steady rates only."""
    steady = made[1]["prefill-decode-ratio-0.6b-gpu-steady"]

    assert [i["id"] for i in steady["inputs"]] == ["prefill-rate-0.6b-gpu-steady", "decode-rate-0.6b-gpu-steady"]
    assert value(made, "prefill-decode-ratio-0.6b-gpu-steady") == pytest.approx(
        value(made, "prefill-rate-0.6b-gpu-steady") / value(made, "decode-rate-0.6b-gpu-steady")
    )


def test_gpu_against_cpu(made):
    """Prefill over prefill, decode over decode, and the ratio of the two."""
    prefill, decode = value(made, "prefill-gpu-over-cpu-steady"), value(made, "decode-gpu-over-cpu-steady")

    assert prefill == pytest.approx(
        value(made, "prefill-rate-0.6b-gpu-steady") / value(made, "prefill-rate-0.6b-cpu-steady")
    )
    assert value(made, "hurt-ratio-steady") == pytest.approx(prefill / decode)


def test_bandwidth_counts_weights_then_everything(made):
    """The lesson's figure streams weights; the complete one adds keys and values at the mean depth, 64 tokens."""
    rate = value(made, "decode-rate-8b-gpu-steady")

    assert value(made, "decode-bandwidth-8b-gpu-steady") == pytest.approx(rate * 4.671766528)
    assert value(made, "decode-bandwidth-8b-gpu-complete-steady") == pytest.approx(
        rate * (4671766528 + 64 * 147456) / 1e9
    )
    assert value(made, "decode-bandwidth-share-8b-gpu-steady") == pytest.approx(rate * 4.671766528 / 1008)


def test_share_of_the_measured_ceiling(made):
    """Warm readings of the ceiling only: 2^30 bytes in 1.15 and 1.16 ms."""
    ceiling = value(made, "read-ceiling-steady")

    assert ceiling == pytest.approx((2**30 / 1.15e6 + 2**30 / 1.16e6) / 2)
    assert value(made, "decode-bandwidth-share-8b-gpu-of-ceiling-steady") == pytest.approx(
        value(made, "decode-bandwidth-8b-gpu-complete-steady") / ceiling
    )


def test_a_cpu_is_not_held_against_the_gpus_ceiling(made):
    """The ceiling was read on the GPU: the CPU's share of it is not measured."""
    document = jsonio.read_json(made[0] / "numbers.json")
    absent = {entry["id"]: entry["reason"] for entry in document["not_measured"]}

    assert "read-ceiling-cpu" in absent["decode-bandwidth-share-0.6b-cpu-of-ceiling"]


def test_each_device_has_its_own_ceiling(tmp_path):
    """With the CPU's memory read too, the step without the GPU is held against that."""
    both = made_run.derived(tmp_path, more=lambda run_dir: [made_run.ceiling(run_dir, "cpu", slower=20)])
    own = value(both, "read-ceiling-cpu-steady")

    assert own == pytest.approx(value(both, "read-ceiling-steady") / 20)
    assert value(both, "decode-bandwidth-share-0.6b-cpu-of-ceiling-steady") == pytest.approx(
        value(both, "decode-bandwidth-0.6b-cpu-complete-steady") / own
    )


def test_batching_leaves_the_cold_row_out(made):
    """One user's steady rate comes from the repeated row: 128 tokens in 0.2 s, not in 0.25 s."""
    assert value(made, "batched-rate-1") == pytest.approx(128 / 0.25)
    assert value(made, "batched-rate-1-steady") == pytest.approx(128 / 0.2)
    assert value(made, "batching-gain-8-steady") == pytest.approx((8 * 128 / 0.3) / (128 / 0.2))
    assert value(made, "slowdown-per-user-8-steady") == pytest.approx((128 / 0.2) / (128 / 0.3))


def test_batch_bandwidth_reads_every_sequence(made):
    """Weights once, keys and values of eight sequences at depth 256 + 64."""
    assert value(made, "batch-bytes-per-step-8") == pytest.approx((633495552 + 8 * 114688 * 320) / 1e9)


def test_requests_first_and_warm(made):
    """As published is the first request, whose prompt took three times as long."""
    assert value(made, "ttft-short") == pytest.approx((3 * 3.6 + 4) / 1000)
    assert value(made, "ttft-short-steady") == pytest.approx((3.6 + 4) / 1000)
    assert value(made, "prompt-tokens-short") == 36
    assert made[1]["prompt-tokens-short"]["exact"] is True


def test_per_token_and_per_step_differ(made):
    """The lesson divides by all tokens; a time per step divides by one less."""
    assert value(made, "decode-per-token-short-steady") == pytest.approx(16 / 9)
    assert value(made, "server-tpot-short-steady") == pytest.approx(2.0)
    assert value(made, "tpot-short-steady") == pytest.approx(2.0)
    assert value(made, "tpot-gap-short-steady") == pytest.approx(0.0, abs=1e-9)


def test_cost_follows_from_the_price(made):
    """0.89 USD an hour over the tokens of an hour; the hour's source is in the trail."""
    found = made[1]["usd-per-million-tokens-8-steady"]

    assert found["value"] == pytest.approx(0.89 / 3600 / (8 * 128 / 0.3) * 1e6)
    assert [c["name"] for c in found["constants"]] == ["price"]
    assert found["constants"][0]["source"]


def test_energy_is_of_the_whole_case(made):
    """Two processes of 5 J each over all tokens they processed."""
    tokens = 2 * sum(pl * 384 for pl, _, _ in made_run.BATCHES)

    assert value(made, "energy-per-token-batched-small-gpu") == pytest.approx(10 / tokens)


def test_compute_counts_two_operations_a_weight(made):
    """A multiplication and an addition per parameter and token."""
    assert value(made, "prefill-flops-8b-steady") == pytest.approx(
        value(made, "prefill-rate-8b-gpu-steady") * 2 * 8190735360 / 1e12
    )


def test_reconciliation_moves_to_one_depth(made):
    """llama-bench's step at depth 64 is moved to the short request's 40.5: fewer keys and values to read."""
    rate = value(made, "decode-rate-0.6b-gpu-steady")
    bandwidth = value(made, "decode-bandwidth-0.6b-gpu-complete-steady") * 1e9

    assert value(made, "reconcile-bench-steady") == pytest.approx(1000 / rate + 1000 * 114688 * (40.5 - 64) / bandwidth)
    assert value(made, "reconcile-gap-server-steady") == pytest.approx(2.0 - value(made, "reconcile-bench-steady"))


def test_depths_are_told_apart_by_their_ids(tmp_path):
    """A sweep's tests carry the depth; the data sheet's limit falls with it."""
    _, found = made_run.derived(tmp_path, more=made_run.sweep)
    rates = [found[f"decode-rate-0.6b-gpu-d{depth}-steady"]["value"] for depth in (0, 4096, 16384)]

    assert rates == sorted(rates, reverse=True)
    assert found["step-bytes-0.6b-gpu-d4096"]["value"] == 633495552 + 114688 * (4096 + 16)
    assert found["decode-rate-limit-0.6b-gpu-d4096"]["value"] < found["decode-rate-limit-0.6b-gpu-d0"]["value"]


def test_fixed_cost_and_bandwidth_come_from_the_line(tmp_path):
    """Points on time = 1 ms + bytes / 500 GB/s, beside two that the lesson's own cases give: all are inputs."""
    _, found = made_run.derived(tmp_path, more=made_run.sweep)
    fit = found["effective-bandwidth-gpu-steady"]

    assert sum(i["name"] == "tokens_per_s" for i in fit["inputs"]) == 5
    assert found["decode-rate-predicted-0.6b-gpu-d4096-steady"]["value"] > 0


def test_two_cases_of_one_kind_keep_both_numbers(tmp_path):
    """A second sweep without a tag of its own: its numbers carry the case's name, none is lost."""
    more = lambda run_dir: made_run.sweep(run_dir) + made_run.sweep(run_dir, "again")  # noqa: E731
    _, found = made_run.derived(tmp_path, more=more)

    assert "decode-rate-0.6b-gpu-d4096-steady" in found
    assert "decode-rate-0.6b-gpu-d4096-again-steady" in found


def test_every_number_can_be_computed_from_its_inputs(made):
    """The stored formula over the stored inputs gives the stored value: nothing is hidden."""
    from tokentrail.numbers import formula

    for found in made[1].values():
        pairs = [(i["name"], formula.exact(i["value"])) for i in found["inputs"] + found["constants"]]

        assert formula.evaluate(found["formula"]["code"], pairs).value == pytest.approx(found["value"]), found["id"]


def test_missing_evidence_is_named(made):
    """What no case measured is listed with its reason, not left out."""
    document = jsonio.read_json(made[0] / "numbers.json", "numbers")
    absent = {entry["id"]: entry["reason"] for entry in document["not_measured"]}

    assert absent["gpu-memory-used"] == "not in this test"
    assert "ttft-long-warm-128" in absent


def test_deriving_twice_gives_the_same_bytes(made):
    """No time, no order of a set, no random number without a seed."""
    assert jsonio.dumps(numbers.derive(made[0])) == (made[0] / "numbers.json").read_text()


def test_a_rate_beyond_the_memory_is_invalid(tmp_path):
    """20 times the decode rate would need 8 TB/s: the record says so, and every number on it is marked."""
    fast = [[ns // 20 for ns in process] for process in made_run.DECODE_NS["0.6b"]]

    _, found = made_run.derived(tmp_path, decode_ns=fast)

    assert found["decode-bandwidth-0.6b-gpu-steady"]["valid"] is False
    assert "above-memory-bandwidth" in found["decode-bandwidth-0.6b-gpu-steady"]["reasons"][0]["message"]
    assert found["weights-0.6b"]["valid"] is True
    assert found["decode-bandwidth-8b-gpu-steady"]["valid"] is True


def test_a_failed_case_leaves_the_others(tmp_path):
    """Its numbers are not measured, with the fault as the reason; the rest stands."""
    run_dir = made_run.make(tmp_path)
    path = run_dir / "raw" / "bench-big" / "0123abcd" / "measurement.json"
    measurement = json.loads(path.read_text())
    jsonio.write_json(path, {**measurement, "status": "failed", "processes": [], "problem": "out of memory"})
    whole_run.write(run_dir)

    document = numbers.derive(run_dir)
    absent = {entry["id"]: entry["reason"] for entry in document["not_measured"]}
    ids = {n["id"] for n in document["numbers"]}

    assert "decode-rate-8b-gpu" in absent
    assert "decode-rate-0.6b-gpu-steady" in ids
    assert next(c for c in document["cases"] if c["case"] == "bench-big")["valid"] is False


def test_labels_tell_numbers_apart() -> None:
    """No two rates of a run are called alike: a label names the model, the device and whatever was varied."""
    document = json.loads((SWEEP / "numbers.json").read_text())
    rates = [(n["label"], n["view"]) for n in document["numbers"] if n["unit"] == "tokens/s"]

    assert len(rates) == len(set(rates))
    assert ("Decode rate, 8B on GPU, depth 4096", "steady") in rates
