"""One measurement at a time; a dead holder holds nothing."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from tokentrail.machine import lock

SCRIPTS = Path(lock.__file__).parents[2]
HOLD = """
import time
from tokentrail.machine.lock import whole_machine
with whole_machine():
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def holder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Another process that holds the lock."""
    monkeypatch.setenv("TOKENTRAIL_LOCK", str(tmp_path / "lock"))
    monkeypatch.setenv("PYTHONPATH", str(SCRIPTS))
    process = subprocess.Popen([sys.executable, "-c", HOLD], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"held\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def test_waits_and_says_so(holder, tmp_path: Path, monkeypatch, capfd) -> None:
    """The second waits, names the lock after a while, and goes on when the holder is killed."""
    monkeypatch.setattr(lock, "SAY_AFTER_S", 0.2)
    killer = subprocess.Popen(["sh", "-c", f"sleep 0.6; kill -9 {holder.pid}"])
    start = time.monotonic()

    with lock.whole_machine():
        waited = time.monotonic() - start
    killer.wait()

    assert waited >= 0.5
    assert str(tmp_path / "lock") in capfd.readouterr().err


def test_free_lock_says_nothing(tmp_path: Path, capfd) -> None:
    """Alone: no waiting, no message, and it can be taken again."""
    for _ in range(2):
        with lock.whole_machine(tmp_path / "deep" / "lock"):
            pass

    assert capfd.readouterr().err == ""


def test_another_users_file(tmp_path: Path) -> None:
    """A lock file that may only be read serves as well."""
    path = tmp_path / "lock"
    path.touch(mode=0o444)

    with lock.whole_machine(path):
        pass


def test_children_do_not_inherit_it(tmp_path: Path) -> None:
    """A server that outlived us would otherwise keep the machine locked."""
    path = tmp_path / "lock"
    with lock.whole_machine(path):
        child = subprocess.Popen(["sleep", "5"], close_fds=False)
    start = time.monotonic()

    with lock.whole_machine(path):
        waited = time.monotonic() - start
    child.kill()
    child.wait()

    assert waited < 1
