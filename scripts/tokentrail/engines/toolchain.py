"""What llama.cpp is built with: compiler, CUDA compiler, cmake, ninja. Found, asked for versions; nothing installed."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

from tokentrail.problems import Problem

NO_COMPILER = (
    "No C++ compiler was found; install one (Debian/Ubuntu: apt install g++) and run again, or set engine.provider in "
    "config/config.yaml to path, where llama.cpp is installed already"
)


def output_of(argv: list[str], timeout_s: float = 30) -> str | None:
    """Standard output and error of a command, or None where it cannot be run or fails."""
    try:
        done = subprocess.run(argv, capture_output=True, text=True, errors="replace", timeout=timeout_s, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout + done.stderr if done.returncode == 0 else None


def find(name: str) -> str | None:
    """A program beside the running Python (a virtual environment's own), else on PATH."""
    beside = Path(sys.executable).parent / name
    return str(beside) if os.access(beside, os.X_OK) else shutil.which(name)


def build_tools() -> dict[str, str]:
    """Paths of cmake and ninja; raises Problem naming the one that is missing."""
    found = {name: find(name) for name in ("cmake", "ninja")}
    for name, path in found.items():
        if path is None:
            raise Problem(f"{name} was not found beside {sys.executable} or on PATH; run: pip install {name}")
    return {name: str(path) for name, path in found.items()}


def compilers() -> dict[str, str]:
    """Paths of the C and the C++ compiler (CC and CXX are honoured); raises Problem where there is none."""
    cxx = _first("CXX", ("c++", "g++", "clang++"))
    cc = _first("CC", ("cc", "gcc", "clang"))
    if cxx is None or cc is None:
        raise Problem(NO_COMPILER)
    return {"cc": cc, "cxx": cxx}


def _first(variable: str, names: tuple[str, ...]) -> str | None:
    wanted = os.environ.get(variable)
    if wanted:
        path = shutil.which(wanted)
        if path is None:
            raise Problem(f"{variable} names {wanted!r}, which is not a program here; correct or unset {variable}")
        return path
    return next((path for path in map(shutil.which, names) if path), None)


def compiler_line(cxx: str) -> str:
    """Id and version of a compiler, e.g. "(Debian 12.2.0-14) 12.2.0"; the name it was called by is left out."""
    text = output_of([cxx, "--version"])
    if not text or not text.strip():
        raise Problem(f"the C++ compiler {cxx} does not answer --version; repair it or name another in CXX")
    line = text.strip().splitlines()[0].strip()
    called = Path(cxx).name
    return line.removeprefix(called).strip() if line.startswith(called + " ") else line


def nvcc() -> str | None:
    """The CUDA compiler: CUDACXX, PATH, or the usual folder; None where there is none."""
    usual = Path("/usr/local/cuda/bin/nvcc")
    return shutil.which(os.environ.get("CUDACXX") or "nvcc") or (str(usual) if os.access(usual, os.X_OK) else None)


def cuda_version(nvcc_path: str) -> str:
    """Version of the CUDA toolkit as its compiler tells it, e.g. "13.0.88"."""
    found = re.search(r"V(\d+(?:\.\d+)+)", output_of([nvcc_path, "--version"]) or "")
    if not found:
        raise Problem(
            f"{nvcc_path} --version names no CUDA version; repair the CUDA toolkit or set engine.backend: cpu"
        )
    return found[1]


def cuda_library_folders(nvcc_path: str) -> list[str]:
    """Folders of libcudart and libcublas, for the run path: nvcc's dry run names its toolkit's root as TOP."""
    text = output_of([nvcc_path, "--dryrun", "-x", "cu", "-c", os.devnull, "-o", os.devnull]) or ""
    found = re.search(r"^#\$ TOP=(.+)$", text, re.MULTILINE)
    root = Path(os.path.realpath(found[1].strip() if found else Path(os.path.realpath(nvcc_path)).parents[1]))
    folders = [root / "lib64", *sorted(root.glob("targets/*/lib"))]
    return list(dict.fromkeys(os.path.realpath(folder) for folder in folders if folder.is_dir()))


def cpu_type(machine: dict) -> str:
    """Model name and a hash of the CPU's features: a native build fits these, and maybe no other machine."""
    cpu = machine.get("cpu") or {}
    flags = cpu.get("flags_sha256") or _flags_sha256()
    return f"{cpu.get('model') or platform.processor() or platform.machine()} flags:{(flags or 'unknown')[:12]}"


def _flags_sha256() -> str | None:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:  # not Linux: the model name alone has to do
        return None
    found = re.search(r"^(?:flags|Features)\s*:\s*(.+)$", text, re.MULTILINE)
    return hashlib.sha256(" ".join(sorted(found[1].split())).encode()).hexdigest() if found else None
