"""llama.cpp's source as files: which are needed, unpacking them from an archive, a smaller archive for offline use.

A trimmed archive is a tar.xz of exactly the files that `needed` keeps for the backends named. Beside it lies a
JSON note {"trimmed_from": sha256 of the sdist, "sha256": of the archive, "contents_sha256": …}. The last is the
SHA-256 over the sorted lines "path TAB sha256" of its files, so anyone who has the sdist can trim it again and compare.
"""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Any

from tokentrail import jsonio
from tokentrail.problems import Problem

VOCABULARY = "models/ggml-vocab-qwen2.gguf"
TOKENIZER_FILES = (VOCABULARY, "models/templates/Qwen-Qwen3-0.6B.jinja")

_TOP = {"cmake", "common", "ggml", "include", "licenses", "src", "tools", "vendor"}
_TOP_FILES = {"CMakeLists.txt", "CMakePresets.json", "LICENSE", "AUTHORS", "scripts/ui-assets.cmake", *TOKENIZER_FILES}
_NOT = ("tools/ui/src/", "tools/ui/static/", "tools/ui/tests/", "tools/server/tests/", "tools/server/bench/",
        "tools/mtmd/tests/", "ggml/src/ggml-et/et-kernels/")  # fmt: skip
_MEDIA = {".gif", ".jpeg", ".jpg", ".md", ".mp3", ".mp4", ".png", ".svg", ".wav"}


def needed(path: str, backends: Iterable[str] | None = None) -> bool:
    """Whether the three tools need this file; `path` is relative to llama.cpp's root.

    `backends`: folders ggml-{name} to keep besides the CPU's, None = all of them.
    """
    if path in _TOP_FILES:
        return True
    parts = PurePosixPath(path).parts
    if len(parts) < 2 or parts[0] not in _TOP or path.startswith(_NOT) or PurePosixPath(path).suffix in _MEDIA:
        return False
    backend = parts[2] if parts[:2] == ("ggml", "src") and len(parts) > 3 else None
    if backend and backends is not None:
        return backend.removeprefix("ggml-") in {"cpu", *backends}
    return True


def _members(archive: tarfile.TarFile) -> Iterator[tuple[str, tarfile.TarInfo]]:
    """Regular files of an archive with their paths relative to llama.cpp's root, wherever in the archive that lies."""
    for member in archive:
        parts = PurePosixPath(member.name).parts
        if not member.isfile() or ".." in parts or member.name.startswith("/"):
            continue
        start = parts.index("llama.cpp") + 1 if "llama.cpp" in parts[:2] else 1
        if len(parts) > start:
            yield "/".join(parts[start:]), member


def unpack(archive: Path, target: Path, keep: Callable[[str], bool] = needed) -> list[str]:
    """Unpack the files that `keep` chooses into `target`; returns their paths. Times are kept, owners are not."""
    written = []
    with _opened(archive) as stream:
        for path, member in _members(stream):
            if not keep(path):
                continue
            data = stream.extractfile(member)
            assert data is not None  # regular files only
            place = target / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data.read())
            place.chmod(0o755 if member.mode & 0o100 else 0o644)
            _set_time(place, member.mtime)
            written.append(path)
    return written


def _set_time(path: Path, seconds: float) -> None:
    # An unpacked file must not look newer than objects of an interrupted build, which is resumed.
    os.utime(path, (seconds, seconds))


def _opened(archive: Path) -> tarfile.TarFile:
    try:
        return tarfile.open(archive)
    except (OSError, tarfile.TarError) as error:
        raise Problem(f"{archive} cannot be read as an archive ({error}); delete it and run again") from None


def contents_sha256(files: dict[str, bytes]) -> str:
    """SHA-256 over the sorted lines "path TAB sha256": the same for the same files however they are packed."""
    lines = sorted(f"{path}\t{hashlib.sha256(data).hexdigest()}\n" for path, data in files.items())
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def trimmed_path(downloads: Path, sdist: str) -> Path:
    """Where a trimmed archive of an sdist lies: {sdist without its suffix}.trimmed.tar.xz."""
    return downloads / (sdist.removesuffix(".tar.gz") + ".trimmed.tar.xz")


def trim(sdist: Path, sdist_sha256: str, out: Path, backends: Iterable[str]) -> dict[str, Any]:
    """Write the trimmed archive of an sdist and the note beside it; returns the note. The bytes are reproducible."""
    with _opened(sdist) as stream:
        kept = {p: _read(stream, m) for p, m in _members(stream) if needed(p, backends)}
    out.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(out, "w:xz", preset=6) as packed:
        for path, data in sorted(kept.items()):
            info = tarfile.TarInfo(f"llama.cpp/{path}")
            info.size, info.mode = len(data), 0o644
            packed.addfile(info, io.BytesIO(data))
    note = {
        "trimmed_from": sdist_sha256,
        "sha256": jsonio.sha256_file(out),
        "contents_sha256": contents_sha256(kept),
        "backends": sorted({"cpu", *backends}),
    }
    jsonio.write_json(note_path(out), note)
    return note


def _read(stream: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    data: IO[bytes] | None = stream.extractfile(member)
    assert data is not None  # regular files only
    return data.read()


def note_path(archive: Path) -> Path:
    """The JSON note beside a trimmed archive."""
    return archive.with_name(archive.name + ".json")


def trimmed_note(downloads: Path, sdist: str, sdist_sha256: str) -> dict[str, Any] | None:
    """The note of a trimmed archive made from exactly this sdist, None where there is none."""
    archive = trimmed_path(downloads, sdist)
    if not archive.exists() or not note_path(archive).exists():
        return None
    note = jsonio.read_json(note_path(archive))
    return note if note.get("trimmed_from") == sdist_sha256 else None
