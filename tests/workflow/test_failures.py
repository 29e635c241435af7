"""A case that fails leaves the others' results, its own evidence and one line; the report still comes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from clones import Clone, write_campaign

GOOD = {
    "id": "good",
    "step": "4",
    "title": "Works",
    "tool": "llama-bench",
    "role": "bench-small",
    "model": "smollm2-135m-instruct-q4_1",
    "arguments": {"n_prompt": [16], "n_gen": [8], "repetitions": 3},
}
BAD = {
    **GOOD,
    "id": "bad",
    "title": "Does not",
    "role": "bench-big",
    "arguments": {**GOOD["arguments"], "extra": ["--bogus"]},
}


def test_failed_case(clone: Clone) -> None:
    """Exit status 1, one line with case and cause, evidence kept, report written; tried again; then mended."""
    write_campaign(clone, "mixed", [GOOD, BAD])

    done = clone.snakemake(campaign="mixed", check=False)

    run = clone.run_dir("mixed")
    assert done.returncode == 1
    assert "WHAT WENT WRONG" in done.stderr
    assert "bad: " in done.stderr
    assert "--bogus" in done.stderr
    assert json.loads((run / "records" / "good.json").read_text())["valid"]
    assert not json.loads((run / "records" / "bad.json").read_text())["valid"]
    (evidence,) = run.glob("failed/bad/*/measurement.json")
    assert json.loads(evidence.read_text())["status"] == "failed"
    page = (clone.path / "reports" / run.relative_to(clone.path / "results") / "index.html").read_text()
    assert "--bogus" in page

    assert clone.planned(campaign="mixed")["measure_llama_bench"] == 1
    assert clone.snakemake(campaign="mixed", check=False).returncode == 1
    assert len(list(run.glob("failed/bad/*/measurement.json"))) == 2

    kept = evidence.read_bytes()
    write_campaign(clone, "mixed", [GOOD, {**BAD, "arguments": GOOD["arguments"]}])
    planned = clone.planned(campaign="mixed")
    assert planned["measure_llama_bench"] == 1
    clone.snakemake(campaign="mixed")
    assert evidence.read_bytes() == kept
    assert clone.planned(campaign="mixed") == {}


def test_model_not_to_be_had(clone: Clone, monkeypatch) -> None:
    """A model that cannot be fetched fails its own cases only, with the reason."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    clone.append(
        "config/models.yaml",
        "\n  missing-model:\n    label: none\n    name: No such model\n    tokenizer: qwen3\n    licence: none\n"
        "    hub: {repo: tokentrail/no-such-model, file: none.gguf, revision: main}\n",
    )
    write_campaign(clone, "mixed", [GOOD, {**BAD, "model": "missing-model", "arguments": GOOD["arguments"]}])
    clone.edit("config/campaigns/mixed.yaml", "weights: stand-in", "weights: hub")

    done = clone.snakemake(campaign="mixed", check=False)

    assert done.returncode == 1
    assert "its model could not be had" in done.stderr
    assert json.loads((clone.run_dir("mixed") / "records" / "good.json").read_text())["valid"]


def test_tokenizer_not_to_be_had(clone: Clone, tmp_path, monkeypatch) -> None:
    """Without Qwen's vocabulary only the cases of stand-ins fail, with the reason; once it is to be had, they run."""
    shared = Path(clone.resources)
    own = tmp_path / "resources"
    for name in ("engines", "tools", "models/wheel"):
        shutil.copytree(shared / name, own / name, symlinks=True)
    clone.resources = str(own)
    for setting in ("PIP_INDEX_URL", "UV_DEFAULT_INDEX"):
        monkeypatch.setenv(setting, "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    write_campaign(clone, "mixed", [GOOD, {**BAD, "model": "qwen3-0.6b-q8_0", "arguments": GOOD["arguments"]}])

    done = clone.snakemake(campaign="mixed", check=False)

    assert done.returncode == 1
    assert "stand-in weights carry Qwen's vocabulary" in done.stderr
    assert json.loads((clone.run_dir("mixed") / "records" / "good.json").read_text())["valid"]
    assert (clone.report_dir("mixed") / "index.html").is_file()
    planned = clone.planned(campaign="mixed")
    assert planned["get_tokenizer"] == planned["get_model"] == planned["measure_llama_bench"] == 1
