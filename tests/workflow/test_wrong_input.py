"""Wrong input is refused before anything runs, in one sentence with file, key and what is allowed."""

from __future__ import annotations

import pytest
from clones import Clone

SMOKE = "config/campaigns/smoke.yaml"


@pytest.mark.parametrize(
    ("file", "old", "new", "words"),
    [
        pytest.param(
            "config/config.yaml",
            "strict:",
            "strickt:",
            ["config/config.yaml", "'strickt'", "'strict'"],
            id="unknown key",
        ),
        pytest.param(
            "config/config.yaml", "provider: pypi", "provider: brew", ["provider", "pypi, git, path"], id="provider"
        ),
        pytest.param(
            SMOKE, "tool: llama-batched-bench", "tool: llama-batch-bench", [SMOKE, "llama-batched-bench"], id="tool"
        ),
        pytest.param(
            SMOKE, "model: qwen3-0.6b-q8_0", "model: qwen3-06b", [SMOKE, "bench-big", "'qwen3-0.6b-q8_0'"], id="model"
        ),
        pytest.param(SMOKE, "n_prompt: [32]", "n_promt: [32]", [SMOKE, "'n_promt'", "'n_prompt'"], id="argument"),
        pytest.param(
            SMOKE, "n_prompt: [32]", "n_prompt: [32, 32]", [SMOKE, "bench-small", "32 twice"], id="same test twice"
        ),
        pytest.param(
            SMOKE,
            "npl: [1, 2, 4]",
            "npl: [1, 2, 64]",
            [SMOKE, "batched-small", "ctx_size"],
            id="context too small",
            marks=(),
        ),
        pytest.param(SMOKE, "max_tokens: 16", "max_tokens: 1", [SMOKE, "request-short", "2 or more"], id="one token"),
        pytest.param(
            SMOKE, "max_tokens: 16", "max_tokens: 4096", [SMOKE, "request-short", "ctx_size"], id="answer too long"
        ),
        pytest.param(SMOKE, "prompt: question", "prompt: questoin", [SMOKE, "'question'"], id="prompt"),
        pytest.param(SMOKE, "processes: 3", "processes: 0", [SMOKE, "processes"], id="no process"),
        pytest.param(SMOKE, "id: bench-big", "id: bench-small", [SMOKE, "bench-small", "twice"], id="same id twice"),
        pytest.param(SMOKE, "cases:", "cases: [", [SMOKE, "line", "not valid YAML"], id="no YAML"),
    ],
)
def test_refused(fresh: Clone, file: str, old: str, new: str, words: list[str]) -> None:
    """One sentence names the file, the key and what is allowed; no plan is written."""
    if "64" in new:
        fresh.edit(SMOKE, "npp: [16], ntg: [16]", "npp: [512], ntg: [16]")
    fresh.edit(file, old, new)

    done = fresh.snakemake("-n", check=False)

    said = done.stdout + done.stderr
    assert done.returncode == 1
    assert [word for word in words if word not in said] == []
    assert "Traceback" not in said
    assert not list((fresh.path / "results").glob("*/*/smoke"))


def test_unknown_campaign(fresh: Clone) -> None:
    """A misspelt campaign is answered with the nearest name."""
    done = fresh.snakemake("-n", "--config", "campaign=portabel", check=False)

    assert done.returncode == 1
    assert "did you mean 'portable'?" in done.stdout + done.stderr


def test_folder_taken(clone: Clone) -> None:
    """A folder that holds something else is not written into."""
    run = clone.run_dir()
    (run / "plan.json").unlink()

    done = clone.snakemake("-n", check=False)

    assert done.returncode == 1
    assert "is taken" in done.stdout + done.stderr
    assert "move them" in done.stdout + done.stderr
