"""Errors that a user can act on, and how they reach the terminal."""

from __future__ import annotations

import contextlib
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path


class Problem(Exception):
    """A fault whose text is the one line for the user: the thing, the cause, what to do."""


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
        text = str(error) if isinstance(error, Problem) else f"{type(error).__name__}: {error} (unexpected)"
        if log and note:
            with log.open("a", encoding="utf-8") as stream:
                traceback.print_exc(file=stream)
            note.write_text(f"{what}: {text}\n", encoding="utf-8")
        elif not isinstance(error, Problem):
            traceback.print_exc()
        print(f"{what}: {text}", file=sys.stderr)
        sys.exit(1)
