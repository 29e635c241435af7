"""The model's own tokenizer, taken from its GGUF, as the files that the foreign tools read."""

from __future__ import annotations

import json
from pathlib import Path

from gguf import GGUFReader

CONTROL = 3


def write(model: Path, folder: Path) -> None:
    """Write tokenizer.json and tokenizer_config.json for SmolLM2's byte-level BPE."""
    fields = GGUFReader(model).fields
    tokens, merges, kinds = (fields[f"tokenizer.ggml.{n}"].contents() for n in ("tokens", "merges", "token_type"))
    plain = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    content = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {"id": index, "content": token, **plain}
            for index, (token, kind) in enumerate(zip(tokens, kinds, strict=True))
            if kind == CONTROL
        ],
        "normalizer": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": True}, level]},
        "post_processor": None,
        "decoder": level,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "vocab": {token: index for index, token in enumerate(tokens)},
            "merges": merges,
        },
    }
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "eos_token": tokens[fields["tokenizer.ggml.eos_token_id"].contents()],
        "bos_token": tokens[fields["tokenizer.ggml.bos_token_id"].contents()],
        "chat_template": fields["tokenizer.chat_template"].contents(),
        "model_max_length": 8192,
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tokenizer.json").write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
