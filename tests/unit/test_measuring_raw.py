"""Raw appears complete or not at all; whatever did not finish is kept in failed/; nothing finished is overwritten."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tokentrail import jsonio
from tokentrail.measuring import raw
from tokentrail.problems import Problem


@pytest.fixture(autouse=True)
def no_schema(monkeypatch: pytest.MonkeyPatch) -> None:
    """These tests are about places, not about contents."""
    monkeypatch.setattr(jsonio, "validate", lambda *_: None)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """Where the workflow wants the measurement; like Snakemake, the folder is made before."""
    path = tmp_path / "run/raw/case/abcd1234/measurement.json"
    path.parent.mkdir(parents=True)
    return path


def failed(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "run/failed/case").glob("*")) if (tmp_path / "run/failed/case").exists() else []


def test_keep(out: Path, tmp_path: Path) -> None:
    """Files and measurement.json come to their place together; nothing else remains."""
    with raw.writing(out, tmp_path / "run/failed", "case") as place:
        (place.folder / "x.txt").write_text("said")
        assert not out.exists()
        place.keep({"status": "measured"})

    assert raw.measured(out)
    assert (out.parent / "x.txt").read_text() == "said"
    assert [p.name for p in out.parents[1].iterdir()] == ["abcd1234"]
    assert failed(tmp_path) == []


def test_never_overwritten(out: Path, tmp_path: Path) -> None:
    """A finished measurement is refused as a target, and stays as it is."""
    out.write_text('{"status": "measured"}')

    with pytest.raises(Problem, match="set_aside"), raw.writing(out, tmp_path / "run/failed", "case"):
        pass

    assert out.read_text() == '{"status": "measured"}'


def test_fail(out: Path, tmp_path: Path) -> None:
    """The evidence goes to failed/, the note of it to raw/; the next attempt replaces the note only."""
    for _ in range(2):
        with raw.writing(out, tmp_path / "run/failed", "case") as place:
            (place.folder / "x.txt").write_text("said")
            place.fail({"status": "failed", "problem": "p"})

    note = json.loads(out.read_text())
    assert not raw.measured(out)
    assert [p.name for p in out.parent.iterdir()] == ["measurement.json"]
    assert len(failed(tmp_path)) == 2
    for folder in failed(tmp_path):
        assert (folder / "x.txt").exists()
        assert (folder / "measurement.json").exists()
    assert (tmp_path / "run" / note["evidence"]).is_dir()


def test_failed_then_measured(out: Path, tmp_path: Path) -> None:
    """A note of failure gives way to a measurement."""
    for end in ("fail", "keep"):
        with raw.writing(out, tmp_path / "run/failed", "case") as place:
            getattr(place, end)({"status": "measured" if end == "keep" else "failed"})

    assert raw.measured(out)
    assert len(failed(tmp_path)) == 1


def test_stopped_in_the_middle(out: Path, tmp_path: Path) -> None:
    """Ctrl-C: what there is is kept."""
    with pytest.raises(KeyboardInterrupt), raw.writing(out, tmp_path / "run/failed", "case") as place:
        (place.folder / "half.txt").write_text("half")
        raise KeyboardInterrupt

    assert [(f / "half.txt").read_text() for f in failed(tmp_path)] == ["half"]


def test_killed_before(out: Path, tmp_path: Path) -> None:
    """kill -9 leaves a partial folder, which the next attempt puts aside; an empty one just goes."""
    (out.parents[1] / ".abcd1234.partial-1").mkdir()
    (out.parents[1] / ".abcd1234.partial-1/half.txt").write_text("half")
    (out.parents[1] / ".abcd1234.partial-2").mkdir()
    (out.parents[1] / ".ffff0000.partial-3").mkdir()

    with raw.writing(out, tmp_path / "run/failed", "case") as place:
        place.keep({"status": "measured"})

    assert [(f / "half.txt").read_text() for f in failed(tmp_path)] == ["half"]
    assert sorted(p.name for p in out.parents[1].iterdir()) == [".ffff0000.partial-3", "abcd1234"]


def test_files_without_their_measurement(out: Path, tmp_path: Path) -> None:
    """Snakemake deletes an output before it makes it again; the streams beside it are not lost."""
    (out.parent / "process-0.stdout.txt").write_text("old")

    with raw.writing(out, tmp_path / "run/failed", "case") as place:
        place.keep({"status": "measured"})

    assert [(f / "process-0.stdout.txt").read_text() for f in failed(tmp_path)] == ["old"]
    assert not (out.parent / "process-0.stdout.txt").exists()


def test_set_aside(out: Path, tmp_path: Path) -> None:
    """Moved, not deleted; afterwards it can be measured again."""
    out.write_text('{"status": "measured"}')

    (place,) = raw.set_aside(tmp_path / "run", "case")

    assert (place / "measurement.json").read_text() == '{"status": "measured"}'
    with raw.writing(out, tmp_path / "run/failed", "case") as again:
        again.keep({"status": "measured"})


@pytest.mark.parametrize(("case", "key"), [("", None), (".", None), ("..", None), ("case", ".."), ("case", "")])
def test_set_aside_moves_one_case_only(out: Path, tmp_path: Path, case: str, key: str | None) -> None:
    """An empty name, as of a variable that was not set, is no case; nothing else is moved in its stead."""
    out.write_text('{"status": "measured"}')

    with pytest.raises(Problem, match="no measurement of case"):
        raw.set_aside(tmp_path / "run", case, key)

    assert out.exists()
    assert not (tmp_path / "run/failed").exists()


def test_set_aside_of_a_printed_run(out: Path, tmp_path: Path) -> None:
    """What was measured elsewhere would be lost from the run for good."""
    out.write_text('{"status": "measured"}')
    (tmp_path / "run/plan.json").write_text('{"origin": "transcribed"}')

    with pytest.raises(Problem, match="measured elsewhere"):
        raw.set_aside(tmp_path / "run", "case")

    assert out.exists()


def test_set_aside_of_nothing(out: Path, tmp_path: Path) -> None:
    """A misspelt case names those that exist."""
    with pytest.raises(Problem, match=r"no measurement of case cse .measured cases: case"):
        raw.set_aside(tmp_path / "run", "cse")
    with pytest.raises(Problem, match="with key 00000000"):
        raw.set_aside(tmp_path / "run", "case", "00000000")
