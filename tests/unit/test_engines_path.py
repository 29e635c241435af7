"""Installed llama.cpp: found, fingerprinted by content, noticed when upgraded, named when missing."""

from __future__ import annotations

import os
import re

import engines_help as helper
import pytest

from tokentrail import engines, jsonio
from tokentrail.engines import filehash, manifest, path
from tokentrail.problems import Problem

OLD = "version: 9876 (0a1b2c3d)\nbuilt with GNU 12.2.0 for Linux x86_64\n"
NEW = "version: 0.6.0-dev (build 11434, commit 515e855)\nbuilt with GNU 12.2.0 for Linux x86_64\n"
CUDA = "Available devices:\n  CUDA0: Test GPU (100 MiB, 90 MiB free)\n"


@pytest.fixture
def installed(tmp_path):
    """A folder with the three tools in the newer wording, and settings that name it."""
    for tool in engines.TOOLS:
        helper.program(tmp_path / "opt" / tool, NEW)
    return tmp_path / "opt", {"provider": "path", "path": {"folder": str(tmp_path / "opt")}}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (OLD, (9876, "0a1b2c3d")),
        (NEW, (11434, "515e855")),
        ("version: 11434 (unknown)\n", (11434, "unknown")),
        ("version: 0 (unknown)\n", (None, "unknown")),
        ("ggml_cuda_init: found 1 CUDA devices\n" + OLD, (9876, "0a1b2c3d")),
        ("llama.cpp, a fork\n", (None, "unknown")),
    ],
    ids=["old", "new", "no-commit", "plain-source", "after-other-lines", "other"],
)
def test_version_wordings(text, expected):
    """Both wordings of --version give build number and commit; 0 means not known."""
    assert manifest.version_of(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (CUDA, ["CUDA0"]),
        ("Available devices:\n  (none)\n", []),
        ("Available devices:\n  Vulkan0: A (1 MiB)\n  Vulkan1: B (1 MiB)\n", ["Vulkan0", "Vulkan1"]),
        ("error: unknown argument: --list-devices\n", []),
    ],
)
def test_device_lists(text, expected):
    """Device names out of what --list-devices prints."""
    assert path.devices_of(text) == expected


def test_found_named_linked(tmp_path, installed):
    """The folder's tools are identified and linked, with a manifest that holds their hashes."""
    folder, settings = installed
    identity = engines.identify(settings, helper.CPU, tmp_path / "res")
    engine_dir = tmp_path / "res" / "engines" / identity["name"]
    engines.provide(identity, engine_dir, None, tmp_path / "res")
    document = jsonio.read_json(engine_dir / "manifest.json", "engine")

    assert re.fullmatch(r"b11434-cpu-[0-9a-f]{8}", identity["name"])
    assert os.path.realpath(engine_dir / "bin" / "llama-bench") == str(folder / "llama-bench")
    assert document["binaries"] == {tool: jsonio.sha256_file(folder / tool) for tool in engines.TOOLS}
    assert (document["build_number"], document["commit"]) == (11434, "515e855")


def test_library_is_found_by_the_name_it_is_asked_for(tmp_path, installed):
    """The linker asks for libggml.so.0, not for the file's own name; the manifest still holds each file once."""
    folder, settings = installed
    (folder / "libggml.so.0.26.0").write_bytes(b"code")
    (folder / "libggml.so.0").symlink_to("libggml.so.0.26.0")
    (folder / "libggml.so").symlink_to("libggml.so.0")
    identity = engines.identify(settings, helper.CPU, tmp_path / "res")
    engine_dir = tmp_path / "res" / "engines" / identity["name"]
    engines.provide(identity, engine_dir, None, tmp_path / "res")

    assert {path.name for path in (engine_dir / "bin").glob("lib*")} == {
        "libggml.so", "libggml.so.0", "libggml.so.0.26.0",
    }  # fmt: skip
    assert (engine_dir / "bin" / "libggml.so.0").read_bytes() == b"code"
    document = jsonio.read_json(engine_dir / "manifest.json", "engine")
    assert [name for name in document["binaries"] if name.startswith("lib")] == ["libggml.so.0.26.0"]


def test_path_is_searched_and_links_followed(tmp_path, installed, monkeypatch):
    """Without a folder, PATH is searched; links such as brew's lead to the real files."""
    folder, settings = installed
    (tmp_path / "links").mkdir()
    for tool in engines.TOOLS:
        (tmp_path / "links" / tool).symlink_to(folder / tool)
    monkeypatch.setenv("PATH", f"{tmp_path / 'links'}:{os.environ['PATH']}")
    by_path = engines.identify({"provider": "path", "path": {"folder": None}}, helper.CPU, tmp_path / "res")

    assert by_path == engines.identify(settings, helper.CPU, tmp_path / "res")


