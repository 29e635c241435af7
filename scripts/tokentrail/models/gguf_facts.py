"""Facts of a model, from the tensor table of its GGUF file (schema model-facts)."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from tokentrail.models.gguf_file import Header, Tensor, read_header
from tokentrail.problems import Problem

F16_BYTES = 2
LARGEST_COUNT = 2**24
EMBEDDING = "token_embd.weight"
OUTPUT = "output.weight"
# Tables of which a token takes one row, whatever else is tied: embeddings of each layer, of a position, of a kind.
ROWS_ONLY = ("per_layer_token_embd.weight", "position_embd.weight", "token_types.weight")


def read(
    path: Path, *, model: str, label: str, name: str, weights: str, source: dict[str, Any], sha256: str | None
) -> dict[str, Any]:
    """All facts of the file at `path`; `sha256` is the caller's, who has just computed or checked it.

    Sizes in bytes, `parameters` in elements, `bits_per_weight` = 8 * tensor_bytes / parameters: each stored tensor
    once, as llama-bench sums its `model_size` and `model_n_params`. Raises Problem when it is no whole GGUF model.
    """
    header = read_header(path)
    _refuse_parts(path.name, header)
    tensors, metadata = header.tensors, header.metadata
    architecture = _typed(metadata.get("general.architecture"), str)
    tensor_bytes = sum(t.bytes for t in tensors)
    parameters = sum(t.elements for t in tensors)
    names = {t.name: t for t in tensors}
    kv, missing = kv_bytes_per_position(metadata)
    template = _typed(metadata.get("tokenizer.chat_template"), str)
    facts = {
        "schema_version": 1,
        "model": model,
        "label": label,
        "weights": weights,
        "name": name,
        "sha256": sha256,
        "file": f"models/{weights}/{model}.gguf",
        "file_bytes": header.file_bytes,
        "tensor_bytes": tensor_bytes,
        "embedding_bytes": names[EMBEDDING].bytes if EMBEDDING in names else None,
        "streamed_bytes_per_token": streamed_bytes_per_token(tensors, metadata),
        "kv_bytes_per_position": kv,
        "parameters": parameters,
        "bits_per_weight": 8 * tensor_bytes / parameters if parameters else None,
        "tied_embedding": OUTPUT not in names,
        "architecture": architecture,
        "layers": _typed(metadata.get(f"{architecture}.block_count"), int),
        "formats": formats(tensors),
        "source": source,
        "experts": experts(metadata),
        "context_length": _typed(metadata.get(f"{architecture}.context_length"), int),
        "chat_template_sha256": hashlib.sha256(template.encode()).hexdigest() if template else None,
    }
    return facts | ({"missing": missing} if missing else {})


def streamed_bytes_per_token(tensors: tuple[Tensor, ...], metadata: dict[str, Any]) -> int:
    """Bytes of weights read for one decoded token at batch 1.

    All tensors, except: the token embedding where the output matrix is stored apart (then one row of it is read; where
    it is tied, it *is* the output matrix and is read whole), other tables of rows, the share of expert tensors that
    are not used, and the layers that only predict further tokens ahead (MTP), which plain decoding does not run.
    """
    untied = any(t.name == OUTPUT for t in tensors)
    routed = experts(metadata)
    architecture = metadata.get("general.architecture")
    keys = ("block_count", "nextn_predict_layers")
    layers, ahead = (_typed(metadata.get(f"{architecture}.{key}"), int) or 0 for key in keys)
    unused = tuple(f"blk.{layer}." for layer in range(max(layers - ahead, 0), layers))
    total = 0
    for tensor in tensors:
        if (untied and tensor.name == EMBEDDING) or tensor.name in ROWS_ONLY or tensor.name.startswith(unused):
            continue
        if routed and "_exps." in tensor.name:
            total += tensor.bytes * routed["used"] // routed["count"]
        else:
            total += tensor.bytes
    return total


def experts(metadata: dict[str, Any]) -> dict[str, int] | None:
    """How many experts each layer has and uses per token; None for a dense model."""
    architecture = metadata.get("general.architecture")
    keys = ("expert_count", "expert_used_count")
    count, used = (_typed(metadata.get(f"{architecture}.{key}"), int) for key in keys)
    return {"count": count, "used": min(used, count)} if count and used else None


def kv_bytes_per_position(metadata: dict[str, Any]) -> tuple[int | None, dict[str, str]]:
    """f16 keys and values of one position over all layers: sum over layers of KV heads * (key + value length) * 2 B.

    Returns (bytes, {}) or (None, {field: reason}) where that formula does not describe the model's cache.
    """
    architecture = metadata.get("general.architecture")

    def value(key: str) -> Any:
        return metadata.get(f"{architecture}.{key}")

    for key, what in (
        ("attention.kv_lora_rank", "compressed (latent) keys and values"),
        ("attention.sliding_window", "a sliding window, so not every layer keeps every position"),
        ("ssm.state_size", "a recurrent state of fixed size"),
    ):
        if value(key):
            return None, {"kv_bytes_per_position": f"the cache of {architecture} has {what}"}
    layers, heads = value("block_count"), value("attention.head_count")
    if not (_is_count(layers) and _is_count(heads) and layers and heads):
        return None, {"kv_bytes_per_position": "the file does not say its layers and heads as single numbers"}
    kv_heads = value("attention.head_count_kv")
    kv_heads = heads if kv_heads is None else kv_heads
    per_layer = kv_heads if isinstance(kv_heads, list) else [kv_heads] * layers
    sizes = [value(key) or 0 for key in ("embedding_length", "attention.key_length", "attention.value_length")]
    if not all(map(_is_count, [*per_layer, *sizes])):
        return None, {"kv_bytes_per_position": "the file does not say the heads of keys and values as whole numbers"}
    embedding, key_length, value_length = sizes
    width = (key_length or embedding // heads) + (value_length or embedding // heads)
    return sum(per_layer) * width * F16_BYTES, {}


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < LARGEST_COUNT


def _typed(value: Any, kind: type) -> Any:
    """The value where it is of this type, else None: keys are whatever the file's maker wrote."""
    return value if isinstance(value, kind) and not isinstance(value, bool) else None


def formats(tensors: tuple[Tensor, ...]) -> dict[str, dict[str, int]]:
    """Format histogram: name -> number of tensors, their bytes, their elements."""
    found: dict[str, dict[str, int]] = {}
    for tensor in tensors:
        row = found.setdefault(tensor.format.name, {"tensors": 0, "bytes": 0, "elements": 0})
        row["tensors"] += 1
        row["bytes"] += tensor.bytes
        row["elements"] += tensor.elements
    return found


def _refuse_parts(name: str, header: Header) -> None:
    parts = header.metadata.get("split.count", 1)
    kind, architecture = (header.metadata.get(f"general.{key}") for key in ("type", "architecture"))
    if kind in ("adapter", "mmproj", "imatrix") or architecture == "clip":
        what = {"adapter": "an adapter (LoRA)", "imatrix": "an importance matrix"}.get(kind, "a vision projector")
        raise Problem(f"{name}: {what}, not a language model; name the model's own file")
    if not isinstance(parts, int) or parts > 1:
        raise Problem(f"{name}: one of {parts} parts of a model; join them first with llama-gguf-split --merge")
    if not any(t.bytes for t in header.tensors):
        raise Problem(f"{name}: a GGUF file without tensors (a vocabulary only), not a model")
