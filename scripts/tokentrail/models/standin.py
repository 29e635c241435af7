"""Stand-in models: the real tensor names, shapes, formats, tokenizer and template, with seeded random weights.

A rate depends on shapes and formats, hardly on values, so a stand-in measures what the real file would, on machines
that cannot download it. Values are drawn as quantized blocks directly: a pool of random blocks for each format, tiled
into every tensor from its own offset, with block scales such that each matrix keeps its input's magnitude
(standard deviation 1/sqrt(inputs)): no overflow, no NaN, whatever the depth.

Byte-identical on every machine: the pool is the raw Philox stream, which NumPy keeps fixed, and nothing is rounded
by the platform except one IEEE half per tensor.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from gguf.constants import GGML_QUANT_SIZES
from gguf.constants import GGMLQuantizationType as Format

from tokentrail.models import qwen3
from tokentrail.models.gguf_file import Tensor, encode_header, padded
from tokentrail.problems import Problem

# Blocks in a pool. Prime and above the vocabulary, so no two rows of a matrix are the same.
POOL_BLOCKS = 262_147
_CHUNK_ROWS = 8192

# Standard deviation of one weight over its block scale d, for bytes drawn uniformly (see `_pool`).
_SPREAD = {Format.Q8_0: 73.6, Format.Q4_K: 16 * 4.61, Format.Q6_K: 4 * 18.5}
_SCALE_AT = {Format.Q8_0: 0, Format.Q4_K: 0, Format.Q6_K: 208}
_EMBEDDING_SPREAD = 0.05  # small against what the layers add, so a tied output does not repeat its input
_RARE = 1 / 8  # output rows of tokens that are no plain words: never the largest logit
_WORD = re.compile(rb"(\xc4\xa0)?[A-Za-z]{2,}")  # optional leading blank (U+0120 in GGUF's byte alphabet), letters


def write(shape: dict[str, Any], tokenizer_dir: Path, path: Path, log: Callable[[str], None] = print) -> str:
    """Write the stand-in of this shape to `path`; return its sha256. Raises Problem on an impossible shape."""
    _check(shape)
    table = qwen3.tensors(shape)
    size, parameters = sum(t.bytes for t in table), sum(t.elements for t in table)
    for what, found, key in (("bytes", size, "expect_tensor_bytes"), ("parameters", parameters, "expect_parameters")):
        if shape.get(key, found) != found:
            raise Problem(f"stand-in {shape['name']}: {found} {what}, but models.yaml says {key} {shape[key]}")
    pairs, tokens = qwen3.metadata(shape, tokenizer_dir)
    pools = {kind: _pool(kind, shape["seed"]) for kind in {t.format for t in table} & set(_SPREAD)}
    digest = hashlib.sha256()
    log(f"stand-in {shape['name']}: writing {size / 1e9:.2f} GB of random weights")
    with path.open("wb") as out:
        # A part is a view of a pool, whose scales the next tensor sets anew: each is written before the next is drawn.
        weights = itertools.chain.from_iterable(_parts(tensor, pools, tokens, shape) for tensor in table)
        for part in itertools.chain([encode_header(pairs, table)], weights):
            out.write(part)
            digest.update(part)
    return digest.hexdigest()


def _check(shape: dict[str, Any]) -> None:
    if shape["architecture"] != "qwen3":
        raise Problem(f"stand-in: architecture {shape['architecture']!r} is not made here (allowed: qwen3)")
    for key in ("embedding_length", "feed_forward_length"):
        if shape[key] % 256:
            raise Problem(f"stand-in {shape['name']}: {key} {shape[key]} is not a multiple of 256, a block of weights")


def _parts(
    tensor: Tensor, pools: dict[Format, np.ndarray], tokens: list[bytes], shape: dict[str, Any]
) -> Iterator[bytes | memoryview]:
    """The tensor's bytes in order, padding included."""
    if tensor.format == Format.F32:
        yield np.ones(tensor.shape[0], "<f4").tobytes()  # norms: all one
    else:
        yield from _matrix(tensor, pools[tensor.format], *_magnitude(tensor, tokens, shape["tied"]))
    yield bytes(padded(tensor.bytes) - tensor.bytes)