def test_missing_tool_is_named_with_the_place(tmp_path, installed):
    """One sentence: which tool, where it was looked for."""
    folder, settings = installed
    (folder / "llama-batched-bench").unlink()

    with pytest.raises(
        Problem, match=f"^llama-batched-bench was not found in {folder}, which engine.path.folder names"
    ):
        engines.identify(settings, helper.CPU, tmp_path / "res")


def test_identical_reinstall_keeps_the_name(tmp_path, installed):
    """The same bytes, new files and times: the same engine."""
    folder, settings = installed
    before = engines.identify(settings, helper.CPU, tmp_path / "res")["name"]
    for tool in engines.TOOLS:
        data = (folder / tool).read_bytes()
        (folder / tool).unlink()
        (folder / tool).write_bytes(data)
        (folder / tool).chmod(0o755)

    assert engines.identify(settings, helper.CPU, tmp_path / "res")["name"] == before


def test_upgrade_with_an_old_time_is_noticed(tmp_path, installed, monkeypatch):
    """New content of the same size under the old modification time, as package managers leave it."""
    folder, settings = installed
    monkeypatch.setattr(filehash, "_SETTLED_NS", -1)  # remember hashes of files just written
    before = engines.identify(settings, helper.CPU, tmp_path / "res")["name"]
    tool = folder / "llama-server"
    state = tool.stat()
    tool.write_text(tool.read_text().replace("11434", "11435"))
    os.utime(tool, ns=(state.st_atime_ns, state.st_mtime_ns))
    after = engines.identify(settings, helper.CPU, tmp_path / "res")

    assert after["name"] != before
    assert after["build_number"] == 11435


def test_upgraded_library_is_noticed(tmp_path, installed):
    """A backend beside the tools, loaded at run time, is part of the engine."""
    folder, settings = installed
    (folder / "libggml-cpu-haswell.so").write_bytes(b"one")
    before = engines.identify(settings, helper.CPU, tmp_path / "res")
    (folder / "libggml-cpu-haswell.so").write_bytes(b"two")
    after = engines.identify(settings, helper.CPU, tmp_path / "res")

    assert "libggml-cpu-haswell.so" in before["recipe"]["contents"]
    assert after["name"] != before["name"]


def test_tools_are_asked_once(tmp_path):
    """The second parse starts no tool: versions and devices are remembered with the content."""
    calls = tmp_path / "calls"
    for tool in engines.TOOLS:
        helper.program(tmp_path / "opt" / tool, NEW, calls=calls)
    settings = {"provider": "path", "path": {"folder": str(tmp_path / "opt")}}
    engines.identify(settings, helper.CPU, tmp_path / "res")
    before = calls.read_text()
    engines.identify(settings, helper.CPU, tmp_path / "res")

    assert calls.read_text() == before


def test_backend_is_what_the_tools_list(tmp_path):
    """A build that lists CUDA0 is a CUDA engine; asking it for Vulkan is refused."""
    for tool in engines.TOOLS:
        helper.program(tmp_path / "opt" / tool, OLD, CUDA)
    settings = {"provider": "path", "path": {"folder": str(tmp_path / "opt")}}

    assert engines.identify(settings, helper.GPU, tmp_path / "res")["name"].startswith("b9876-cuda-")
    with pytest.raises(Problem, match=r"engine.backend is vulkan, but .*llama-bench lists CUDA0"):
        engines.identify({**settings, "backend": "vulkan"}, helper.GPU, tmp_path / "res")


def test_change_between_plan_and_link_is_refused(tmp_path, installed):
    """The name must not cover other binaries than those hashed."""
    folder, settings = installed
    identity = engines.identify(settings, helper.CPU, tmp_path / "res")
    helper.program(folder / "llama-bench", OLD)

    with pytest.raises(Problem, match="llama-bench changed since this run was planned"):
        engines.provide(identity, tmp_path / "engine", None, tmp_path / "res")


def test_tool_that_does_not_start_is_told(tmp_path, installed):
    """A broken install stops at parse time."""
    folder, settings = installed
    (folder / "llama-server").write_text("#!/bin/sh\nexit 1\n")

    with pytest.raises(Problem, match="llama-server does not start"):
        engines.identify(settings, helper.CPU, tmp_path / "res")


def test_torn_memory_costs_time_only(tmp_path, installed):
    """A broken cache file is taken as empty."""
    _, settings = installed
    name = engines.identify(settings, helper.CPU, tmp_path / "res")["name"]
    (tmp_path / "res" / "engines" / "hashes.json").write_text('{"torn')

    assert engines.identify(settings, helper.CPU, tmp_path / "res")["name"] == name
