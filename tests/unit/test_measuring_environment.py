"""What a tool inherits, what it does not, and what of it is written down."""

from __future__ import annotations

from pathlib import Path

from tokentrail.measuring import environment

USER = {"PATH": "/usr/bin", "HOME": "/home/someone"}


def test_threads_of_snakemake_are_removed() -> None:
    """Snakemake sets them for every job; their values are recorded."""
    env, recorded = environment.of({**USER, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}, 0, None)

    assert "OMP_NUM_THREADS" not in env
    assert recorded["removed OMP_NUM_THREADS"] == "1"


def test_options_in_disguise_and_secrets() -> None:
    """LLAMA_ARG_* would change the experiment; tokens are never recorded, and never passed on."""
    user = {**USER, "LLAMA_ARG_THREADS": "64", "HF_TOKEN": "hf_secret", "LLAMA_API_KEY": "secret"}

    env, recorded = environment.of(user, 0, None)

    assert not {"LLAMA_ARG_THREADS", "HF_TOKEN", "LLAMA_API_KEY"} & set(env)
    assert recorded["removed LLAMA_ARG_THREADS"] is None
    assert "secret" not in str(recorded)


def test_what_changes_numbers_is_recorded() -> None:
    """GGML_* and CUDA_* stay, except that no path is written down; what does not matter is not recorded."""
    env, recorded = environment.of({**USER, "GGML_CUDA_FORCE_MMQ": "1", "CUDA_HOME": "/opt/cuda"}, 0, None)

    assert env["CUDA_HOME"] == "/opt/cuda"
    assert recorded["GGML_CUDA_FORCE_MMQ"] == "1"
    assert recorded["CUDA_HOME"] == "(a path)"
    assert "HOME" not in recorded
    assert recorded["LC_ALL"] == env["LC_ALL"] == "C"
    assert recorded["GGML_NO_BACKTRACE"] == "1"


def test_one_gpu_of_many() -> None:
    """A run is of one GPU: the first, unless the user chose."""
    assert environment.of(USER, 8, None)[1]["CUDA_VISIBLE_DEVICES"] == "0"
    assert environment.of({**USER, "CUDA_VISIBLE_DEVICES": "3"}, 8, None)[0]["CUDA_VISIBLE_DEVICES"] == "3"
    assert environment.of({**USER, "CUDA_VISIBLE_DEVICES": ""}, 1, None)[0]["CUDA_VISIBLE_DEVICES"] == ""
    env, recorded = environment.of(USER, 1, None)
    assert "CUDA_VISIBLE_DEVICES" not in env
    assert recorded["CUDA_VISIBLE_DEVICES"] is None
    assert env["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID"


def test_own_libraries_first(tmp_path: Path) -> None:
    """The engine's libraries come before the user's, whose paths are not recorded."""
    env, recorded = environment.of({**USER, "LD_LIBRARY_PATH": "/opt/other"}, 0, "engines/e/bin")

    assert env["LD_LIBRARY_PATH"] == "engines/e/bin:/opt/other"
    assert recorded["LD_LIBRARY_PATH"] == "engines/e/bin:(the user's)"
    assert environment.library_folder(tmp_path, tmp_path) is None
