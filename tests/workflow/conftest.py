"""A copy of the repository, measured once for real, from which every test takes a copy of its own."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from clones import Clone, copy_repository


@pytest.fixture(scope="session")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Clone:
    """A clone in which the smoke campaign was run for real (the first time: with the build of llama.cpp)."""
    clone = copy_repository(tmp_path_factory.mktemp("measured"))
    # forced, so that Snakemake remembers the published run's jobs too
    clone.snakemake("all", "everything", "--forcerun", "make_records")
    return clone


@pytest.fixture
def clone(measured: Clone, tmp_path: Path) -> Clone:
    """A copy of the measured clone, time stamps and Snakemake's memory kept."""
    target = tmp_path / "clone"
    shutil.copytree(measured.path, target, symlinks=True)
    return Clone(target)


@pytest.fixture
def fresh(tmp_path: Path) -> Clone:
    """A clone in which nothing ran."""
    return copy_repository(tmp_path / "fresh")
