"""Where a measurement is written: in a folder of its own that appears complete or not at all. Nothing is ever lost.

raw/{case}/{key}/            the finished measurement: measurement.json and what the tool said, hashed inside it
raw/{case}/.{key}.partial-N/ one being made by process N
failed/{case}/{time}/        every attempt that did not finish: failed, stopped, or killed
"""

from __future__ import annotations

import contextlib
import datetime
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tokentrail import jsonio
from tokentrail.problems import Problem

FILE = "measurement.json"


class Raw:
    """The folder of one measurement in the making; `keep` or `fail` ends it."""

    def __init__(self, out: Path, failed: Path, case_id: str) -> None:
        self._out, self._failed, self._case_id = out, failed, case_id
        self.folder = out.parent.with_name(f".{out.parent.name}.partial-{os.getpid()}")

    def open(self) -> None:
        """Refuse to replace a finished measurement; put aside what killed attempts left; make the folder."""
        if measured(self._out):
            raise Problem(
                f"{self._out} is already measured and is never overwritten; "
                "scripts/set_aside.py moves it to failed/ so that it is measured again"
            )
        self.leftovers()
        self.folder.mkdir(parents=True)

    def leftovers(self) -> None:
        """Move to failed/ what earlier attempts at this key left. The machine's lock is ours, so none still runs."""
        for left in sorted(self.folder.parent.glob(f".{self._out.parent.name}.partial-*")):
            self._to_failed(left)
        final = self._out.parent
        if final.is_dir() and any(file.name != FILE for file in final.iterdir()):
            self._to_failed(final)

    def keep(self, measurement: dict[str, Any]) -> None:
        """The measurement is complete: it gets its final place, in one step."""
        jsonio.write_json(self.folder / FILE, measurement, "measurement")
        self._clear_final()
        self.folder.rename(self._out.parent)

    def fail(self, measurement: dict[str, Any]) -> Path:
        """It failed: the evidence goes to failed/, and a copy of measurement.json tells the workflow so."""
        target = self._place()
        measurement = {**measurement, "evidence": str(target.relative_to(self._failed.parent))}
        jsonio.write_json(self.folder / FILE, measurement, "measurement")
        target.parent.mkdir(parents=True, exist_ok=True)
        self.folder.rename(target)
        jsonio.write_json(self._out, measurement, "measurement")
        return target

    def interrupted(self) -> None:
        """We were stopped in the middle: what there is goes to failed/."""
        if self.folder.is_dir():
            self._to_failed(self.folder)

    def stream(self, name: str) -> dict[str, Any]:
        """What the schema calls a stream: file name, SHA-256 and size of a file in this folder."""
        path = self.folder / name
        return {"file": name, "sha256": jsonio.sha256_file(path), "bytes": path.stat().st_size}

    def _clear_final(self) -> None:
        """Only an empty folder (made by the workflow), or a note of failure whose evidence lies in failed/, may go."""
        final = self._out.parent
        (final / FILE).unlink(missing_ok=True)
        with contextlib.suppress(FileNotFoundError):
            final.rmdir()

    def _to_failed(self, folder: Path) -> None:
        if not any(folder.iterdir()):
            folder.rmdir()
            return
        target = self._place()
        target.parent.mkdir(parents=True, exist_ok=True)
        folder.rename(target)

    def _place(self) -> Path:
        return free_place(self._failed / self._case_id)


@contextlib.contextmanager
def writing(out: Path, failed: Path, case_id: str) -> Iterator[Raw]:
    """A measurement in the making; whatever is unfinished when the context is left is kept in failed/."""
    raw = Raw(out, failed, case_id)
    raw.open()
    try:
        yield raw
    finally:
        raw.interrupted()


def measured(path: Path) -> bool:
    """Whether this file is a finished measurement."""
    return path.is_file() and jsonio.read_json(path).get("status") == "measured"


def free_place(folder: Path) -> Path:
    """A folder named by the time now (UTC), below `folder`, that does not exist yet."""
    stamp = datetime.datetime.now(datetime.UTC).strftime("%Y%m%dT%H%M%SZ")
    target, n = folder / stamp, 2
    while target.exists():
        target, n = folder / f"{stamp}-{n}", n + 1
    return target


def set_aside(run: Path, case_id: str, key: str | None = None) -> list[Path]:
    """Move a case's measurement (of this key, or all) to failed/, so that it is measured again. Deletes nothing.

    Returns the new places. Raises Problem when there is nothing to move.
    """
    known = sorted(path.name for path in (run / "raw").glob("[!.]*") if path.is_dir())
    # Only what a folder of raw/ is called: "", ".." or a path would move more than one case.
    folder = run / "raw" / case_id
    keys = sorted(path.name for path in folder.glob("[!.]*") if path.is_dir()) if case_id in known else []
    found = [folder / name for name in keys if key in (None, name)]
    plan = run / "plan.json"
    if found and plan.exists() and jsonio.read_json(plan).get("origin") == "transcribed":
        raise Problem(f"{run} was measured elsewhere and cannot be measured again; nothing was moved")
    if not found:
        raise Problem(
            f"{run} has no measurement of case {case_id}{f' with key {key}' if key else ''} "
            f"(measured cases: {', '.join(known) or 'none'})"
        )
    moved = []
    for path in found:
        target = free_place(run / "failed" / case_id)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(path, target)
        moved.append(target)
    return moved
