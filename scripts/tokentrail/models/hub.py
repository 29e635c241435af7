"""A model from the Hugging Face Hub: pinned to a commit, size and sha256 checked here, the shared cache reused.

huggingface_hub does the transfer, with its progress bars, its cache, and its environment variables (HF_ENDPOINT,
HF_TOKEN, HF_HUB_OFFLINE, HF_HOME); a token stays in that library. It checks sizes only, so hashes are checked here.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tokentrail import jsonio
from tokentrail.models.gguf_file import read_header
from tokentrail.problems import Problem

_STATUS = {
    401: "set HF_TOKEN (or hf auth login), or correct the token",
    403: "the token may not read this repository; accept its licence or use another token",
    407: "the proxy wants a login; correct HTTPS_PROXY",
    429: "too many requests; wait some minutes, or set HF_TOKEN for a higher limit",
}
# Causes in an error's class names and words, and what to do; the first that is found is meant.
_CAUSES = {
    r"certificate|\bssl": "the hub's certificate cannot be checked; set SSL_CERT_FILE to your network's certificates",
    r"ProxyError|\b407\b": "the proxy refused; correct HTTPS_PROXY, or add the hub to NO_PROXY",
    r"UnsupportedProtocol|InvalidURL": "HF_ENDPOINT is no address of the form https://host; correct or unset it",
    r"HFValidationError": "this is no name of a repository; correct repo in config/models.yaml (owner/name)",
    r"PermissionError": "the cache cannot be written; correct its permissions, or move it with HF_HOME",
    r"TooManyRedirects": "the server at HF_ENDPOINT redirects in a circle; correct or unset HF_ENDPOINT",
}


def fetch(
    model_id: str,
    source: dict[str, Any],
    path: Path,
    *,
    aside: Path,
    lock: Path,
    log: Callable[[str], None] = print,
    endpoint: str | None = None,
    cache: Path | None = None,
) -> dict[str, Any]:
    """Put the file at `path` (hard link, else symbolic link, into the shared cache); return {"sha256", "source"}.

    `source` is a model's `hub` entry of config/models.yaml. What it leaves open (revision not a commit, no sha256, no
    bytes) is held to `lock` if learnt before, and learnt into it now if not. Wrong bytes go to `aside`. `endpoint` and
    `cache` are the library's own by default. Raises Problem, one sentence for each way to fail.
    """
    from huggingface_hub import hf_hub_download

    pin = pinned(model_id, source, lock)
    revision = pin["commit"] or source["revision"]
    log(f"{source['repo']} {source['file']} at {revision[:12]}, from the hub or its cache")
    try:
        found = hf_hub_download(source["repo"], source["file"], revision=revision, endpoint=endpoint, cache_dir=cache)
    except Exception as error:  # the library's classes, and its HTTP library's, change between versions
        raise Problem(f"{source['repo']}, {source['file']}: {explain(error, source, revision)}") from error
    found = Path(found)
    learnt = check(found, pin, source, aside)
    if learnt != pin:
        learn(model_id, source, learnt, lock)
        log(f"learnt {source['file']}: commit {learnt['commit']}, sha256 {learnt['sha256']}; kept in {lock.name}")
    _place(found.resolve(), path)
    return {"sha256": learnt["sha256"], "source": {"commit": learnt["commit"]}}


def pinned(model_id: str, source: dict[str, Any], lock: Path) -> dict[str, Any]:
    """Commit, sha256 and bytes to hold the file to: models.yaml's, else the lock's, else None."""
    commit = source["revision"] if _is_commit(source["revision"]) else None
    pin = {"commit": commit, "sha256": source.get("sha256"), "bytes": source.get("bytes")}
    locked = (jsonio.read_json(lock) if lock.exists() else {}).get(model_id)
    if locked and all(locked[key] == source[key] for key in ("repo", "file", "revision")):
        pin = {key: locked[key] if value is None else value for key, value in pin.items()}
    return pin


def learn(model_id: str, source: dict[str, Any], pin: dict[str, Any], lock: Path) -> None:
    """Add a model's commit, sha256 and bytes to the lock file, which is meant to be committed."""
    entry = {**{key: source[key] for key in ("repo", "file", "revision")}, **pin}
    folder = os.open(lock.parent, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)  # two models may be fetched at once
        known = jsonio.read_json(lock) if lock.exists() else {}
        jsonio.write_json(lock, {**known, model_id: entry})
    finally:
        os.close(folder)


