"""What determines a build, and the engine's name: a hash of that, known before anything is built."""

from __future__ import annotations

import hashlib
import json
import platform
from typing import Any

from tokentrail.engines import toolchain
from tokentrail.engines.places import TOOLS
from tokentrail.problems import Problem

# The web page of the server is not measured, and making it would need npm or the network; HTTPS is not needed on
# loopback; GGML_NATIVE is said aloud because some environments (SOURCE_DATE_EPOCH) turn its default off.
BASE_FLAGS = (
    "-DCMAKE_BUILD_TYPE=Release",
    "-DGGML_NATIVE=ON",
    "-DLLAMA_BUILD_APP=OFF",
    "-DLLAMA_BUILD_EXAMPLES=OFF",
    "-DLLAMA_BUILD_TESTS=OFF",
    "-DLLAMA_BUILD_UI=OFF",
    "-DLLAMA_CURL=OFF",
    "-DLLAMA_OPENSSL=OFF",
    "-DLLAMA_USE_PREBUILT_UI=OFF",
)
BACKEND_FLAGS = {
    # NCCL joins several GPUs; whether it happens to be installed must not change the build.
    "cuda": ("-DGGML_CUDA=ON", "-DGGML_CUDA_NCCL=OFF"),
    "vulkan": ("-DGGML_VULKAN=ON",),
    "rocm": ("-DGGML_HIP=ON",),
    "metal": ("-DGGML_METAL=ON",),
    "cpu": ("-DGGML_METAL=OFF",),
}


def name_of(recipe: dict[str, Any], build: str) -> str:
    """Engine name `{build}-{backend}-{8 hex}`, hex = SHA-256 of the recipe as compact JSON with sorted keys."""
    text = json.dumps(recipe, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"{build}-{recipe['backend']}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def compute_capabilities(machine: dict) -> list[str]:
    """Architectures of this machine's NVIDIA GPUs as CMake spells them: compute capability 9.0 -> "90"."""
    found = {gpu.get("compute_capability") for gpu in machine.get("gpus") or []}
    return sorted({str(value).replace(".", "") for value in found if value}, key=int)


def backend_of(wanted: str, machine: dict, system: str | None = None) -> str:
    """The backend to build: as asked for, or the best this machine can both build and run.

    `wanted`: auto, cpu, cuda, vulkan, metal, rocm. Raises Problem where cuda was asked for and cannot be had.
    """
    gpus = compute_capabilities(machine)
    if wanted == "auto":
        if (system or platform.system()) == "Darwin":
            return "metal"
        return "cuda" if gpus and toolchain.nvcc() else "cpu"
    if wanted == "cuda" and not toolchain.nvcc():
        raise Problem(
            "engine.backend is cuda, but nvcc was not found; install the CUDA toolkit or set it to auto or cpu"
        )
    if wanted == "cuda" and not gpus:
        raise Problem("engine.backend is cuda, but no NVIDIA GPU answers here; set it to auto or cpu")
    return wanted


def build_recipe(source: dict[str, Any], engine: dict, machine: dict, build_number: int | None) -> dict[str, Any]:
    """Everything that determines a build made here; `source` identifies the source's content.

    Left out on purpose: paths, number of jobs, the address the source came from.
    """
    cxx = toolchain.compilers()["cxx"]
    backend = backend_of(engine.get("backend") or "auto", machine)
    flags = [*BASE_FLAGS, *BACKEND_FLAGS[backend]]
    cuda = None
    if backend == "cuda":
        cuda = toolchain.cuda_version(str(toolchain.nvcc()))
        flags.append(f"-DCMAKE_CUDA_ARCHITECTURES={';'.join(compute_capabilities(machine))}")
    return {
        "source": source,
        "build_number": build_number,
        "backend": backend,
        "cmake_flags": [*flags, *(engine.get("cmake_flags") or [])],
        "compiler": toolchain.compiler_line(cxx),
        "cuda_version": cuda,
        "cpu_type": toolchain.cpu_type(machine),
        "targets": list(TOOLS),
    }
