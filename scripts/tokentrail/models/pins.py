"""What stand-ins are made of, by hash and version: light to import, since every plan asks for it."""

from __future__ import annotations

GENERATOR = 1  # raise it whenever the bytes of a stand-in change: it is part of every case's key
VOCABULARY = "ggml-vocab-qwen2.gguf"
VOCABULARY_SHA256 = "44c2f46b715f585c6ab513970e8a006bfa5badd6108560054921cf598d154d8c"
# The template as published with the GGUF files; llama.cpp's source carries Qwen's later wording of one loop.
TEMPLATE_SHA256 = "57f1fd00f0013a2be96aa79b857391f27e23df5b5f847072b524c897e24d0361"
