"""The environment a tool gets: chosen, not inherited, and recorded without secrets or paths."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from tokentrail.machine.gpu import ONE_OF_MANY

# Snakemake sets these to its own thread count for every job; the tools' -t decides, and OpenMP must not undo it.
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OMP_THREAD_LIMIT",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "GOTO_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "VECLIB_NUM_THREADS",
)
# Options in disguise (LLAMA_ARG_*), and secrets that a local tool does not need.
REMOVED_PREFIXES = ("LLAMA_ARG_", "LLAMA_API_KEY", "LLAMA_LOG_", "HF_", "HUGGING_FACE_")
# What may change a number and is passed on; recorded.
KEPT_PREFIXES = ("GGML_", "CUDA_", "NVIDIA_", "GOMP_", "OMP_", "KMP_", "MALLOC_", "HSA_", "HIP_", "ROCR_", "MTL_")


def of(user: Mapping[str, str], gpus: int, library_folder: str | None) -> tuple[dict[str, str], dict[str, str | None]]:
    """(environment for the tool, what of it is recorded). Pure.

    `gpus` = number of GPUs on the machine: a run is of one, so where there are more, only the first is shown, unless
    the user chose. `library_folder` = the engine's own shared libraries, relative to the tool's working folder.
    Recorded: every variable that may change a number, with its value; `removed NAME` for what the user or Snakemake
    had set and the tool did not get (value only for thread counts). A value with a path in it is not recorded.
    """
    env = {name: value for name, value in user.items() if not _removed(name)}
    recorded: dict[str, str | None] = {}
    for name in sorted(user):
        if name in THREAD_VARIABLES:
            recorded[f"removed {name}"] = user[name]
        elif _removed(name):
            recorded[f"removed {name}"] = None
        elif name.startswith(KEPT_PREFIXES):
            recorded[name] = user[name] if "/" not in user[name] else "(a path)"
    # LC_ALL: a decimal point, always. NO_BACKTRACE: on a crash, gdb would print to the tool's stdout.
    chosen = {"LC_ALL": "C", "GGML_NO_BACKTRACE": "1"}
    if gpus:
        # indices then mean the same to CUDA, NVML and nvidia-smi
        chosen["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
        chosen["CUDA_VISIBLE_DEVICES"] = user.get("CUDA_VISIBLE_DEVICES", ONE_OF_MANY if gpus > 1 else "")
        if not chosen["CUDA_VISIBLE_DEVICES"] and "CUDA_VISIBLE_DEVICES" not in user:
            del chosen["CUDA_VISIBLE_DEVICES"]
    recorded.update(chosen)
    recorded.setdefault("CUDA_VISIBLE_DEVICES", None)
    if library_folder:
        # before anything of the user's: another llama.cpp's libraries must not slip in
        inherited = user.get("LD_LIBRARY_PATH")
        chosen["LD_LIBRARY_PATH"] = f"{library_folder}:{inherited}" if inherited else library_folder
        recorded["LD_LIBRARY_PATH"] = f"{library_folder}:(the user's)" if inherited else library_folder
    return env | chosen, recorded


def library_folder(binary_folder: Path, cwd: Path) -> str | None:
    """The engine's bin folder, relative to `cwd`, if shared libraries lie in it (Linux; macOS finds them by rpath)."""
    if sys.platform != "linux" or not any(binary_folder.glob("*.so*")):
        return None
    return str(binary_folder.absolute().relative_to(cwd.absolute()))


def _removed(name: str) -> bool:
    return name in THREAD_VARIABLES or name.startswith(REMOVED_PREFIXES)
