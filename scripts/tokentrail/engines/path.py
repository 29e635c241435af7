"""Provider `path`: llama.cpp as installed here by anyone (brew, conda, apt, a container), found and fingerprinted.

The identity is the content of the tools and of llama.cpp's own shared libraries: an upgrade gives a new name, an
identical reinstall the same. Hashes, versions and the device list are remembered (filehash), so a parse is fast.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
from pathlib import Path
from typing import Any

from tokentrail import jsonio
from tokentrail.engines import manifest, places, recipe, toolchain
from tokentrail.engines.filehash import Memory
from tokentrail.engines.places import TOOLS
from tokentrail.problems import Problem

# Names of llama.cpp's own libraries; a backend among them may be loaded at run time, unknown to the linker.
_OWN = re.compile(r"^(lib)?(ggml|llama|mtmd)[\w.-]*\.(so|dylib|dll)[\d.]*$")
_SYSTEM_ROOTS = {Path("/"), Path("/usr"), Path("/usr/local")}
_DEVICES = {
    "CUDA": "cuda",
    "Vulkan": "vulkan",
    "MTL": "metal",
    "Metal": "metal",
    "ROCm": "rocm",
    "HIP": "rocm",
    "SYCL": "sycl",
}


def identify(engine: dict, machine: dict, resources: Path) -> dict[str, Any]:
    """Identity of the binaries found in engine.path.folder, or on PATH where that is null. Raises Problem."""
    tools = _find((engine.get("path") or {}).get("folder"))
    memory = places.memory(resources)
    files = {**tools, **{p.name: p for p in _libraries(tools)}}
    contents = {name: memory.sha256(path) for name, path in sorted(files.items())}
    digest = jsonio.sha256_text(jsonio.dumps(contents))
    told = _told(tools, digest, machine, memory)
    memory.save()
    backend = _backend(engine.get("backend") or "auto", told["devices"], tools)
    made = {"contents": contents, "backend": backend}
    number, commit = manifest.version_of(told["version"])
    return {
        "name": recipe.name_of(made, f"b{number}" if number else "bunknown"),
        "provider": "path",
        "build_number": number,
        "backend": backend,
        "recipe": made,
        "source": {
            "paths": {name: str(path) for name, path in sorted(files.items())},
            "commit": commit,
            "devices": told["devices"],
        },
    }


def _find(folder: str | None) -> dict[str, Path]:
    """The three tools, links followed; raises Problem naming the first that is missing and where it was looked for."""
    found = {}
    for tool in TOOLS:
        where = os.path.expanduser(folder) if folder else None
        hit = shutil.which(tool, path=where) if where else shutil.which(tool)
        if hit is None and where:
            hit = shutil.which(tool, path=os.path.join(where, "bin"))
        if hit is None:
            place = (
                f"in {where}, which engine.path.folder names"
                if where
                else "on PATH (set engine.path.folder to its folder)"
            )
            raise Problem(f"{tool} was not found {place}; install llama.cpp there or set engine.provider to pypi")
        found[tool] = Path(os.path.realpath(hit))
    return found


def _libraries(tools: dict[str, Path]) -> list[Path]:
    """llama.cpp's own shared libraries: those the tools are linked with, and backends lying beside any of them.

    The system's libraries (libc, libstdc++, CUDA) are not part of the engine's identity.
    """
    linked: set[Path] = set()
    for tool in tools.values():
        linked.update(path for path in _linked(tool) if _is_own(path, tool))
    beside = {tool.parent for tool in tools.values()} | {path.parent for path in linked}
    beside |= {tool.parent.parent / "lib" for tool in tools.values() if platform.system() == "Darwin"}
    for folder in beside:
        linked.update(path for path in folder.glob("*ggml*") if _OWN.match(path.name))
        if platform.system() == "Darwin":
            linked.update(path for path in folder.glob("*.dylib") if _OWN.match(path.name))
    return sorted({Path(os.path.realpath(path)) for path in linked})


def _linked(tool: Path) -> list[Path]:
    """Paths that the dynamic linker resolves for a tool; none for a script or where there is no ldd."""
    text = toolchain.output_of(["ldd", str(tool)]) if platform.system() == "Linux" else None
    return [Path(found) for found in re.findall(r"=> (/.+?) \(0x", text or "")]


def _is_own(path: Path, tool: Path) -> bool:
    root = tool.parent.parent if tool.parent.name == "bin" else tool.parent
    return bool(_OWN.match(path.name)) or (root not in _SYSTEM_ROOTS and root in Path(os.path.realpath(path)).parents)


def _told(tools: dict[str, Path], digest: str, machine: dict, memory: Memory) -> dict[str, Any]:
    """What the tools say of themselves: version text and device names ("CUDA0"); asked once per content and GPUs."""
    gpus = ",".join(str(gpu.get("name")) for gpu in machine.get("gpus") or [])
    key = f"told {digest} {gpus} {machine.get('driver')}"
    known = memory.get(key)
    if isinstance(known, dict):
        return known
    version = toolchain.output_of([str(tools["llama-server"]), "--version"])
    if version is None:
        raise Problem(f"{tools['llama-server']} does not start (--version failed); repair or reinstall llama.cpp")
    listed = next(filter(None, (toolchain.output_of([str(tools[name]), "--list-devices"])
                                for name in ("llama-bench", "llama-server"))), "")  # fmt: skip
    told = {"version": version.strip(), "devices": devices_of(listed)}
    memory.put(key, told)
    return told


def devices_of(text: str) -> list[str]:
    """Device names in what --list-devices prints, e.g. ["CUDA0"]; [] for "(none)" and for a tool that lacks it."""
    after = text.partition("Available devices:")[2]
    return re.findall(r"^\s+([A-Za-z]+\d*):", after, re.MULTILINE)


def _backend(wanted: str, devices: list[str], tools: dict[str, Path]) -> str:
    """Backend of the first device the tools list, else cpu; raises Problem where another was asked for."""
    names = [re.sub(r"\d+$", "", device) for device in devices]
    found = [_DEVICES.get(name, name.lower()) for name in names if name not in ("CPU", "BLAS")]
    if wanted != "auto" and wanted not in (found or ["cpu"]):
        raise Problem(
            f"engine.backend is {wanted}, but {tools['llama-bench']} lists {', '.join(devices) or 'no device'}; "
            f"install llama.cpp with {wanted} or set engine.backend to auto"
        )
    return wanted if wanted != "auto" else (found or ["cpu"])[0]


def link(identity: dict, engine_dir: Path) -> dict[str, Any]:
    """Fill engine_dir/bin with links to the files found; returns facts for the manifest.

    A link suffices: the linker resolves a program's $ORIGIN from the real path. Raises Problem when a file changed
    meanwhile.
    """
    paths = {name: Path(path) for name, path in identity["source"]["paths"].items()}
    for name, path in paths.items():
        if not path.exists() or jsonio.sha256_file(path) != identity["recipe"]["contents"][name]:
            raise Problem(f"{path} changed since this run was planned; run snakemake again")
    staged = engine_dir / ".bin.partial"
    shutil.rmtree(staged, ignore_errors=True)
    staged.mkdir(parents=True)
    for name, path in paths.items():
        (staged / name).symlink_to(path)
        # libraries are asked for by another name than their files' (libllama.so.0), and look in this very folder
        for alias in path.parent.glob(f"{name.partition('.so')[0]}.so*") if ".so" in name else []:
            if alias.name not in paths and Path(os.path.realpath(alias)) == path:
                (staged / alias.name).symlink_to(name)
    shutil.rmtree(engine_dir / "bin", ignore_errors=True)
    staged.rename(engine_dir / "bin")
    return identity["source"]