def _magnitude(tensor: Tensor, tokens: list[bytes], tied: bool) -> tuple[float, np.ndarray | None]:
    """Standard deviation of the weights, and a factor for each row where rows differ."""
    spread = _EMBEDDING_SPREAD if tensor.name == "token_embd.weight" else 1 / math.sqrt(tensor.shape[0])
    if tensor.name != ("token_embd.weight" if tied else "output.weight"):
        return spread, None
    return spread, np.array([1.0 if _WORD.fullmatch(token) else _RARE for token in tokens])


def _matrix(tensor: Tensor, pool: np.ndarray, spread: float, rows: np.ndarray | None) -> Iterator[memoryview]:
    """Blocks of the pool from this tensor's own offset on, in turn, with the scale that gives `spread`."""
    per_block, _ = GGML_QUANT_SIZES[tensor.format]
    width, height = tensor.shape[0] // per_block, tensor.shape[1]
    scale = spread / _SPREAD[tensor.format]
    _set_scale(pool, tensor.format, np.float64(scale))
    at = int.from_bytes(hashlib.sha256(tensor.name.encode()).digest()[:8], "little") % POOL_BLOCKS
    for first in range(0, height, _CHUNK_ROWS):
        last = min(first + _CHUNK_ROWS, height)
        remaining = (last - first) * width
        pieces = []
        while remaining:
            piece = pool[at : at + remaining]
            pieces.append(piece)
            remaining -= len(piece)
            at = (at + len(piece)) % POOL_BLOCKS
        if rows is not None:
            block = np.concatenate(pieces)
            _set_scale(block, tensor.format, scale * np.repeat(rows[first:last], width))
            pieces = [block]
        for piece in pieces:
            yield memoryview(np.ascontiguousarray(piece)).cast("B")


def _set_scale(blocks: np.ndarray, kind: Format, scale: np.ndarray | np.float64) -> None:
    """Set d (and Q4_K's dmin = 8 d, which makes the mean zero) of blocks, shape (n, block bytes)."""
    at = _SCALE_AT[kind]
    blocks[:, at : at + 2] = _half(scale)
    if kind == Format.Q4_K:
        blocks[:, 2:4] = _half(8 * scale)


def _half(value: np.ndarray | np.float64) -> np.ndarray:
    return np.atleast_1d(value).astype("<f2").view(np.uint8).reshape(-1, 2)


def _pool(kind: Format, seed: int) -> np.ndarray:
    """Random blocks of a format, shape (POOL_BLOCKS, block bytes); the scale d is set later.

    Q8_0 (d, 32 int8): -127..127. Q4_K (d, dmin, 12 scale bytes, 128 of nibbles): every sub-block has scale 16 and
    minimum 15, so a weight is d * 16 * q - 8 d * 15, mean zero. Q6_K (128 low, 64 high, 16 int8 scales, d): scales
    +4 and -4 in turn, which cancels the half step of mean.
    """
    _, block_bytes = GGML_QUANT_SIZES[kind]
    words = -(-POOL_BLOCKS * block_bytes // 8)
    raw = np.random.Philox(key=[seed, int(kind)]).random_raw(words).astype("<u8", copy=False)
    pool = raw.view(np.uint8)[: POOL_BLOCKS * block_bytes].reshape(POOL_BLOCKS, block_bytes)
    if kind == Format.Q8_0:
        pool[pool == 0x80] = 0x81
    elif kind == Format.Q4_K:
        pool[:, 4:16] = [0x50] * 4 + [0x0F] * 4 + [0xF0] * 4
    else:
        pool[:, 192:208] = [0x04, 0xFC] * 8
    return pool