def check(found: Path, pin: dict[str, Any], source: dict[str, Any], aside: Path) -> dict[str, Any]:
    """Hold the cached file `found` to `pin`; return the pin with its open places filled.

    Bytes that are not what the hub announced (the cache names a blob by its sha256) are moved to `aside`, so that the
    next try downloads anew; a sound file that is merely another one than pinned stays in the cache, which is shared.
    """
    size, digest = found.stat().st_size, jsonio.sha256_file(found)
    learnt = {"commit": pin["commit"] or _commit_of(found), "sha256": digest, "bytes": size}
    if pin["sha256"] in (None, digest) and pin["bytes"] in (None, size):
        read_header(found)
        return learnt
    try:
        read_header(found)
        nature = ""
    except Problem as problem:
        nature = f" ({problem})"
    blob = found.resolve()
    if blob.name == digest:
        kept = f"it stays in the cache as {found}; correct the revision or the sha256 in config/models.yaml"
    else:
        shutil.move(blob, aside)
        found.unlink(missing_ok=True)
        kept = f"moved to {aside}; run again to download anew"
    raise Problem(
        f"{source['repo']}, {source['file']}: expected sha256 {pin['sha256']}, {pin['bytes']} bytes; got sha256 "
        f"{digest}, {size} bytes{nature}; {kept}"
    )


def explain(error: BaseException, source: dict[str, Any], revision: str) -> str:
    """Cause and remedy of a failed download, in one clause.

    GatedRepoError is a RepositoryNotFoundError, so it is asked first; a cut-off body is an error of the HTTP library
    and no OSError; offline, unreachable and "not a hub" are one class, told apart by their causes.
    """
    from huggingface_hub import errors

    chain = list(_causes(error))
    told = " ".join(str(one) for one in chain)
    status = next((one.response.status_code for one in chain if getattr(one, "response", None) is not None), None)
    if isinstance(error, errors.GatedRepoError):
        return "access is gated; accept the licence on the repository's page and set HF_TOKEN (or hf auth login)"
    if isinstance(error, errors.RepositoryNotFoundError):
        return "the hub knows no such repository; check repo in config/models.yaml (a private one needs HF_TOKEN)"
    if isinstance(error, errors.RevisionNotFoundError):
        return f"the repository has no revision {revision}; check revision in config/models.yaml"
    if isinstance(error, errors.EntryNotFoundError) and not isinstance(error, errors.LocalEntryNotFoundError):
        return f"the repository has no such file at {revision[:12]}; check file in config/models.yaml"
    if "X-Repo-Commit" in told or any(isinstance(one, errors.FileMetadataError) for one in chain):
        return "the server at HF_ENDPOINT is no hub (its answer names no commit); correct or unset HF_ENDPOINT"
    if any(isinstance(one, errors.OfflineModeIsEnabled) for one in chain) or os.environ.get("HF_HUB_OFFLINE") == "1":
        return "HF_HUB_OFFLINE is set and the file is not in the cache; unset it, or fetch the file once online"
    if getattr(error, "errno", None) == 28:
        return "the disk is full; make room, or move the cache with HF_HOME"
    if status is not None:
        return f"the hub answered with status {status}; {_STATUS.get(status, 'try again later')}"
    kinds = " ".join(type(one).__name__ for one in chain)
    for pattern, sentence in _CAUSES.items():
        if re.search(pattern, f"{kinds} {told}", re.I):
            return sentence
    if re.search(
        r"Protocol|Incomplete|ReadError|ReadTimeout|ConnectionReset|Consistency check failed", f"{kinds} {told}"
    ):
        return "the download was cut off; run again, it goes on where it stopped"
    return (
        "the hub cannot be reached and the file is not in the cache; check the network (HF_ENDPOINT names a mirror), "
        f"or use stand-in weights [{type(chain[-1]).__name__}]"
    )


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _is_commit(revision: str) -> bool:
    return len(revision) == 40 and not set(revision) - set("0123456789abcdef")


def _commit_of(found: Path) -> str | None:
    """The commit a cached file belongs to: the folder below snapshots/."""
    parts = found.parts
    return parts[parts.index("snapshots") + 1] if "snapshots" in parts else None


def _place(blob: Path, path: Path) -> None:
    """Link the cached file at `path`: no second copy of gigabytes; a symbolic link where disks differ."""
    path.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        os.link(blob, path)
        return
    path.symlink_to(blob)
