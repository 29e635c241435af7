"""The offline kit: what is packed for a target, and that the trimmed source of llama.cpp still configures."""

from __future__ import annotations

import subprocess

import pytest
from packaging.requirements import Requirement

from tokentrail import config, engines, jsonio, offline
from tokentrail.engines import build, places, recipe, source
from tokentrail.problems import Problem

LOCKED = """\
# a comment
numpy==2.4.6 ; python_full_version < '3.12' \\
    --hash=sha256:aa \\
    --hash=sha256:bb
    # via gguf
numpy==2.5.5 ; python_full_version >= '3.12' \\
    --hash=sha256:cc
colorama==0.4.6 ; sys_platform == 'win32' \\
    --hash=sha256:dd
Huggingface_Hub==2.4.0 \\
    --hash=sha256:ee
wrapt==2.5.2 \\
    --hash=sha256:ff
"""
DIRECT = [Requirement("huggingface_hub>=2.4,<3"), Requirement("numpy>=2.4,<3")]


def packed(python="3.12", have=()):
    """Names and lines chosen for a target."""
    return offline.to_pack(offline.locked(LOCKED), DIRECT, offline.Target(python), have)


def test_markers_are_the_targets():
    """Another Python gets another numpy, and Windows packages stay out."""
    assert packed("3.12")["numpy"] == "numpy==2.5.5 --hash=sha256:cc"
    assert packed("3.11")["numpy"] == "numpy==2.4.6 --hash=sha256:aa --hash=sha256:bb"
    assert sorted(packed()) == ["huggingface-hub", "numpy", "wrapt"]


@pytest.mark.parametrize(
    ("have", "expected"),
    [
        (["numpy"], ["huggingface-hub", "wrapt"]),
        (["numpy==2.5.2", "wrapt==1.0"], ["huggingface-hub"]),
        (["huggingface_hub==1.33.0"], ["huggingface-hub", "numpy", "wrapt"]),
        (["HuggingFace.Hub==2.9"], ["numpy", "wrapt"]),
    ],
    ids=["name", "versions", "too-old", "other-spelling"],
)
def test_what_the_target_has_is_left_out(have, expected):
    """Left out by name; a version out of our range is packed all the same."""
    assert sorted(packed(have=have)) == expected


def test_wheels_are_for_the_targets_platform():
    """Newest allowed C library first, down to the oldest; the stable ABI counts too."""
    options = " ".join(offline.Target("3.12", "aarch64", (2, 28)).pip_options())

    assert "--platform manylinux_2_28_aarch64" in options
    assert "manylinux_2_29" not in options
    assert "--abi cp312 --abi abi3 --abi none" in options


def test_every_locked_requirement_is_read():
    """The committed file: each requirement has hashes, and a package once at most for one target."""
    text = (config.CONFIG.parent / "envs" / "requirements.txt").read_text()
    requirements = offline.locked(text)
    chosen = offline.to_pack(requirements, [], offline.Target("3.12"), [])

    assert all("--hash=sha256:" in line for _, line in requirements)
    assert {"snakemake", "numpy", "cmake", "ninja"} <= set(chosen)
    assert "colorama" not in chosen


def test_kit_outside_a_checkout_is_refused(tmp_path):
    """The files packed are those git knows."""
    with pytest.raises(Problem, match="is no git checkout"):
        offline.repository_files(tmp_path)


def test_deleted_and_ignored_files_stay_out(tmp_path):
    """The working tree as a colleague would get it: new files too, ignored and deleted ones not."""
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    (tmp_path / ".gitignore").write_text("resources/\n")
    (tmp_path / "resources").mkdir()
    for name in ("a.py", "gone.py", "resources/big.bin"):
        (tmp_path / name).write_text("x")
    subprocess.run(["git", "-C", str(tmp_path), "add", "."], check=True)
    (tmp_path / "gone.py").unlink()

    assert offline.repository_files(tmp_path) == [".gitignore", "a.py"]


def test_trimmed_source_of_llama_cpp_configures(tmp_path):
    """CMake is content with the files that are left, and the kit's archive is small.

    Needs the pinned source in the resources folder, where building the engine leaves it; fetches nothing.
    """
    pinned = config.read_yaml(config.CONFIG / "config.yaml", "config")["engine"]["pypi"]
    sdist = places.downloads(engines.resources_folder()) / pinned["sdist"]
    if not sdist.exists():
        pytest.skip(f"{pinned['sdist']} is not in the resources folder; build the engine first")
    archive = tmp_path / "trimmed.tar.xz"
    note = source.trim(sdist, pinned["sha256"], archive, ["cuda"])
    source.unpack(archive, tmp_path / "source")
    made = {"backend": "cpu", "cmake_flags": [*recipe.BASE_FLAGS, *recipe.BACKEND_FLAGS["cpu"]]}
    log = build.Log(tmp_path / "log")
    with build.locked(tmp_path / "lock", log) as lock:
        build.configure(tmp_path / "source", tmp_path / "build", made, 11434, "unknown", log, lock)

    assert (tmp_path / "build" / "build.ninja").exists()
    assert (tmp_path / "source" / source.VOCABULARY).exists()
    assert archive.stat().st_size < 8 * 2**20
    assert jsonio.read_json(source.note_path(archive)) == note
