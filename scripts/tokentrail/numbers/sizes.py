"""Numbers of the model files: sizes, parameters, bytes a decoded token streams. Units never mix GB with GiB."""

from __future__ import annotations

from tokentrail.numbers.registry import PUBLISHED, Context, Definition, each, fact

_BIG = 1 << 30
_ONE = (PUBLISHED,)


def _file_is_big(context: Context) -> bool:
    return (context.record.document["model"].get("file_bytes") or 0) >= _BIG


def _facts(context: Context) -> dict:
    return context.record.document["model"]


def _size(identifier: str, label: str, unit: str, step: str, words: str, code: str, key: str, applies=None):
    return Definition(identifier, label, unit, step, words, code, {"size": fact(f"/model/{key}", "bytes")}, "model",
                      _ONE, group="sizes", **({"applies": applies} if applies else {}))  # fmt: skip


DEFINITIONS = [
    _size("weights-{label}", "Weights of {name}", "MiB", "1", "bytes of all tensors, in MiB", "size / 2**20",
          "tensor_bytes"),
    _size("tensors-{label}", "Weights of {name}", "GiB", "7", "bytes of all tensors, in GiB", "size / 2**30",
          "tensor_bytes"),
    _size("file-{label}", "File of {name}", "MiB", "4", "bytes of the file, in MiB", "size / 2**20", "file_bytes",
          lambda c: not _file_is_big(c)),
    _size("file-{label}", "File of {name}", "GB", "7", "bytes of the file, in GB", "size / 1e9", "file_bytes",
          _file_is_big),
    _size("embedding-{label}", "Token embedding of {name}", "GB", "7",
          "bytes of the table of which decode reads one row", "size / 1e9", "embedding_bytes"),
    _size("bytes-per-token-{label}", "Bytes streamed per decoded token, {name}", "GB", "7",
          "bytes of all tensors, less the token embedding where that is a table of its own", "size / 1e9",
          "streamed_bytes_per_token"),
    _size("kv-bytes-per-position-{label}", "Keys and values of one position, {name}", "bytes", "deeper",
          "f16 keys and values of all layers", "size", "kv_bytes_per_position"),
    Definition(
        "bytes-per-token-{label}-file-bytes", "Bytes per decoded token counted from the file, {name}", "GB", "7",
        "bytes of the file, metadata included, less the token embedding", "(file - embedding) / 1e9",
        {"file": fact("/model/file_bytes", "bytes"), "embedding": fact("/model/embedding_bytes", "bytes")}, "model",
        _ONE, group="sizes", applies=lambda c: _facts(c).get("tied_embedding") is False,
        note="another convention than ours: it counts the file's metadata as if each token read it",
    ),
    Definition(
        "params-{label}", "Parameters of {name}", "million parameters", "4", "elements of all tensors, in millions",
        "parameters / 1e6", {"parameters": fact("/model/parameters", "parameters")}, "model", _ONE, group="sizes",
    ),
    Definition(
        "bits-per-weight-{label}", "Bits per weight, {name}", "bits", "7", "8 times tensor bytes per parameter",
        "8 * size / parameters",
        {"size": fact("/model/tensor_bytes", "bytes"), "parameters": fact("/model/parameters", "parameters")}, "model",
        _ONE, group="sizes",
    ),
    Definition(
        "model-size-ratio", "Parameters, bigger model over small one", "ratio", "7",
        "parameters of the bigger model divided by those of the small one", "big / small",
        {"big": each("big"), "small": each("small")}, "two-models", _ONE, group="sizes",
    ),
]  # fmt: skip
