"""Tiny GGUF files for tests: any tensor table, weights all zero."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gguf.constants import GGUFValueType as Kind

from tokentrail.models.gguf_file import Tensor, encode_header, encode_pair, padded

_KINDS = {bool: Kind.BOOL, int: Kind.UINT32, float: Kind.FLOAT32, str: Kind.STRING}


def gguf_bytes(metadata: dict[str, Any], tensors: list[Tensor]) -> bytes:
    """A whole GGUF file with these keys and tensors."""
    pairs = [encode_pair(key, _KINDS[type(value)], value) for key, value in metadata.items()]
    return encode_header(pairs, tensors) + bytes(sum(padded(t.bytes) for t in tensors))


def write_gguf(path: Path, metadata: dict[str, Any], tensors: list[Tensor]) -> Path:
    """Write such a file; return its path."""
    path.write_bytes(gguf_bytes(metadata, tensors))
    return path
