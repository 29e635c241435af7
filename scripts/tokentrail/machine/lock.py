"""One measurement at a time on one machine, also across checkouts and users.

The kernel frees the lock when the holder dies, however it dies. Children do not inherit it.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

# A second measurement waits; after this time it says for what.
SAY_AFTER_S = 2.0
POLL_S = 0.1


def lock_file() -> Path:
    """The machine's lock: TOKENTRAIL_LOCK, else a file in the folder for temporary files that all users share."""
    own = os.environ.get("TOKENTRAIL_LOCK")
    if own:
        return Path(own)
    shared = Path("/tmp")  # not TMPDIR, which differs between users and jobs
    return (shared if shared.is_dir() else Path(tempfile.gettempdir())) / "tokentrail-machine.lock"


@contextlib.contextmanager
def whole_machine(path: Path | None = None) -> Iterator[None]:
    """Hold the machine; wait for another measurement to end, saying so on stderr after two seconds."""
    path = path or lock_file()
    descriptor = _open(path)
    try:
        _wait(descriptor, path)
        yield
    finally:
        os.close(descriptor)


def _open(path: Path) -> int:
    """Read access is enough to lock, so another user's file serves as well; see fs.protected_regular in /tmp."""
    while True:
        with contextlib.suppress(FileNotFoundError):
            return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        with contextlib.suppress(FileExistsError):
            path.parent.mkdir(parents=True, exist_ok=True)
            return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)


def _wait(descriptor: int, path: Path) -> None:
    start, said = time.monotonic(), False
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except OSError as error:
            if error.errno not in (errno.EACCES, errno.EAGAIN):
                raise
        if not said and time.monotonic() - start > SAY_AFTER_S:
            print(f"waiting: another measurement holds this machine ({path})", file=sys.stderr, flush=True)
            said = True
        time.sleep(POLL_S)
