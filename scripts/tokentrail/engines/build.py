"""Configure, build and install llama.cpp's three tools; progress is shown and logged, an interrupted build resumes."""

from __future__ import annotations

import contextlib
import fcntl
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tokentrail.engines import toolchain
from tokentrail.engines.places import TOOLS
from tokentrail.problems import Problem


class Log:
    """Lines for the person who waits (standard error) and for the log file."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        if path:
            path.parent.mkdir(parents=True, exist_ok=True)

    def say(self, line: str) -> None:
        """One line, at once."""
        print(line, file=sys.stderr, flush=True)
        self.note(line)

    def note(self, line: str) -> None:
        """One line for the log file only."""
        if self.path:
            with self.path.open("a", encoding="utf-8") as stream:
                stream.write(line + "\n")


@contextlib.contextmanager
def locked(path: Path, log: Log) -> Iterator[int]:
    """Hold a lock between processes; the kernel frees it when the last holder of the yielded descriptor dies.

    The compilers inherit the descriptor: should we be killed, nobody else builds in the folder before they end.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            log.say(f"another process builds this engine; waiting for it ({path})")
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)


def jobs(wanted: int | None) -> int:
    """Number of compilers at once: as asked, else the CPUs we may use, with 1.5 GiB of memory for each."""
    if wanted:
        return wanted
    affinity = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return max(1, min(affinity, int(memory / (1.5 * 2**30))))


def configure(source: Path, build: Path, recipe: dict[str, Any], number: int, commit: str, log: Log, lock: int) -> None:
    """Run CMake. The build number and commit are stamped into the tools; the run path makes the folder movable."""
    tools, compilers = toolchain.build_tools(), toolchain.compilers()
    here = "@loader_path" if platform.system() == "Darwin" else "$ORIGIN"
    run_path = [here]
    argv = [tools["cmake"], "-S", str(source), "-B", str(build), "-G", "Ninja", *recipe["cmake_flags"],
            f"-DLLAMA_BUILD_NUMBER={number}", f"-DLLAMA_BUILD_COMMIT={commit}",
            f"-DCMAKE_MAKE_PROGRAM={tools['ninja']}", f"-DCMAKE_C_COMPILER={compilers['cc']}",
            f"-DCMAKE_CXX_COMPILER={compilers['cxx']}"]  # fmt: skip
    if recipe["backend"] == "cuda":
        nvcc = str(toolchain.nvcc())
        run_path += toolchain.cuda_library_folders(nvcc)
        argv.append(f"-DCMAKE_CUDA_COMPILER={nvcc}")
    argv += ["-DCMAKE_BUILD_WITH_INSTALL_RPATH=ON", "-DCMAKE_INSTALL_RPATH_USE_LINK_PATH=ON",
             f"-DCMAKE_INSTALL_RPATH={';'.join(run_path)}"]  # fmt: skip
    log.say(f"configuring llama.cpp (build {number}, backend {recipe['backend']})")
    _run(argv, log, lock, shown=lambda line: False, what="CMake could not configure llama.cpp")


def compile_tools(build: Path, parallel: int, log: Log, lock: int) -> None:
    """Build the three targets; ninja's "[n/m] …" lines are shown as they come."""
    cmake = toolchain.build_tools()["cmake"]
    argv = [cmake, "--build", str(build), "--parallel", str(parallel), "--target", *TOOLS]
    log.say(f"building {', '.join(TOOLS)} with {parallel} jobs (some minutes; an interrupted build resumes)")
    _run(argv, log, lock, shown=lambda line: line.startswith("["), what="llama.cpp did not compile")


def _run(argv: list[str], log: Log, lock: int, shown: Callable[[str], bool], what: str) -> None:
    # Our own repository may lie above the source; llama.cpp must not take its commit for its own.
    environment = {**os.environ, "GIT_CEILING_DIRECTORIES": str(Path(argv[2]).resolve().parent)}
    environment.pop("SOURCE_DATE_EPOCH", None)
    log.note("$ " + " ".join(argv))
    told: list[str] = []
    with subprocess.Popen(
        argv,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env=environment,
        pass_fds=(lock,),
    ) as child:
        for line in child.stdout or ():
            line = line.rstrip("\n")
            (log.say if shown(line) else log.note)(line)
            if "error" in line.lower() and len(told) < 3:
                told.append(line.strip())
    if child.returncode:
        where = f"; the whole text is in {log.path}" if log.path else ""
        raise Problem(f"{what}: {' | '.join(told) or f'exit status {child.returncode}'}{where}")


def install(build: Path, bin_folder: Path) -> None:
    """Copy the tools and their shared libraries (links between versions kept) into `bin_folder`, in one step."""
    staged = bin_folder.with_name(f".{bin_folder.name}.partial")
    shutil.rmtree(staged, ignore_errors=True)
    staged.mkdir(parents=True)
    for path in sorted((build / "bin").iterdir()):
        if path.name in TOOLS or path.name.startswith("lib"):
            shutil.copy2(path, staged / path.name, follow_symlinks=False)
    missing = [tool for tool in TOOLS if not (staged / tool).exists()]
    if missing:
        raise Problem(f"the build left no {missing[0]} in {build / 'bin'}; this llama.cpp has no such target")
    shutil.rmtree(bin_folder, ignore_errors=True)
    staged.rename(bin_folder)
