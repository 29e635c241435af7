"""GGUF headers: read without touching the tensors, and the encodings to write one.

Layout (GGUF version 3, little-endian): magic, version, counts of tensors and keys, the key-value pairs, the tensor
table (name, dimensions, format, offset), padding to `general.alignment`, the tensors. A vocabulary is an array of some
150,000 strings of unknown length, so it has to be walked; it is walked and skipped, not decoded (0.2 s).
"""

from __future__ import annotations

import dataclasses
import math
import mmap
import struct
from pathlib import Path
from typing import Any

from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType, GGUFValueType

from tokentrail.problems import Problem

_SCALARS = {
    GGUFValueType.UINT8: "<B", GGUFValueType.INT8: "<b", GGUFValueType.UINT16: "<H", GGUFValueType.INT16: "<h",
    GGUFValueType.UINT32: "<I", GGUFValueType.INT32: "<i", GGUFValueType.UINT64: "<Q", GGUFValueType.INT64: "<q",
    GGUFValueType.FLOAT32: "<f", GGUFValueType.FLOAT64: "<d", GGUFValueType.BOOL: "<?",
}  # fmt: skip
_SHORT_ARRAY = 4096  # longer arrays (the vocabulary) stay undecoded


@dataclasses.dataclass(frozen=True)
class Array:
    """A long array left where it is: element type, count, and the file's bytes from `start` to `end`."""

    kind: GGUFValueType
    count: int
    start: int
    end: int


@dataclasses.dataclass(frozen=True)
class Tensor:
    """One row of the tensor table. `shape` as stored, innermost dimension first; `offset` from the data's start."""

    name: str
    shape: tuple[int, ...]
    format: GGMLQuantizationType
    offset: int = 0

    @property
    def elements(self) -> int:
        """Number of weights."""
        return math.prod(self.shape)

    @property
    def bytes(self) -> int:
        """Size in the file, without padding: whole blocks of the format."""
        per_block, block_bytes = GGML_QUANT_SIZES[self.format]
        return self.elements // per_block * block_bytes


@dataclasses.dataclass(frozen=True)
class Header:
    """What a GGUF file says before its tensors; `data_start` is the first tensor's place in the file."""

    metadata: dict[str, Any]
    tensors: tuple[Tensor, ...]
    data_start: int
    file_bytes: int


class _Cursor:
    """Reads values one after the other; running over the end is a truncated file."""

    def __init__(self, data: mmap.mmap | bytes) -> None:
        self.data, self.at = data, 0

    def scalar(self, layout: str) -> Any:
        (value,) = struct.unpack_from(layout, self.data, self.at)
        self.at += struct.calcsize(layout)
        return value

    def text(self) -> str:
        length = self.scalar("<Q")
        raw = self.data[self.at : self.at + length]
        if len(raw) < length:
            raise struct.error("string over the end")
        self.at += length
        return raw.decode("utf-8", errors="replace")

    def skip_texts(self, count: int) -> None:
        unpack, data, at = struct.Struct("<Q").unpack_from, self.data, self.at
        for _ in range(count):
            at += 8 + unpack(data, at)[0]
        if at > len(data):
            raise struct.error("array over the end")
        self.at = at

    def value(self, kind: GGUFValueType) -> Any:
        if kind == GGUFValueType.STRING:
            return self.text()
        if kind == GGUFValueType.ARRAY:
            return self.array()
        return self.scalar(_SCALARS[kind])

    def array(self) -> list[Any] | Array:
        kind, count = GGUFValueType(self.scalar("<I")), self.scalar("<Q")
        if count > len(self.data):
            raise struct.error("array over the end")
        if count <= _SHORT_ARRAY:
            return [self.value(kind) for _ in range(count)]
        start = self.at
        if kind == GGUFValueType.STRING:
            self.skip_texts(count)
        else:
            self.at += count * struct.calcsize(_SCALARS[kind])
        return Array(kind, count, start, self.at)

    def tensor(self) -> Tensor:
        name, dimensions = self.text(), self.scalar("<I")
        shape = tuple(self.scalar("<Q") for _ in range(dimensions))
        kind = self.scalar("<I")
        return Tensor(name, shape, GGMLQuantizationType(kind), self.scalar("<Q"))


def read_header(path: Path) -> Header:
    """Read the header of a GGUF file.

    Raises Problem, one sentence, when the file is empty, a git-lfs pointer, a web page, something else, cut short,
    or of a format this reader does not know.
    """
    path = Path(path)
    size = path.stat().st_size
    if size == 0:
        raise Problem(f"{path.name}: empty file, not a model; remove it and get it again")
    with path.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
        _refuse_other_files(path.name, data[:512])
        try:
            header = _read(_Cursor(data), size)
        except (struct.error, IndexError, OverflowError):
            raise Problem(f"{path.name}: truncated: the file ends at {size} bytes, within its header") from None
        except (ValueError, KeyError, RecursionError) as error:
            raise Problem(f"{path.name}: damaged, or of a newer GGUF kind than this reader knows ({error})") from None
    _refuse_wrong_table(path.name, header)
    needed = max((header.data_start + t.offset + t.bytes for t in header.tensors), default=0)
    if size < needed:
        raise Problem(f"{path.name}: truncated: {size} of {needed} bytes; remove it and get it again")
    return header


