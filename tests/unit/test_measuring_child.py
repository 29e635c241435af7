"""Nothing is left behind: real processes, killed in every way that leaves orphans elsewhere."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import psutil
import pytest

from tokentrail.measuring import child as module
from tokentrail.measuring.child import Child, child
from tokentrail.problems import Problem

SCRIPTS = Path(module.__file__).parents[2]
LINUX = sys.platform == "linux"

# The measuring script: starts a tool, says which, and stays.
SCRIPT = """
import os, sys, time
from pathlib import Path
from tokentrail.measuring import child as module
from tokentrail.measuring.child import child, die_with_snakemake
module.STOP_TIMEOUT_S = 1
die_with_snakemake()
folder = Path(sys.argv[1])
tool = [sys.executable, "-c", sys.argv[2]]
with child(tool, folder, dict(os.environ), folder / "out", folder / "err") as running:
    (folder / "pids").write_text(f"{os.getpid()} {running.pid}")
    time.sleep(120)
"""
OBEDIENT = "import time; time.sleep(120)"
# Ignores SIGTERM, and has a child of its own in its group.
STUBBORN = (
    "import signal, subprocess, time; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
    "subprocess.Popen(['sleep', '120']); time.sleep(120)"
)
# As Snakemake runs a rule: a shell, and in it the script. The file's name is what makes it a snakemake.
SNAKEMAKE = """
import subprocess, sys
subprocess.run(["bash", "-c", 'set -e; "$@"; true', "bash", *sys.argv[1:]])
"""


def run(folder: Path, argv: list[str], **more) -> Child:
    return Child(argv, folder, dict(os.environ), folder / "out", folder / "err", **more)


@pytest.fixture
def started(tmp_path: Path):
    """A "snakemake" whose script runs a tool: (its process, pid of the script, pid of the tool)."""
    processes = []

    def start(tool: str = OBEDIENT) -> tuple[subprocess.Popen, int, int]:
        boss, script = tmp_path / "snakemake", tmp_path / "script.py"
        boss.write_text(textwrap.dedent(SNAKEMAKE))
        script.write_text(textwrap.dedent(SCRIPT))
        env = {**os.environ, "PYTHONPATH": str(SCRIPTS)}
        command = [sys.executable, str(boss), sys.executable, str(script), str(tmp_path), tool]
        process = subprocess.Popen(command, env=env, start_new_session=True)
        processes.append(process)
        pids = wait_for(lambda: (tmp_path / "pids").exists() and (tmp_path / "pids").read_text())
        time.sleep(0.3)  # the tool has come as far as its own first lines
        own, pid = map(int, pids.split())
        return process, own, pid

    yield start
    for process in processes:
        for one in psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []:
            one.kill()
        process.kill()
        process.wait()


def wait_for(condition, limit_s: float = 15.0):
    """The condition's value, once it is true."""
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        if value := condition():
            return value
        time.sleep(0.05)
    raise AssertionError("it did not happen in time")


def gone(pid: int) -> bool:
    """No such process, or one that is dead and only not collected yet."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


@pytest.mark.skipif(not LINUX, reason="the kernel's help to die with the parent is Linux's")
@pytest.mark.parametrize("tool", [OBEDIENT, STUBBORN], ids=["obedient", "stubborn"])
@pytest.mark.parametrize("way", ["kill snakemake", "kill script", "term group", "hup group", "int group"])
def test_nothing_is_left(started, way: str, tool: str) -> None:
    """Whoever dies first, and how: script and tool are gone soon after."""
    boss, script, pid = started(tool)

    if way == "kill snakemake":
        boss.kill()
    elif way == "kill script":
        os.kill(script, signal.SIGKILL)
    else:
        os.killpg(boss.pid, {"term": signal.SIGTERM, "hup": signal.SIGHUP, "int": signal.SIGINT}[way.split()[0]])

    wait_for(lambda: gone(script) and gone(pid))


def test_python_m_snakemake_is_a_snakemake(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its command line names the package's file, not the command."""

    class Ancestor:
        def __init__(self, *words: str) -> None:
            self.words = words

        def cmdline(self) -> list[str]:
            return list(self.words)

    wanted = Ancestor("/usr/bin/python3", "/x/site-packages/snakemake/__main__.py", "--cores", "1")
    others = [Ancestor("bash", "-c", "cd /data/snakemake/x; python3 x.py"), Ancestor("python3", "snakemake.py")]

    class Process:
        def parents(self) -> list[Ancestor]:
            return [*others, wanted]

    monkeypatch.setattr(module.psutil, "Process", Process)

    assert module._snakemake() is wanted


def test_output_and_status(tmp_path: Path) -> None:
    """Both streams apart, verbatim; exit status; times on one clock."""
    with child(["sh", "-c", "echo out; echo err >&2; exit 3"], tmp_path, {}, tmp_path / "o", tmp_path / "e") as tool:
        tool.wait(10)

    ended = tool.ended()
    assert (tmp_path / "o").read_text() == "out\n"
    assert (tmp_path / "e").read_text() == "err\n"
    assert (ended.exit_status, ended.signal, ended.timed_out) == (3, None, False)
    assert ended.end_ns > ended.start_ns


def test_timeout(tmp_path: Path) -> None:
    """Stopped when its time is over, with the signal that did it."""
    tool = run(tmp_path, ["sleep", "60"])

    tool.wait(0.2)

    assert tool.ended().timed_out
    assert tool.ended().signal == "SIGTERM"
    assert gone(tool.pid)


def test_by_force(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that ignores SIGTERM is killed after the grace time, and so are its own children."""
    monkeypatch.setattr(module, "STOP_TIMEOUT_S", 0.3)
    tool = run(tmp_path, [sys.executable, "-c", STUBBORN])
    (grandchild,) = wait_for(lambda: psutil.Process(tool.pid).children())

    tool.stop()
    tool.stop()

    assert tool.ended().signal == "SIGKILL"
    wait_for(lambda: gone(grandchild.pid))


def test_error_in_the_context(tmp_path: Path) -> None:
    """An exception in our own code leaves no tool either."""
    with pytest.raises(ZeroDivisionError), child(["sleep", "60"], tmp_path, {}, tmp_path / "o", tmp_path / "e") as tool:
        1 / 0  # noqa: B018

    assert gone(tool.pid)


def test_no_such_tool(tmp_path: Path) -> None:
    """One sentence, not a traceback."""
    with pytest.raises(Problem, match="engines/x/bin/llama-bench cannot be started"):
        run(tmp_path, ["engines/x/bin/llama-bench"])
