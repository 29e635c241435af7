"""Build our read kernel: how fast this device can read memory at all, which decode rates are held against."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from pathlib import Path

from tokentrail import jsonio
from tokentrail.problems import Problem

NATIVE = Path(__file__).resolve().parents[2] / "native"
SOURCES = {"cpu": "read_ceiling.cpp", "cuda": "read_ceiling.cu"}
FLAGS = {
    "cpu": ["-std=c++17", "-O3", "-march=native", "-pthread"],
    # this machine's GPU only: nvcc asks it
    "cuda": ["-std=c++17", "-O3", "-arch=native"],
}


def build(kind: str, resources: Path, arch: str | None = None) -> str:
    """Path of the program ("cpu" or "cuda"), relative to `resources`; compiled if it is not there yet.

    The folder's name holds a hash of source, flags, compiler and processor, so a change of any makes a new one.
    Raises Problem when there is no compiler, or it fails.
    """
    compiler = _compiler(kind)
    source, flags = NATIVE / SOURCES[kind], FLAGS[kind]
    if arch:
        flags = [f"-arch={arch}" if flag.startswith("-arch=") else flag for flag in flags]
    described = [source.read_text(), *flags, _version(compiler), platform.machine(), _processor()]
    name = f"tools/read-ceiling-{kind}-{jsonio.sha256_text(chr(0).join(described))[:8]}/read-ceiling"
    program = resources / name
    if not program.exists():
        program.parent.mkdir(parents=True, exist_ok=True)
        partial = program.with_name(f".read-ceiling.{os.getpid()}")
        answer = subprocess.run(
            [compiler, *flags, str(source), "-o", str(partial)], capture_output=True, text=True, check=False
        )
        if answer.returncode:
            last = (answer.stderr.strip().splitlines() or ["it said nothing"])[-1]
            raise Problem(f"{Path(compiler).name} could not compile {source.name}: {last}")
        partial.replace(program)
    return name


def _compiler(kind: str) -> str:
    names = (
        ("nvcc", "/usr/local/cuda/bin/nvcc") if kind == "cuda" else (os.environ.get("CXX") or "g++", "c++", "clang++")
    )
    found = next((path for name in names if (path := shutil.which(name))), None)
    if found is None:
        what = "nvcc (the CUDA toolkit)" if kind == "cuda" else "a C++ compiler (Debian and Ubuntu: apt install g++)"
        raise Problem(f"the read ceiling is not measured: {what} is missing")
    return found


def _version(compiler: str) -> str:
    return subprocess.run([compiler, "--version"], capture_output=True, text=True, check=False).stdout


def _processor() -> str:
    """-march=native makes a program for this processor; a shared resources folder may see others."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return platform.processor()
    return next((line for line in text.splitlines() if line.startswith("model name")), platform.processor())