def _refuse_other_files(name: str, head: bytes) -> None:
    if head.startswith(b"GGUF"):
        return
    if head.startswith(b"version https://git-lfs"):
        raise Problem(f"{name}: git-lfs pointer, not the model; fetch the file itself (git lfs pull, or the hub)")
    if head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"<":
        raise Problem(f"{name}: HTML page, not a model; the address asks for a login or is wrong")
    raise Problem(f"{name}: not a GGUF file (it begins with {head[:16]!r}, not b'GGUF')")


def _refuse_wrong_table(name: str, header: Header) -> None:
    """A tensor named twice, of broken blocks, or lying over another one: no tool would read that as meant."""
    names = [t.name for t in header.tensors]
    if len(set(names)) < len(names):
        twice = next(n for n in names if names.count(n) > 1)
        raise Problem(f"{name}: damaged: tensor {twice!r} is there twice; remove it and get it again")
    end = 0
    for tensor in sorted(header.tensors, key=lambda t: t.offset):
        per_block = GGML_QUANT_SIZES[tensor.format][0]
        if tensor.shape and tensor.shape[0] % per_block:
            rows = f"rows of {tensor.name!r} ({tensor.shape[0]} weights)"
            raise Problem(f"{name}: damaged: {rows} are no whole blocks of {per_block}; get it again")
        if tensor.offset < end and tensor.bytes:
            raise Problem(f"{name}: damaged: tensor {tensor.name!r} lies over another; remove it and get it again")
        end = max(end, tensor.offset + tensor.bytes)


def _read(cursor: _Cursor, size: int) -> Header:
    cursor.at = 4
    version, tensor_count, key_count = cursor.scalar("<I"), cursor.scalar("<Q"), cursor.scalar("<Q")
    if version == 1:
        raise ValueError("GGUF version 1 is no longer read by llama.cpp; convert the model again")
    if version in (2 << 24, 3 << 24):
        raise ValueError("it is big-endian, made for another kind of machine")
    if version not in (2, 3):
        raise ValueError(f"GGUF version {version}, not 2 or 3")
    metadata = {}
    for _ in range(key_count):
        key = cursor.text()
        if key in metadata:
            raise ValueError(f"key {key!r} is there twice")
        metadata[key] = cursor.value(GGUFValueType(cursor.scalar("<I")))
    tensors = tuple(cursor.tensor() for _ in range(tensor_count))
    alignment = metadata.get("general.alignment", 32)
    if not isinstance(alignment, int) or alignment <= 0 or alignment % 8:
        raise ValueError(f"general.alignment is {alignment!r}")
    return Header(metadata, tensors, padded(cursor.at, alignment), size)


def padded(size: int, alignment: int = 32) -> int:
    """The next multiple of `alignment` at or after `size`."""
    return -(-size // alignment) * alignment


def encode_text(text: str | bytes) -> bytes:
    """A string as GGUF stores it: length in 8 bytes, then UTF-8."""
    raw = text if isinstance(text, bytes) else text.encode("utf-8")
    return struct.pack("<Q", len(raw)) + raw


def encode_pair(key: str, kind: GGUFValueType, value: Any) -> bytes:
    """A key and its scalar or string value."""
    body = encode_text(value) if kind == GGUFValueType.STRING else struct.pack(_SCALARS[kind], value)
    return encode_text(key) + struct.pack("<I", kind) + body


def encode_array(key: str, kind: GGUFValueType, count: int, body: bytes) -> bytes:
    """A key and an array whose elements are already encoded in `body`."""
    return encode_text(key) + struct.pack("<IIQ", GGUFValueType.ARRAY, kind, count) + body


def encode_header(pairs: list[bytes], tensors: list[Tensor]) -> bytes:
    """The whole header, padded: `pairs` already encoded, tensors laid one after the other in the given order."""
    out, offset = [b"GGUF", struct.pack("<IQQ", 3, len(tensors), len(pairs)), *pairs], 0
    for tensor in tensors:
        out.append(encode_text(tensor.name) + struct.pack("<I", len(tensor.shape)))
        out.append(struct.pack(f"<{len(tensor.shape)}QIQ", *tensor.shape, tensor.format, offset))
        offset += padded(tensor.bytes)
    header = b"".join(out)
    return header + bytes(padded(len(header)) - len(header))
