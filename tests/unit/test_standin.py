"""Stand-ins: sane values in every format, the same bytes each time, the published tokenizer and header size."""

from __future__ import annotations

import hashlib
import json
import math
import os
from pathlib import Path

import numpy as np
import pytest
from gguf import dequantize
from gguf.constants import GGMLQuantizationType as Format

from tokentrail import config
from tokentrail.models import qwen3, standin
from tokentrail.models.gguf_file import Tensor, encode_header
from tokentrail.problems import Problem

MODELS = config.read_models()


@pytest.mark.parametrize("kind", [Format.Q8_0, Format.Q4_K, Format.Q6_K])
def test_values_keep_their_inputs_magnitude(kind):
    """Standard deviation 1/sqrt(inputs), mean near zero, nothing infinite."""
    tensor = Tensor("blk.0.ffn_up.weight", (4096, 64), kind)

    raw = b"".join(standin._matrix(tensor, standin._pool(kind, seed=1), 1 / math.sqrt(4096), None))
    values = dequantize(np.frombuffer(raw, np.uint8), kind)

    assert len(raw) == tensor.bytes
    assert np.isfinite(values).all()
    assert values.std() == pytest.approx(1 / 64, rel=0.02)
    assert abs(values.mean()) < 0.02 / 64


def test_no_two_rows_are_the_same():
    """The pool is tiled, but with a prime length above the number of rows."""
    tensor = Tensor("token_embd.weight", (32, 151_936), Format.Q8_0)

    raw = b"".join(standin._matrix(tensor, standin._pool(Format.Q8_0, seed=1), 0.05, None))
    rows = np.frombuffer(raw, np.uint8).reshape(151_936, 34)

    assert len(np.unique(rows, axis=0)) == 151_936


def test_rows_may_be_damped():
    """A factor for a row scales that row only."""
    tensor = Tensor("output.weight", (64, 2), Format.Q8_0)
    pool = standin._pool(Format.Q8_0, seed=1)

    whole = dequantize(np.frombuffer(b"".join(standin._matrix(tensor, pool, 1.0, None)), np.uint8), Format.Q8_0)
    damped = b"".join(standin._matrix(tensor, pool, 1.0, np.array([1.0, 0.125])))
    damped = dequantize(np.frombuffer(damped, np.uint8), Format.Q8_0)

    assert (damped[:64] == whole[:64]).all()
    assert damped[64:] == pytest.approx(whole[64:] / 8, rel=0.01)


@pytest.mark.parametrize(
    ("kind", "digest"),
    [
        (Format.Q8_0, "6c3c9b8b3b6a4d65"),
        (Format.Q4_K, "fb97afcc07b7b493"),
        (Format.Q6_K, "bef5dd57c580f637"),
    ],
)
def test_pools_are_the_same_bytes_everywhere(kind, digest):
    """Written down once: another NumPy, another machine must draw the same."""
    assert hashlib.sha256(standin._pool(kind, seed=20260).tobytes()).hexdigest()[:16] == digest


def test_layers_with_more_bits():
    """36 layers: the first and last eighth and every third between, 18 in all."""
    more = [layer for layer in range(36) if qwen3.use_more_bits(layer, 36)]

    assert more == [0, 1, 2, 3, 6, 9, 12, 15, 18, 21, 24, 27, 30, 31, 32, 33, 34, 35]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"architecture": "llama"}, "'llama' is not made here"),
        ({"feed_forward_length": 3000}, "not a multiple of 256"),
        ({"layers": 27}, "models.yaml says expect_tensor_bytes"),
    ],
)
def test_impossible_shapes(tmp_path, change, sentence):
    """Refused before a byte is written."""
    shape = {**MODELS["qwen3-0.6b-q8_0"]["stand_in"], **change}

    with pytest.raises(Problem, match=sentence):
        standin.write(shape, tmp_path, tmp_path / "m.gguf", lambda _: None)

    assert not (tmp_path / "m.gguf").exists()


def test_a_missing_or_other_tokenizer(tmp_path):
    """Named, with the script that brings it."""
    shape = MODELS["qwen3-0.6b-q8_0"]["stand_in"]
    with pytest.raises(Problem, match=r"get_tokenizer\.py"):
        qwen3.metadata(shape, tmp_path)
    (tmp_path / qwen3.VOCABULARY).write_bytes(b"GGUF")
    with pytest.raises(Problem, match="not the vocabulary known here"):
        qwen3.metadata(shape, tmp_path)


def tokenizer_dir() -> Path:
    """The files of scripts/get_tokenizer.py, where a run has made them."""
    resources = os.environ.get("TOKENTRAIL_RESOURCES") or Path(__file__).parents[2] / "resources"
    folder = Path(resources) / "tokenizer"
    if not (folder / qwen3.VOCABULARY).exists():
        pytest.skip("no resources/tokenizer yet (make it: snakemake, or scripts/get_tokenizer.py)")
    return folder


def test_token_types():
    """Names between bars are control tokens, <think> and the like text, padding unused: as in the published file."""
    types = [qwen3.token_type(i) for i in range(151_936)]

    assert _digest(types) == "536de815c96740a876dbaaa0b181fc54b71e958de2063d4d1a7f425f8692cc16"


def test_tokens_are_the_published_ones():
    """Tokens and template hash to those of Qwen3-0.6B-Q8_0.gguf, and its header has the same length."""
    shape = MODELS["qwen3-0.6b-q8_0"]["stand_in"]

    pairs, tokens = qwen3.metadata(shape, tokenizer_dir())
    header = encode_header(pairs, qwen3.tensors(shape))

    assert _digest([t.decode() for t in tokens]) == "40d4ea40d5a19d60f50b7acfd7c66026cfca9c0186b7b52a69e757fca65af538"
    assert len(header) == 5_951_136
    assert len(header) + shape["expect_tensor_bytes"] == MODELS["qwen3-0.6b-q8_0"]["hub"]["bytes"]


@pytest.mark.parametrize("model", ["qwen3-0.6b-q8_0", "qwen3-1.7b-q8_0", "qwen3-8b-q4_k_m"])
def test_a_stand_in_has_the_real_files_size(model):
    """Header and tensors add up to the published file's size, to the byte."""
    shape = MODELS[model]["stand_in"]
    pairs, _ = qwen3.metadata(shape, tokenizer_dir())

    size = len(encode_header(pairs, qwen3.tensors(shape))) + shape["expect_tensor_bytes"]

    assert size == MODELS[model]["hub"]["bytes"]


def test_the_same_file_each_time(tmp_path):
    """A small shape, written twice: the same bytes, and those written down here."""
    shape = {
        **MODELS["qwen3-8b-q4_k_m"]["stand_in"],
        **{"layers": 8, "embedding_length": 256, "feed_forward_length": 256, "heads": 2, "kv_heads": 2},
    }
    small = {key: value for key, value in shape.items() if not key.startswith("expect_")}

    digests = [standin.write(small, tokenizer_dir(), tmp_path / name, lambda _: None) for name in ("a", "b")]

    assert digests == ["1c4832bff0bb07af86de58af7a1d644057c5a99fbc6f061a4eedd8ecb0abb723"] * 2
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def _digest(values: list) -> str:
    """SHA-256 of the list as compact JSON."""
    return hashlib.sha256(json.dumps(values, separators=(",", ":"), ensure_ascii=False).encode()).hexdigest()
