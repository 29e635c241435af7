"""Facts from tensor tables: tied or not, experts, keys and values, sizes; and files that are no models."""

from __future__ import annotations

import pytest
from gguf.constants import GGMLQuantizationType as Format
from model_files import gguf_bytes, write_gguf

from tokentrail import config, jsonio
from tokentrail.models import gguf_facts, qwen3
from tokentrail.models.gguf_file import Tensor, read_header
from tokentrail.problems import Problem

QWEN = {
    "general.architecture": "qwen3",
    "qwen3.block_count": 28,
    "qwen3.context_length": 40960,
    "qwen3.embedding_length": 1024,
    "qwen3.attention.head_count": 16,
    "qwen3.attention.head_count_kv": 8,
    "qwen3.attention.key_length": 128,
    "qwen3.attention.value_length": 128,
}
MODELS = config.read_models()


def table(model: str) -> tuple[Tensor, ...]:
    return tuple(qwen3.tensors(MODELS[model]["stand_in"]))


@pytest.mark.parametrize(
    ("model", "count", "tensor_bytes", "parameters", "streamed"),
    [
        ("qwen3-0.6b-q8_0", 310, 633_495_552, 596_049_920, 633_495_552),
        ("qwen3-1.7b-q8_0", 310, 1_828_474_880, 1_720_574_976, 1_828_474_880),
        # 5,021,827,072 less the embedding table, 350,060,544
        ("qwen3-8b-q4_k_m", 399, 5_021_827_072, 8_190_735_360, 4_671_766_528),
    ],
)
def test_the_lessons_models(model, count, tensor_bytes, parameters, streamed):
    """Tensor tables of the published files have the sizes that llama-bench prints for them."""
    tensors = table(model)

    assert len(tensors) == count
    assert sum(t.bytes for t in tensors) == tensor_bytes
    assert sum(t.elements for t in tensors) == parameters
    assert gguf_facts.streamed_bytes_per_token(tensors, QWEN) == streamed


def test_a_tied_embedding_written_out_again_streams_the_same():
    """With output.weight stored as well the file is larger, but a token still reads one of the two tables."""
    tied = table("qwen3-0.6b-q8_0")
    written_out = (*tied, Tensor("output.weight", (1024, 151_936), Format.Q8_0))

    assert sum(t.elements for t in written_out) == 751_632_384
    assert sum(t.bytes for t in written_out) == 798_801_920
    assert gguf_facts.streamed_bytes_per_token(written_out, QWEN) == 633_495_552


def test_formats_of_the_8b_mixture():
    """Q4_K_M: 37 tensors in Q6_K (output, and values and down-projections of 18 layers), 217 in Q4_K, 145 norms."""
    found = gguf_facts.formats(table("qwen3-8b-q4_k_m"))

    assert {name: row["tensors"] for name, row in found.items()} == {"Q6_K": 37, "F32": 145, "Q4_K": 217}
    assert found["F32"]["bytes"] == 1_232_896


def test_experts_count_by_the_share_used():
    """2 of 8 experts: a quarter of the expert tensors is read, everything else whole."""
    metadata = {"general.architecture": "qwen3moe", "qwen3moe.expert_count": 8, "qwen3moe.expert_used_count": 2}
    tensors = (
        Tensor("blk.0.ffn_gate_inp.weight", (64, 8), Format.F32),
        Tensor("blk.0.ffn_up_exps.weight", (64, 32, 8), Format.F32),
        Tensor("output.weight", (64, 10), Format.F32),
        Tensor("token_embd.weight", (64, 10), Format.F32),
    )

    streamed = gguf_facts.streamed_bytes_per_token(tensors, metadata)

    assert streamed == 4 * (64 * 8 + 64 * 32 * 8 // 4 + 64 * 10)


def test_keys_and_values():
    """28 layers x 8 heads x (128 + 128) x 2 bytes; a model without KV groups uses all heads, of width / heads."""
    grouped = gguf_facts.kv_bytes_per_position(QWEN)
    plain = gguf_facts.kv_bytes_per_position(
        {"general.architecture": "llama", "llama.block_count": 2, "llama.attention.head_count": 4,
         "llama.embedding_length": 256}
    )  # fmt: skip

    assert grouped == (114_688, {})
    assert plain == (2 * 4 * (64 + 64) * 2, {})


def test_caches_of_another_kind_have_no_such_number():
    """A latent cache is not described by that formula: null, with the reason."""
    value, missing = gguf_facts.kv_bytes_per_position({**QWEN, "qwen3.attention.kv_lora_rank": 512})

    assert value is None
    assert "latent" in missing["kv_bytes_per_position"]


def test_facts_are_as_their_schema_says(tmp_path):
    """Read from a file: identity as given, sizes from the table, and the schema holds."""
    tensors = [Tensor("token_embd.weight", (64, 256), Format.Q8_0), Tensor("output_norm.weight", (64,), Format.F32)]
    path = write_gguf(tmp_path / "m.gguf", QWEN, tensors)

    facts = gguf_facts.read(path, model="m", label="m", name="M", weights="hub", source={}, sha256=None)

    jsonio.validate(facts, "model-facts", "facts")
    assert facts["tensor_bytes"] == 64 * 256 // 32 * 34 + 64 * 4
    assert facts["file_bytes"] == path.stat().st_size
    assert facts["bits_per_weight"] == pytest.approx(8 * facts["tensor_bytes"] / (64 * 256 + 64))
    assert facts["tied_embedding"] is True


WHOLE = gguf_bytes(QWEN, [Tensor("token_embd.weight", (64, 256), Format.F32)])


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "empty file"),
        (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 639446688\n",
            "git-lfs pointer, not the model",
        ),
        (b"\n<!doctype html><html>", "HTML page, not a model"),
        (b"PK\x03\x04", "not a GGUF file"),
        (WHOLE[:-100], f"truncated: {len(WHOLE) - 100} of {len(WHOLE)} bytes"),
        (WHOLE[:200], "truncated: the file ends at 200 bytes"),
        (b"GGUF" + b"\x63" + WHOLE[5:], "GGUF version 99"),
        (gguf_bytes(QWEN, []), "without tensors"),
        (gguf_bytes({"split.count": 3}, [Tensor("a", (32,), Format.F32)]), "one of 3 parts"),
    ],
    ids=["empty", "lfs", "html", "other", "cut-data", "cut-header", "version", "vocabulary", "part"],
)
def test_what_is_no_whole_model(tmp_path, content, sentence):
    """Each is called by its name, in one sentence."""
    path = tmp_path / "m.gguf"
    path.write_bytes(content)

    with pytest.raises(Problem, match=sentence):
        gguf_facts.read(path, model="m", label="m", name="M", weights="hub", source={}, sha256=None)


def test_what_is_written_is_read_back(tmp_path):
    """Header encoding and reading are inverse; offsets are multiples of 32."""
    tensors = [Tensor("a", (5,), Format.F32), Tensor("b", (32, 2), Format.Q8_0)]
    metadata = {"general.architecture": "x", "n": 7, "f": 0.5, "yes": True}

    header = read_header(write_gguf(tmp_path / "m.gguf", metadata, tensors))

    assert header.metadata == metadata
    assert [(t.name, t.shape, t.format, t.offset) for t in header.tensors] == [
        ("a", (5,), Format.F32, 0),
        ("b", (32, 2), Format.Q8_0, 32),
    ]
