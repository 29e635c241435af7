"""What a tool's exit status and stderr say, as reasons a person can act on."""

from __future__ import annotations

import re
import signal

from tokentrail.tools.lenient_json import ANSI

# Build 11434 starts stderr lines with a clock and a level letter; older builds with neither.
_STAMP = re.compile(r"^\d+\.\d+\.\d+\.\d+ [A-Z] ")
_ERROR = re.compile(r"error|fail|unable|invalid|abort|assert|exceed|not found|cannot|couldn't|out of memory", re.I)
# Lines that mention an error word while telling of something else.
_NO_ERROR = re.compile(r"no error|ignoring|warning:|backtrace|\bgdb\b|ptrace", re.I)
_BAD_FLAG = re.compile(r"(?:invalid (?:parameter for )?argument|unknown (?:argument|option)):?\s*(\S+)", re.I)
_OUT_OF_MEMORY = re.compile(r"out of memory|cudaMalloc failed|failed to allocate|unable to allocate|bad_alloc", re.I)
_DECODE = re.compile(
    r"failed to decode|llama_decode\(\) failed|decode: failed|llama_decode: failed|failed to eval|"
    r"failed to find a memory slot|failed to find kv cache slot",
    re.I,
)


def reason(code: str, message: str) -> dict:
    """One reason or remark: a code for programs, a sentence for people."""
    return {"code": code, "message": message}


def plain_lines(text: str) -> list[str]:
    """Non-empty lines without colour codes, clock and level letter."""
    lines = (_STAMP.sub("", ANSI.sub("", line).strip()) for line in text.splitlines())
    return [line for line in lines if line]


def last_error(stderr: str) -> str | None:
    """The last line of stderr that names an error, else its last line, else None."""
    lines = plain_lines(stderr)
    errors = [line for line in lines if _ERROR.search(line) and not _NO_ERROR.search(line)]
    return (errors or lines or [None])[-1]


def unreadable(tool: str, text: str, formats: str) -> dict:
    """The reason where a text is not empty and yet none of the tool's formats."""
    start = next((line for line in plain_lines(text) if line not in ("[", "[]")), "")
    return reason("unreadable-output", f"this is no output of {tool} ({formats}); it begins with {start[:60]!r}")


def exit_words(status: int | None) -> str:
    """An exit status in words: 1 -> "exit status 1"; 137 or −9 -> with the signal that ended it; None: unknown."""
    if status is None:
        return "no exit status"
    number = -status if status < 0 else status - 128 if 128 < status < 160 else 0
    try:
        name = signal.Signals(number).name if number else ""
    except ValueError:
        name = ""
    hints = {"SIGABRT": "it aborted", "SIGKILL": "it was killed, often for memory", "SIGSEGV": "it crashed"}
    tail = f", {hints[name]}" if name in hints else ""
    return f"exit status {status}" + (f" ({name}{tail})" if name else "")


def bad_flag(stderr: str) -> str | None:
    """The command line flag a tool did not know, if that is why it ended."""
    for line in reversed(plain_lines(stderr)):
        match = _BAD_FLAG.search(line)
        if match:
            return match[1].strip("'\"")
    return None


def decode_failure(stderr: str) -> str | None:
    """A line telling that work was not done; builds before mid-May 2025 print a rate and exit 0 all the same."""
    return next((line for line in plain_lines(stderr) if _DECODE.search(line)), None)


def failed(tool: str, exit_status: int | None, stderr: str, finished: str) -> list[dict]:
    """Reasons of a run that ended with a status other than 0; `finished` says how much it got done."""
    flag = bad_flag(stderr)
    if flag:
        text = f"{tool} does not know {flag} (build too old or too new?); {exit_words(exit_status)}"
        return [reason("unknown-flag", text)]
    line = last_error(stderr)
    text = f"{tool} ended with {exit_words(exit_status)}: {line or 'it said nothing on stderr'}; {finished}"
    found = [reason("tool-failed", text)]
    memory = next((each for each in plain_lines(stderr) if _OUT_OF_MEMORY.search(each)), None)
    if memory:
        found.append(reason("out-of-memory", f"memory ran out ({memory}); use a smaller context, batch or model"))
    return found
