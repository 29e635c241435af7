"""Other bytes that are no model, and models whose keys are not as meant."""

import struct

import pytest
from gguf.constants import GGMLQuantizationType as Format
from model_files import gguf_bytes, write_gguf

from tokentrail import jsonio
from tokentrail.models import gguf_facts
from tokentrail.models.gguf_file import Tensor, encode_text
from tokentrail.problems import Problem


def _table(*tensors: tuple[str, tuple[int, ...], int, int], pairs: bytes = b"", keys: int = 0) -> bytes:
    """A header with these (name, shape, format, offset) exactly as given, and room for some data."""
    rows = [
        encode_text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, offset)
        for name, shape, kind, offset in tensors
    ]
    return b"GGUF" + struct.pack("<IQQ", 3, len(tensors), keys) + pairs + b"".join(rows) + bytes(4096)


LONG_ARRAY = encode_text("k") + struct.pack("<IIQ", 9, 4, 2**61)
DEEP_ARRAY = encode_text("k") + struct.pack("<I", 9) + struct.pack("<IQ", 9, 1) * 3000
ONE = Tensor("token_embd.weight", (32,), Format.F32)
ATTENTION = {"general.architecture": "x", "x.block_count": 2, "x.attention.head_count": 4, "x.embedding_length": 64}


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"GGUF" + struct.pack("<III", 1, 2, 0) + bytes(99), "version 1 is no longer read.*convert"),
        (b"GGUF" + struct.pack(">IQQ", 3, 2, 4) + bytes(99), "big-endian"),
        (b"lmgg" + bytes(99), "not a GGUF file"),
        (b'{"error":"Entry not found"}', "begins with b'{\"error\""),
        (b"\xef\xbb\xbf<!DOCTYPE html>", "HTML page"),
        (_table(("a", (32,), 999, 0)), "newer GGUF kind"),
        (_table(("a", (33,), 8, 0)), "no whole blocks of 32"),
        (_table(("a", (32,), 0, 0), ("a", (32,), 0, 128)), "'a' is there twice"),
        (_table(("a", (32,), 0, 0), ("b", (32,), 0, 0)), "'b' lies over another"),
        (_table(("a", (2**40, 2**40), 0, 0)), "truncated"),
        (_table(("a", (0, 5), 0, 0)), "without tensors"),
        (_table(pairs=LONG_ARRAY, keys=1), "truncated"),
        (_table(pairs=DEEP_ARRAY, keys=1), "damaged"),
        (gguf_bytes({"general.alignment": 0}, [ONE]), "general.alignment is 0"),
        (gguf_bytes({"general.alignment": "32"}, [ONE]), "general.alignment is '32'"),
        (gguf_bytes({"split.count": "2"}, [ONE]), "one of 2 parts"),
        (gguf_bytes({"general.type": "adapter"}, [ONE]), r"an adapter \(LoRA\), not a language model"),
        (gguf_bytes({"general.architecture": "clip"}, [ONE]), "a vision projector"),
    ],
    ids=["v1", "big-endian", "old format", "answer", "page with mark", "format", "blocks", "twice", "overlap",
         "dimensions", "no weights", "array", "nesting", "alignment 0", "alignment", "part", "adapter", "projector"],
)  # fmt: skip
def test_other_files_that_are_no_model(tmp_path, content, sentence):
    """Whatever the bytes, one sentence that names the file, never a traceback."""
    path = tmp_path / "m.gguf"
    path.write_bytes(content)

    with pytest.raises(Problem, match=sentence) as refused:
        gguf_facts.read(path, model="m", label="m", name="M", weights="hub", source={}, sha256=None)
    assert str(refused.value).startswith("m.gguf: ")


@pytest.mark.parametrize(
    "keys",
    [
        {"general.architecture": 5},
        {"general.architecture": "x", "x.block_count": "2", "x.attention.head_count": 4},
        {"general.architecture": "x", "x.block_count": 2, "x.attention.head_count": 0},
        {"general.architecture": "x", "x.context_length": "long", "tokenizer.chat_template": 3},
        {"general.architecture": "x", "x.expert_count": "4", "x.expert_used_count": 0},
        {**ATTENTION, "x.attention.head_count_kv": "two"},
        {**ATTENTION, "x.attention.key_length": 1.5},
        {**ATTENTION, "x.attention.value_length": 2**31},
        {**ATTENTION, "x.block_count": 2**32 - 1},
    ],
    ids=[
        "architecture",
        "layers",
        "no heads",
        "context",
        "experts",
        "KV heads",
        "width",
        "negative",
        "layers too many",
    ],
)
def test_keys_of_the_wrong_kind_are_unknown(tmp_path, keys):
    """A key of another type than meant is not known; the facts stay as their schema says."""
    path = write_gguf(tmp_path / "m.gguf", keys, [ONE])

    facts = gguf_facts.read(path, model="m", label="m", name="M", weights="hub", source={}, sha256=None)

    jsonio.validate(facts, "model-facts", "facts")
    assert facts["kv_bytes_per_position"] is None
    assert facts["missing"]["kv_bytes_per_position"]


def test_tables_of_rows_are_not_streamed():
    """Gemma 3n keeps an embedding for each layer, larger than the rest of the model; a token takes one row of it."""
    tables = [Tensor(name, (64, 1000), ONE.format) for name in gguf_facts.ROWS_ONLY]
    alone = gguf_facts.streamed_bytes_per_token((ONE,), {})

    assert gguf_facts.streamed_bytes_per_token((ONE, *tables), {}) == alone > 0


def test_layers_that_predict_ahead_are_not_streamed():
    """Layers for multi-token prediction are in the file, and plain decoding does not read them."""
    metadata = {"general.architecture": "x", "x.block_count": 2, "x.nextn_predict_layers": 1}
    tensors = (ONE, Tensor("blk.0.w", (32,), Format.F32), Tensor("blk.1.w", (32,), Format.F32))

    assert gguf_facts.streamed_bytes_per_token(tensors, metadata) == 2 * 128
    assert gguf_facts.streamed_bytes_per_token(tensors, {"general.architecture": "x"}) == 3 * 128


def test_more_experts_used_than_there_are():
    """A wrong key cannot make a step read more than the file holds."""
    metadata = {"general.architecture": "x", "x.expert_count": 4, "x.expert_used_count": 8}

    assert gguf_facts.streamed_bytes_per_token((Tensor("blk.0.up_exps.w", (32,), Format.F32),), metadata) == 128
