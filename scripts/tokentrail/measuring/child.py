"""Run a tool so that nothing is left behind, whatever dies first.

- the tool dies with this script, also by SIGKILL (Linux: PR_SET_PDEATHSIG);
- this script dies with the snakemake that started it, which by itself stops no running job on SIGTERM or SIGKILL;
- the tool has a session of its own, so Ctrl-C reaches it only through us, and its whole group is stopped.
"""

from __future__ import annotations

import contextlib
import ctypes
import datetime
import os
import re
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

from tokentrail.problems import Problem
from tokentrail.tools.failures import last_error

PR_SET_PDEATHSIG = 1
STOP_TIMEOUT_S = 10.0
WATCH_S = 0.5

# Loaded before any fork: the child between fork and exec must take no lock.
_LIBC = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


@dataclass
class Ended:
    """How a tool's process went. Times: UTC text, and monotonic ns; CPU time of the tool in seconds."""

    started_at: str
    ended_at: str
    start_ns: int
    end_ns: int
    exit_status: int | None
    signal: str | None
    timed_out: bool
    cpu_s: float


class Child:
    """A running tool. `poll()` tells whether it lives; `ended()` what became of it, once the context is left."""

    def __init__(self, argv: list[str], cwd: Path, env: dict[str, str], stdout: Path, stderr: Path) -> None:
        self.stderr_file = stderr
        self._cpu_before = _children_cpu_s()
        with stdout.open("wb") as out, stderr.open("wb") as err:
            self.started_at, self.start_ns = utc_now(), time.perf_counter_ns()
            try:
                self._process = subprocess.Popen(
                    argv,
                    cwd=cwd,
                    env=env,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=err,
                    start_new_session=True,
                    preexec_fn=_die_with(os.getpid()) if _LIBC else None,
                )
            except OSError as error:
                raise Problem(f"{argv[0]} cannot be started ({error.strerror}); build the engine again") from None
        self.pid = self._process.pid
        self._timed_out = False
        self._ended: Ended | None = None

    def poll(self) -> int | None:
        """Exit status, negative for a signal; None while it runs."""
        return self._process.poll()

    def ends_within(self, limit_s: float) -> bool:
        """Whether it has ended, or does so in this time; it is not stopped."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(limit_s)
        return self._process.poll() is not None

    def wait(self, timeout_s: float | None) -> None:
        """Wait for its end; stop it when the time is over."""
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self._timed_out = True
        self.stop()

    def stop(self) -> None:
        """End the tool and everything it started: politely, then by force. Does nothing the second time."""
        if self._ended:
            return
        if self._process.poll() is None:
            self._signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(STOP_TIMEOUT_S)
        if self._process.poll() is None:
            self._signal(signal.SIGKILL)
            self._process.wait()
        end_ns, ended_at, status = time.perf_counter_ns(), utc_now(), self._process.returncode
        # what it may have started itself, though llama.cpp's tools start nothing
        self._signal(signal.SIGKILL)
        self._ended = Ended(
            started_at=self.started_at,
            ended_at=ended_at,
            start_ns=self.start_ns,
            end_ns=end_ns,
            exit_status=status if status >= 0 else None,
            signal=signal.Signals(-status).name if status < 0 else None,
            timed_out=self._timed_out,
            cpu_s=_children_cpu_s() - self._cpu_before,
        )

    def ended(self) -> Ended:
        """What became of it; only after `stop` or `wait`."""
        assert self._ended, "the tool is still running"
        return self._ended

    def stderr_text(self) -> str:
        """What it wrote to stderr so far."""
        return self.stderr_file.read_text(encoding="utf-8", errors="replace")

    def last_words(self) -> str:
        """The last line of stderr that names an error, for an error message."""
        return last_error(self.stderr_text()) or "it said nothing"

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)


@contextlib.contextmanager
def child(argv: list[str], cwd: Path, env: dict[str, str], stdout: Path, stderr: Path) -> Iterator[Child]:
    """A tool that runs while the context lasts; it is gone when the context is left, by whatever way."""
    running = Child(argv, cwd, env, stdout, stderr)
    try:
        yield running
    finally:
        running.stop()


def die_with_snakemake() -> None:
    """Make this script end, running its `finally` blocks, on TERM, HUP, or when its snakemake is gone."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda received, frame: sys.exit(128 + received))
    boss = _snakemake()
    if boss:
        threading.Thread(target=_watch, args=(boss,), daemon=True, name="watch-snakemake").start()


def utc_now() -> str:
    """UTC with microseconds, as the schemas write it."""
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _die_with(parent: int) -> Callable[[], None]:
    def ask() -> None:
        _LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        # the parent may have died before the call above: then nobody would send the signal
        if os.getppid() != parent:
            os._exit(1)

    return ask


def _snakemake() -> psutil.Process | None:
    """The nearest ancestor that is a snakemake, started by its command or as `python -m snakemake`."""
    with contextlib.suppress(psutil.Error):
        for ancestor in psutil.Process().parents():
            with contextlib.suppress(psutil.Error):
                # no further words: a rule's shell has its whole command, with any path in it, as one
                if any(re.fullmatch(r"(\S*/)?snakemake(/__main__\.py)?", word) for word in ancestor.cmdline()[:3]):
                    return ancestor
    return None


def _watch(boss: psutil.Process) -> None:
    """`is_running` compares start times too, so a process that got the dead one's number is no mistake."""
    while boss.is_running() and boss.status() != psutil.STATUS_ZOMBIE:
        time.sleep(WATCH_S)
    os.kill(os.getpid(), signal.SIGTERM)


def _children_cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
