"""Only what changed runs again: real Snakemake on a really measured campaign, jobs counted."""

from __future__ import annotations

import json
import os
import shutil
import subprocess

from clones import RESOURCES, Clone, copy_repository

MEASURING = {"measure_llama_bench", "measure_batched_bench", "measure_requests", "measure_read_ceiling"}
FETCHING = {"build_engine", "get_model", "get_tokenizer"}


def _measures_nothing(planned: dict[str, int]) -> bool:
    return not (MEASURING | FETCHING) & planned.keys()


def test_nothing_changed(clone: Clone) -> None:
    """A second run has nothing to do."""
    assert clone.planned() == {}


def test_all_touched(clone: Clone) -> None:
    """New time stamps alone rerun nothing: inputs are compared by content."""
    for path in [*clone.path.glob("scripts/**/*.py"), *clone.path.glob("config/**/*.yaml")]:
        os.utime(path)

    assert clone.planned() == {}


def test_parser_edited(clone: Clone) -> None:
    """A parser's edit makes records and all after them again, and measures nothing."""
    clone.append("scripts/tokentrail/tools/llama_bench.py", "\n# a remark\n")

    planned = clone.planned()

    assert planned["make_records"] == planned["derive_numbers"] == clone.runs()
    assert _measures_nothing(planned)


def test_formula_edited(clone: Clone) -> None:
    """A formula's edit derives numbers again from the same records."""
    clone.append("scripts/tokentrail/numbers/bench.py", "\n# a remark\n")

    planned = clone.planned()

    assert "make_records" not in planned
    assert planned["derive_numbers"] == clone.runs()
    assert _measures_nothing(planned)


def test_schema_edited(clone: Clone) -> None:
    """A record schema's edit makes records again, and measures nothing."""
    clone.edit("config/schemas/record.schema.json", '"One case measured', '"A case measured')

    planned = clone.planned()

    assert planned["make_records"] == clone.runs()
    assert _measures_nothing(planned)


def test_measuring_script_edited(clone: Clone) -> None:
    """A comment in a measuring script reruns nothing at all."""
    clone.append("scripts/measure_llama_bench.py", "\n# a remark\n")

    assert clone.planned() == {}


def test_figure_edited(clone: Clone) -> None:
    """A figure's edit draws that figure alone and writes the page again, for real."""
    figures = clone.path / "reports" / clone.run_dir().relative_to(clone.path / "results") / "figures"
    before = {path: path.stat().st_mtime_ns for path in figures.iterdir()}
    clone.append("scripts/tokentrail/figures/batching.py", "\n# a remark\n")

    planned = clone.planned()

    assert planned["plot_figures"] == 1
    assert planned["render_report"] == 1
    assert not {"make_records", "derive_numbers"} & planned.keys()
    assert _measures_nothing(planned)
    clone.snakemake()
    drawn = {path.stem for path, stamp in before.items() if path.stat().st_mtime_ns != stamp}
    assert drawn == {"batching"}
    assert clone.planned() == {}


def test_case_changed(clone: Clone) -> None:
    """A case's arguments measure that case again; its older measurement stays."""
    before = sorted(clone.run_dir().glob("raw/bench-small/*/measurement.json"))
    clone.edit("config/campaigns/smoke.yaml", "n_prompt: [32]", "n_prompt: [48]")

    planned = clone.planned()
    assert planned["measure_llama_bench"] == 1
    assert not (MEASURING - {"measure_llama_bench"} | FETCHING) & planned.keys()

    clone.snakemake()
    after = sorted(clone.run_dir().glob("raw/bench-small/*/measurement.json"))
    assert len(after) == 2
    assert set(before) < set(after)
    record = json.loads((clone.run_dir() / "records" / "bench-small.json").read_text())
    assert [test["label"] for test in record["tests"]] == ["pp48", "tg16"]


def test_title_changed(clone: Clone) -> None:
    """A case's title is no part of what was measured."""
    clone.edit("config/campaigns/smoke.yaml", "title: Many users at once", "title: Several users at once")

    assert _measures_nothing(clone.planned())


def test_engine_upgraded_and_reinstalled(clone: Clone, tmp_path) -> None:
    """Another engine measures anew, fetches no model, and keeps the older results; reinstalled, it measures nothing."""
    old = clone.run_dir()
    kept = {path: path.read_bytes() for path in old.rglob("*") if path.is_file()}
    # an engine of this test only must not stay in the shared folder
    own = tmp_path / "resources"
    shutil.copytree(RESOURCES, own, copy_function=os.symlink, ignore=shutil.ignore_patterns("build", "hashes.json"))
    clone.resources = str(own)
    installed = tmp_path / "installed"
    shutil.copytree(f"{RESOURCES}/engines/{old.parent.name}/bin", installed, symlinks=True)
    # an ELF file may carry more than it needs: other bytes, same tool
    with (installed / "llama-bench").open("ab") as stream:
        stream.write(b"an upgrade")
    clone.edit("config/config.yaml", "provider: pypi", "provider: path")
    clone.edit("config/config.yaml", "backend: auto", f"backend: auto\n  path: {{folder: {installed}}}")

    planned = clone.planned()
    assert planned["build_engine"] == 1
    assert sum(planned.get(rule, 0) for rule in MEASURING) == 6
    assert not {"get_model", "get_tokenizer"} & planned.keys()

    clone.snakemake()
    assert {path: path.read_bytes() for path in kept} == kept
    assert len(list((clone.path / "results").glob("*/*/smoke/numbers.json"))) == 2

    for path in installed.iterdir():
        copy = path.with_name("again")
        if not path.is_symlink():
            shutil.copyfile(path, copy)
            shutil.copymode(path, copy)
            copy.replace(path)
    assert clone.planned() == {}

    # the same content at another place: found there, for what is still to be measured
    installed.rename(tmp_path / "moved")
    clone.edit("config/config.yaml", f"folder: {installed}", f"folder: {tmp_path / 'moved'}")
    assert clone.planned() == {}
    clone.edit("config/campaigns/smoke.yaml", "n_prompt: [32]", "n_prompt: [48]")
    planned = clone.planned()
    assert planned["build_engine"] == planned["measure_llama_bench"] == 1


def test_fresh_clone_of_committed_runs(measured: Clone, tmp_path) -> None:
    """Whoever clones committed runs measures nothing, and deriving all of them anew changes no byte."""
    clone = copy_repository(tmp_path / "all", all_runs=True)
    for part in (measured.run_dir(), measured.report_dir()):
        shutil.copytree(part, clone.path / part.relative_to(measured.path))

    def git(*arguments: str, cwd=clone.path) -> str:
        identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
        return subprocess.run(
            ["git", *identity, *arguments], cwd=cwd, capture_output=True, text=True, check=True
        ).stdout

    git("init", "--quiet")
    git("add", "--all", "--force", "results", "reports")
    git("add", "--all")
    git("commit", "--quiet", "--message", "measured")
    other = tmp_path / "other"
    git("clone", "--quiet", str(clone.path), str(other))
    second = Clone(other)

    assert _measures_nothing(second.planned("everything"))
    second.snakemake("everything", "--forcerun", "make_records")

    assert git("status", "--porcelain", cwd=other) == ""

    elsewhere = ("everything", "--config", "campaign=smoke", "machine=elsewhere")
    assert _measures_nothing(second.planned(*elsewhere))
    second.snakemake(*elsewhere)
    assert git("status", "--porcelain", cwd=other) == "", "looking at stored runs on another machine leaves nothing"
