"""One llama-server for all tools, and what it says itself about every request: the reference for each of them.

Its log is read from a pipe, so that lines are seen the moment they are written and nothing is polled while a tool
measures. At the end of each request the CPU clocks of the tool's processes are read too.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tokentrail.measuring.server import free_port, get

_TIME = re.compile(r"task (\d+) \|\s+(prompt eval|eval) time =\s+([\d.]+) ms /\s+(\d+) tokens")
_END = re.compile(r"task (\d+) \| stop processing")
READY_S = 120.0


@dataclass
class Served:
    """One request as the server logs it: tokens and ms; `ended_ns` when its last line came; the client's CPU so far."""

    task: int
    prompt_n: int = 0
    prompt_ms: float = 0.0
    predicted_n: int = 0
    predicted_ms: float = 0.0
    ended_ns: int = 0
    cpu_ns: int = 0

    @property
    def tpot_ms(self) -> float | None:
        """Time of one decode step: `predicted_ms` runs from the first token to the last."""
        return self.predicted_ms / (self.predicted_n - 1) if self.predicted_n > 1 else None


class Log:
    """Requests in the order they ended. `watch` is the session id of the tool whose CPU time is read."""

    def __init__(self) -> None:
        self.requests: list[Served] = []
        self.watch: int | None = None
        self._open: dict[int, Served] = {}

    def line(self, text: str) -> None:
        """Take one line of the server's log."""
        if found := _TIME.search(text):
            task, which, ms, tokens = found.groups()
            request = self._open.setdefault(int(task), Served(int(task)))
            if which == "eval":
                request.predicted_ms, request.predicted_n = float(ms), int(tokens)
            else:
                request.prompt_ms, request.prompt_n = float(ms), int(tokens)
        elif (found := _END.search(text)) and (request := self._open.pop(int(found[1]), None)):
            request.ended_ns = time.perf_counter_ns()
            request.cpu_ns = session_cpu_ns(self.watch) if self.watch else 0
            self.requests.append(request)


class Server:
    """A running server: `port`, `log`, `argv`."""

    def __init__(self, argv: list[str], port: int) -> None:
        self.argv, self.port, self.log, self._last = argv, port, Log(), ""
        self._process = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        for text in self._process.stderr:
            self._last = text
            self.log.line(text)

    def wait_ready(self) -> None:
        """Until the model is loaded; RuntimeError when it never is."""
        start = time.monotonic()
        while get(self.port, "/health")[0] != 200:
            if self._process.poll() is not None or time.monotonic() - start > READY_S:
                raise RuntimeError(f"llama-server did not start: {self._last.strip()}")
            time.sleep(0.02)

    def wait_served(self, count: int, limit_s: float = 10.0) -> list[Served]:
        """The requests so far, once they are `count`; the log's last line follows the answer by a moment."""
        start = time.monotonic()
        while len(self.log.requests) < count and time.monotonic() - start < limit_s:
            time.sleep(0.002)
        return self.log.requests

    def stop(self) -> None:
        """End it."""
        self._process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(10)
        self._process.kill()
        self._process.wait()
        self._reader.join(5)
        self._process.stderr.close()


@contextlib.contextmanager
def serving(program: Path, model: Path, flags: list[str]) -> Iterator[Server]:
    """A server on a free port of 127.0.0.1, ready, and gone afterwards."""
    port = free_port()
    server = Server([str(program), "-m", str(model), "--host", "127.0.0.1", "--port", str(port), *flags], port)
    try:
        server.wait_ready()
        yield server
    finally:
        server.stop()


def session_cpu_ns(session: int) -> int:
    """CPU time of all living processes of a session, ended threads included, in ns."""
    total = 0
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        with contextlib.suppress(OSError):
            if os.getsid(int(name)) == session:
                # the CPU clock of another process: see clock_getcpuclockid(3)
                total += time.clock_gettime_ns((~int(name) << 3) | 2)
    return total
