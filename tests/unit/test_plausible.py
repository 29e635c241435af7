"""Cases that cannot be: refused when they are planned, in one sentence that names the case and the key."""

import copy
from pathlib import Path

import pytest

from tokentrail import config, jsonio, models, plan
from tokentrail.problems import Problem

SMOKE = config.read_campaign("smoke")


def planned(index, arguments=None, **changes):
    campaign = copy.deepcopy(SMOKE)
    case = campaign["cases"][index]
    case |= changes
    case["arguments"] |= arguments or {}
    campaign["cases"] = [case]
    jsonio.validate(campaign, "campaign", "campaign")
    return resolve(campaign)


def resolve(campaign, listed=None):
    run = {"machine": "m", "engine": "e", "campaign": "smoke"}
    threads = {"value": 2, "reason": "known"}
    return plan.resolve(
        campaign, run=run, weights="stand-in", models=listed or config.read_models(), prompts=config.read_prompts(),
        identity=models.identity, threads=threads, has_gpu=False,
    )  # fmt: skip


CEILING, SERVE, REQUEST, BENCH, BATCHED = range(5)


@pytest.mark.parametrize(
    ("index", "changes", "words"),
    [
        (BENCH, {"arguments": {"extra": ["-pg", "512"]}}, "-pg takes two whole numbers"),
        (BENCH, {"arguments": {"extra": ["-pg"]}}, "-pg takes two whole numbers"),
        (BENCH, {"arguments": {"extra": ["-pg", "32,16", "-pg", "32,16"]}}, "planned twice"),
        (BENCH, {"arguments": {"extra": ["-pg", "9000,9000"]}}, "need 18000 positions"),
        (BENCH, {"arguments": {"extra": ["-m", "other.gguf"]}}, "set model instead"),
        (BATCHED, {"arguments": {"extra": ["--n-gpu-layers=0"]}}, "set n_gpu_layers instead"),
        (SERVE, {"arguments": {"extra": ["--port", "80"]}}, "leave it out"),
        (BENCH, {"arguments": {"extra": ["-r", "3"]}}, "set repetitions instead"),
        (BATCHED, {"arguments": {"extra": ["-npl", "64"]}}, "set npl instead"),
        (BENCH, {"arguments": {"n_depth": []}}, "n_depth"),
        (BENCH, {"arguments": {"batch_size": [0]}}, "batch_size"),
        (BENCH, {"arguments": {"threads": -1}}, "threads"),
        (BENCH, {"arguments": {"n_gen": [1.0]}}, "n_gen"),
        (CEILING, {"arguments": {"repetitions": 0}}, "repetitions"),
        (SERVE, {"arguments": {"settle_s": float("inf")}}, "settle_s"),
        (SERVE, {"arguments": {"settle_s": float("nan")}}, "settle_s"),
        (REQUEST, {"arguments": {"requests": []}}, "nothing would be measured"),
        (BENCH, {"role": "batched-small"}, "none of llama-bench's"),
        (SERVE, {"role": "bench-small"}, "none of llama-server's"),
        (BENCH, {"id": "bench\n"}, "does not match"),
        (BENCH, {"id": "b" * 200}, "too long"),
        (BENCH, {"timeout_s": 10**20}, "timeout_s"),
        (BENCH, {"requires": "gpu"}, "every case needs a GPU"),
    ],
)
def test_case_that_cannot_be(index, changes, words):
    with pytest.raises(Problem, match=words):
        planned(index, **changes)


def test_slots_share_the_context():
    """Each slot of a server has its part, rounded up to 256 positions."""
    longer = [{"name": "request-short", "prompt": "question", "max_tokens": 300}]

    with pytest.raises(Problem, match="leaves 256 for each of 4 slots"):
        planned(REQUEST, {"parallel": 4, "requests": longer})
    assert planned(REQUEST, {"parallel": 4, "requests": longer, "extra": ["-kvu"]})["cases"]


def test_mixed_tests_alone_are_something():
    assert planned(BENCH, {"n_prompt": [], "n_gen": [], "extra": ["-pg", "16,16"]})["cases"]


def test_two_models_of_one_label():
    """Numbers are named by the label: the second model's rate would go with the first one's bytes."""
    listed = config.read_models()
    names = {case["model"] for case in SMOKE["cases"] if "model" in case}
    same = {name: entry | ({"label": "same"} if name in names else {}) for name, entry in listed.items()}

    with pytest.raises(Problem, match="have the same label 'same'"):
        resolve(SMOKE, same)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"a: 1\nb: {c: 1, c: 2}\n", r"line 2. is not valid YAML: key 'c' stands twice"),
        (b"a: \xff\n", "no UTF-8"),
        (b"? [a]\n: b\n", "YAML"),
        (b"[" * 5000, "YAML"),
        (None, "cannot be read"),
    ],
)
def test_config_file_that_is_none(tmp_path: Path, content, words):
    path = tmp_path / "x.yaml"
    path.mkdir() if content is None else path.write_bytes(content)

    with pytest.raises(Problem, match=words):
        config.read_yaml(path)
