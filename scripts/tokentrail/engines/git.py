"""Provider `git`: a tag or commit of llama.cpp from any repository, built here.

The commit must be known before anything is fetched, because it enters the name. A full commit hash is itself. A tag
is asked of the repository once (`git ls-remote`) and remembered in RESOURCES/git-refs.json, so that planning needs
no network later and a tag that somebody moves does not silently change what is measured; delete the file to ask
anew. A branch is refused: it moves by design.

llama.cpp's build number is the number of commits up to it, known only after a fetch of the whole history. So the
name says `b{number}` where config's build_number or a tag like b11434 tells it, and `g{8 digits of the commit}`
otherwise; the true number is then counted at build time, stamped into the tools and written in the manifest.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

from tokentrail import jsonio
from tokentrail.engines import recipe
from tokentrail.problems import Problem

_COMMIT = re.compile(r"^[0-9a-f]{40}$")


def identify(engine: dict, machine: dict, resources: Path) -> dict[str, Any]:
    """Identity of the build of engine.git.ref on this machine. Raises Problem for a branch or an unknown ref."""
    wanted = engine.get("git")
    if not wanted:
        raise Problem("config/config.yaml lacks engine.git (url, ref)")
    url, ref = wanted["url"], wanted["ref"]
    commit = resolve(url, ref, resources)
    number = wanted.get("build_number") or build_number_of(ref)
    made = recipe.build_recipe({"commit": commit}, engine, machine, number)
    return {
        "name": recipe.name_of(made, f"b{number}" if number else f"g{commit[:8]}"),
        "provider": "git",
        "build_number": number,
        "backend": made["backend"],
        "recipe": made,
        "source": {"url": url, "ref": ref, "commit": commit},
    }


def build_number_of(ref: str) -> int | None:
    """The build number in a release tag of llama.cpp ("b11434" -> 11434), None for other names."""
    found = re.match(r"^b(\d+)$", ref)
    return int(found[1]) if found else None


def resolve(url: str, ref: str, resources: Path) -> str:
    """Full commit hash of a tag or commit; asks the repository only for a tag not asked for before."""
    if _COMMIT.match(ref):
        return ref
    file = resources / "git-refs.json"
    known = jsonio.read_json(file) if file.exists() else {}
    key = f"{url} {ref}"
    if key not in known:
        known[key] = _ask(url, ref)
        jsonio.write_json(file, known)
    return known[key]


def _ask(url: str, ref: str) -> str:
    text = _git("ls-remote", "--", url, f"refs/tags/{ref}", f"refs/tags/{ref}^{{}}", f"refs/heads/{ref}", timeout_s=60)
    found = {name: commit for commit, name in (line.split("\t") for line in text.splitlines())}
    tag = found.get(f"refs/tags/{ref}^{{}}") or found.get(f"refs/tags/{ref}")
    if tag:
        return tag
    if f"refs/heads/{ref}" in found:
        head = found[f"refs/heads/{ref}"]
        raise Problem(f"engine.git.ref {ref!r} is a branch, which moves; name a tag or a commit (it is at {head} now)")
    raise Problem(
        f"{url} has no tag {ref!r}; name a tag such as b11434, or all 40 digits of a commit, in engine.git.ref"
    )


def unpack(identity: dict, resources: Path, target: Path) -> dict[str, Any]:
    """Check the commit out into `target`; returns facts for the manifest, the counted build number among them.

    Without a number told beforehand the history is needed (commits only: files of other commits are not fetched
    where the server can leave them out).
    """
    source = identity["source"]
    target.mkdir(parents=True, exist_ok=True)
    _git("-C", str(target), "init", "--quiet")
    counted = identity["build_number"] is None
    depth = ["--filter=blob:none"] if counted else ["--depth=1"]
    fetched = [source["commit"]] if source["ref"] == source["commit"] else [f"refs/tags/{source['ref']}"]
    _git("-C", str(target), "fetch", "--quiet", "--no-tags", *depth, source["url"], *fetched)
    if _git("-C", str(target), "rev-parse", "FETCH_HEAD^{commit}").strip() != source["commit"]:
        raise Problem(
            f"tag {source['ref']} of {source['url']} no longer is commit {source['commit']}; name the commit in "
            f"engine.git.ref, or delete {resources / 'git-refs.json'} to take the tag as it is now"
        )
    if counted:  # the files left out above are fetched at checkout, from a remote that must have a name
        _git("-C", str(target), "remote", "add", "origin", source["url"])
        _git("-C", str(target), "config", "remote.origin.promisor", "true")
        _git("-C", str(target), "config", "remote.origin.partialclonefilter", "blob:none")
    _git("-C", str(target), "checkout", "--quiet", "--detach", source["commit"])
    number = identity["build_number"]
    if counted:
        number = int(_git("-C", str(target), "rev-list", "--count", "HEAD"))
    return {**source, "build_number": number}


def _git(*arguments: str, timeout_s: float = 3600) -> str:
    """Standard output of a git command; raises Problem with what git called fatal. Never asks for a password."""
    environment = {**os.environ, "GIT_TERMINAL_PROMPT": "0", "GIT_ASKPASS": "true", "LC_ALL": "C"}
    try:
        done = subprocess.run(
            ["git", *arguments], capture_output=True, text=True, timeout=timeout_s, check=False, env=environment
        )
    except FileNotFoundError:
        raise Problem(
            "git was not found; install it (Debian/Ubuntu: apt install git) or use engine.provider pypi"
        ) from None
    except subprocess.TimeoutExpired:
        raise Problem(
            f"git {arguments[0]} did not end in {timeout_s:.0f} s; check the network and engine.git.url"
        ) from None
    if done.returncode:
        said = done.stderr.strip().splitlines() or ["no message"]
        told = next((line for line in said if line.startswith(("fatal:", "error:"))), said[-1])
        raise Problem(
            f"git {' '.join(arguments[:4])} failed ({told}); check engine.git.url, engine.git.ref and the network"
        )
    return done.stdout
