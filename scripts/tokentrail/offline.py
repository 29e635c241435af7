"""A kit for machines without network: wheels, llama.cpp's source, this repository, a script that runs them.

Left out: packages that the target has already. Wheels are chosen for the target's Python and platform, which need
not be this machine's, so markers of the locked requirements are evaluated for the target, not by pip.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tokentrail import jsonio
from tokentrail.engines import fetch, source
from tokentrail.problems import Problem

FOLDER = "tokentrail-kit"


@dataclass(frozen=True)
class Target:
    """The machine a kit is for: "3.12", "x86_64", glibc (2, 28). Linux only."""

    python: str
    machine: str = "x86_64"
    glibc: tuple[int, int] = (2, 28)

    def markers(self) -> dict[str, str]:
        """Values of the environment markers there."""
        return {
            "python_version": self.python,
            "python_full_version": f"{self.python}.0",
            "implementation_name": "cpython",
            "platform_python_implementation": "CPython",
            "sys_platform": "linux",
            "os_name": "posix",
            "platform_system": "Linux",
            "platform_machine": self.machine,
            "platform_release": "",
            "platform_version": "",
            "implementation_version": f"{self.python}.0",
        }

    def pip_options(self) -> list[str]:
        """Options that make pip choose wheels for the target."""
        major, minor = self.glibc
        platforms = [f"manylinux_{major}_{n}_{self.machine}" for n in range(minor, 4, -1)]
        platforms += [f"manylinux{year}_{self.machine}" for year in ("2014", "2010", "1")]
        abi = "cp" + self.python.replace(".", "")
        options = ["--only-binary", ":all:", "--implementation", "cp", "--python-version", self.python]
        options += [word for value in (abi, "abi3", "none") for word in ("--abi", value)]
        return options + [word for value in platforms for word in ("--platform", value)]


# Snakemake requires it for the ILP scheduler only, which imports it when used; the profiles here use the greedy one.
NOT_USED = {"pulp"}


def locked(text: str) -> list[tuple[Requirement, str]]:
    """Requirements of a hash-pinned file, each with its text for pip without the marker."""
    joined = re.sub(r"\\\n\s*", " ", text)
    found = []
    for line in joined.splitlines():
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        words, *hashes = re.split(r"\s+(?=--hash=)", line)
        requirement = Requirement(words)
        found.append((requirement, " ".join([f"{requirement.name}{requirement.specifier}", *map(str.strip, hashes)])))
    return found


def to_pack(
    requirements: list[tuple[Requirement, str]], direct: list[Requirement], target: Target, have: Iterable[str]
) -> dict[str, str]:
    """Name -> line for pip, of all that the target needs and does not have.

    `have`: "numpy" or "numpy==2.5.2". A version outside the range that our direct requirements ask for is packed
    all the same; versions of indirect ones are taken as they are.
    """
    there = {canonicalize_name(name): version for name, _, version in (item.partition("==") for item in have)}
    ranges = {canonicalize_name(requirement.name): requirement.specifier for requirement in direct}
    packed = {}
    for requirement, line in requirements:
        name = canonicalize_name(requirement.name)
        if name in NOT_USED or (requirement.marker and not requirement.marker.evaluate(target.markers())):
            continue
        version = there.get(name)
        fits = version is not None and (not version or name not in ranges or ranges[name].contains(version))
        if not fits:
            packed[name] = line
    return packed


def fetch_wheels(lines: dict[str, str], target: Target, folder: Path) -> None:
    """Download the wheels; a package that has none for the target is built here, if it is pure Python."""
    folder.mkdir(parents=True, exist_ok=True)
    todo, built = dict(lines), {}
    while todo:
        done = _pip("download", todo, [*target.pip_options(), "--dest", str(folder)])
        if done.returncode == 0:
            break
        missing = re.search(r"(?:satisfies the requirement|No matching distribution found for) ([\w.-]+)", done.stderr)
        name = canonicalize_name(missing[1]) if missing else None
        if name is None or name not in todo:
            told = (done.stderr.strip().splitlines() or ["no message"])[-1]
            raise Problem(f"wheels could not be downloaded ({told}); check the network and pip's index settings")
        built[name] = todo.pop(name)
    for name, line in built.items():
        _build_wheel(name, line, folder)


def _build_wheel(name: str, line: str, folder: Path) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        done = _pip("wheel", {name: line}, ["--no-binary", name, "--wheel-dir", scratch])
        wheels = list(Path(scratch).glob("*.whl"))
        if done.returncode or not wheels or not wheels[0].name.endswith("-none-any.whl"):
            raise Problem(
                f"{name} has no wheel for the target and is not pure Python; install it there, then use --have {name}"
            )
        shutil.move(wheels[0], folder / wheels[0].name)


def _pip(command: str, lines: dict[str, str], options: list[str]) -> subprocess.CompletedProcess[str]:
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as stream:
        stream.write("\n".join(lines.values()) + "\n")
        stream.flush()
        argv = [*fetch.pip_command(), command, "--no-deps", "--require-hashes", "--requirement", stream.name, *options]
        return subprocess.run(argv, capture_output=True, text=True, errors="replace", check=False)


def repository_files(root: Path) -> list[str]:
    """Files of the working tree that git tracks or would: what a colleague would get, uncommitted edits included."""
    argv = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise Problem(f"{root} is no git checkout ({error}); make the kit in a clone of the repository") from None
    return sorted(name for name in listed.split("\0") if name and (root / name).is_file())


def make(
    root: Path, out: Path, pypi: dict[str, str], target: Target, have: list[str], backends: list[str], downloads: Path
) -> dict[str, Any]:
    """Write the kit; returns what is in it (also kit.json inside): packages, source note, bytes."""
    direct = [Requirement(line) for line in _lines(root / "envs" / "requirements.in")]
    requirements = locked((root / "envs" / "requirements.txt").read_text(encoding="utf-8"))
    lines = to_pack(requirements, direct, target, have)
    with tempfile.TemporaryDirectory() as scratch:
        kit = Path(scratch) / FOLDER
        fetch_wheels(lines, target, kit / "wheels")
        laid = kit / "tokentrail" / "resources" / "downloads"
        archive = source.trimmed_path(laid, pypi["sdist"])
        note = source.trim(fetch.sdist(pypi, downloads), pypi["sha256"], archive, backends)
        for name in repository_files(root):
            place = kit / "tokentrail" / name
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, place)
        shutil.copy2(root / "scripts" / "offline_run.sh", kit / "run.sh")
        (kit / "python-version").write_text(target.python + "\n")
        content = {
            "python": target.python,
            "machine": target.machine,
            "glibc": ".".join(map(str, target.glibc)),
            "wheels": sorted(path.name for path in (kit / "wheels").iterdir()),
            "taken_from_the_target": sorted(have),
            "llama_cpp": note,
        }
        jsonio.write_json(kit / "kit.json", content)
        out.parent.mkdir(parents=True, exist_ok=True)
        partial = out.with_name(f".{out.name}.{os.getpid()}.partial")
        with tarfile.open(partial, "w:xz", preset=6) as packed:
            packed.add(kit, FOLDER)
        partial.replace(out)
    return {**content, "bytes": out.stat().st_size}


def _lines(path: Path) -> list[str]:
    text = path.read_text(encoding="utf-8")
    return [line for line in map(str.strip, text.splitlines()) if line and not line.startswith(("#", "-"))]
