"""What a run leaves behind, where, and from where it may be started."""

from __future__ import annotations

import csv
import re
import subprocess
import zipfile
from pathlib import Path

from clones import RESOURCES, ROOT, Clone

MEASURING = {"measure_llama_bench", "measure_batched_bench", "measure_requests", "measure_read_ceiling"}


def test_products(clone: Clone) -> None:
    """All files that other programs may rely on are there and not empty."""
    run, pages = clone.run_dir(), clone.report_dir()

    files = [run / name for name in ("plan.json", "records.json", "numbers.json", "claims.json", "measurements.csv")]
    files += [pages / name for name in ("index.html", "report.md", "numbers.csv", "figures.json")]
    files += [clone.path / "results" / "measurements.csv", clone.path / "reports" / "index.html"]
    assert [path for path in files if not path.is_file() or not path.stat().st_size] == []
    assert len(list(run.glob("records/*.json"))) == len(list(run.glob("raw/*/*/measurement.json"))) == 6
    svg, png = ({path.stem for path in pages.glob(f"figures/*.{kind}")} for kind in ("svg", "png"))
    assert svg == png
    assert {"prefill-decode", "batching", "samples-strip"} <= svg
    with (clone.path / "results" / "measurements.csv").open(encoding="utf-8") as stream:
        machines = {row["machine"] for row in csv.DictReader(stream)}
    # a try-out is committed nowhere, so the committed table over all runs must not show it
    assert machines == {"rtx4090"}


def test_lost_product_is_made_again(clone: Clone) -> None:
    """A deleted file in the middle of the chain comes back, although all that was made of it is still there."""
    (clone.run_dir() / "claims.json").unlink()

    planned = clone.planned()

    assert planned["check_claims"] == 1
    assert not MEASURING & planned.keys()


def test_resources_moved(clone: Clone, tmp_path: Path) -> None:
    """Models and builds found at another place are used there; nothing is measured, built or fetched again."""
    (tmp_path / "elsewhere").symlink_to(RESOURCES)
    clone.resources = str(tmp_path / "elsewhere")

    assert clone.planned() == {}
    clone.edit("config/campaigns/smoke.yaml", "n_prompt: [32]", "n_prompt: [48]")
    planned = clone.planned()
    assert planned["measure_llama_bench"] == 1
    assert not {"build_engine", "get_model", "get_tokenizer"} & planned.keys()


def test_audit_measures_nothing(fresh: Clone) -> None:
    """Whoever audits committed runs on a computer of their own measures nothing there."""
    planned = fresh.planned("audit")

    assert planned["audit"] == 1
    assert not MEASURING & planned.keys()


def test_named_by_weights(fresh: Clone) -> None:
    """Other weights than the campaign's own are part of the run's name."""
    done = fresh.snakemake("-n", "--config", "campaign=lesson", "weights=stand-in")
    assert "/lesson-stand-in/index.html" in done.stderr
    done = fresh.snakemake("-n", "--config", "campaign=portable", "weights=stand-in")
    assert "/portable/index.html" in done.stderr


def test_started_elsewhere(clone: Clone, tmp_path: Path) -> None:
    """Started in another folder, it works where its Snakefile lies; told to work elsewhere, it says why not."""
    snakefile = str(clone.path / "Snakefile")

    away = clone.snakemake("-n", "--snakefile", snakefile, cwd=tmp_path)
    assert "Nothing to be done" in away.stdout + away.stderr

    told = clone.snakemake("-n", "--snakefile", snakefile, "--directory", str(tmp_path), cwd=tmp_path, check=False)
    assert told.returncode == 1
    assert f"not present or accessible (full checked path: {tmp_path}/config/config.yaml)" in told.stdout + told.stderr


def test_snakemake_report(clone: Clone, tmp_path: Path) -> None:
    """Snakemake's own report holds pages and numbers with captions, in a file or an archive, and loads nothing."""
    command = [word for word in clone.command("--report", str(tmp_path / "out.html")) if word not in ("--cores", "1")]
    told = subprocess.run(command, cwd=clone.path, env=clone.environment(), capture_output=True, text=True)
    assert told.returncode == 0, told.stderr
    text = (tmp_path / "out.html").read_text(encoding="utf-8")
    for caption in ("Each number opens its trail", "Every number of the run", "All runs side by side"):
        assert caption in " ".join(text.split())
    assert [name for name in ("Page", "Numbers", "All runs") if f'"{name}"' not in text] == []
    assert not re.findall(r"<(?:script|link|img)\b[^>]*(?:src|href)=[\"']?https?:", text)

    clone.snakemake("--report", str(tmp_path / "out.zip"))
    with zipfile.ZipFile(tmp_path / "out.zip") as archive:
        held = {archive.read(name) for name in archive.namelist() if name.endswith(("/index.html", "/numbers.csv"))}
    here = clone.report_dir()
    files = (here / "index.html", here / "numbers.csv", clone.path / "reports" / "index.html")
    assert held == {file.read_bytes() for file in files}


def test_imported_run_gets_its_page(clone: Clone) -> None:
    """A pasted table becomes a run by one command, and a page by the next snakemake; nothing is measured."""
    table = ROOT / "tests" / "fixtures" / "cases" / "a18-bench-markdown" / "new.md"
    done = clone.script(
        "scripts/import_run.py", "--machine", "pasted", "--engine", "b1-cuda", "--campaign", "paste", str(table)
    )
    assert done.returncode == 0, done.stderr
    page = "reports/pasted/b1-cuda/paste/index.html"

    assert not MEASURING & clone.planned(page).keys()
    clone.snakemake()

    assert (clone.path / page).is_file()
    assert "pasted/b1-cuda/paste/index.html" in (clone.path / "reports" / "index.html").read_text()
    assert clone.planned() == {}
