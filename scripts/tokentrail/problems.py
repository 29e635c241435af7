"""Errors that a user can act on, and how they reach the terminal."""

from __future__ import annotations

import contextlib
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path


class Problem(Exception):
    """A fault whose text is the one line for the user: the thing, the cause, what to do."""


_UNEXPECTED = " (unexpected)"


@contextlib.contextmanager
def reported(log: Path | None, what: str) -> Iterator[None]:
    """Turn an exception into one line, on stderr and beside the log, and exit with status 1.

    `log` gets the traceback; `log` with suffix `.problem` gets the line, which the Snakefile's
    `onerror` collects, so that a user reads one sentence and not a traceback. `what` names the job.
    """
    note = log.with_suffix(".problem") if log else None
    if note:
        note.parent.mkdir(parents=True, exist_ok=True)
        note.unlink(missing_ok=True)
    try:
        yield
    except Exception as error:
        text = _sentence(error)
        if log and note:
            with log.open("a", encoding="utf-8") as stream:
                traceback.print_exc(file=stream)
            note.write_text(f"{what}: {text}\n", encoding="utf-8")
        elif text.endswith(_UNEXPECTED):
            traceback.print_exc()
        print(f"{what}: {text}", file=sys.stderr)
        sys.exit(1)


def _sentence(error: Exception) -> str:
    """What a user reads of an exception; a disk that is full or a folder that may not be written is no bug of ours."""
    if isinstance(error, Problem):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        place = error.filename or "the output"
        return f"{place}: {error.strerror}; free space there, or name a place that you may read and write"
    return f"{type(error).__name__}: {error}{_UNEXPECTED}"
