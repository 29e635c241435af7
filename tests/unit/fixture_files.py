"""Recorded inputs for the tests: shared cases by their number, streams with arrival times."""

import base64
import json
from pathlib import Path

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"


def case(number: str, name: str) -> bytes:
    """One file of the case whose folder starts with `number`: case("a07", "stderr.txt")."""
    (folder,) = (FIXTURES / "cases").glob(f"{number}-*")
    return (folder / name).read_bytes()


def case_text(number: str, name: str) -> str:
    return case(number, name).decode()


def case_status(number: str) -> int:
    """The exit status beside a case, 0 where none is recorded."""
    (folder,) = (FIXTURES / "cases").glob(f"{number}-*")
    path = folder / "rc.txt"
    return int(path.read_text()) if path.exists() else 0


def recorded_stream(name: str) -> tuple[list[tuple[int, bytes]], dict]:
    """(pieces as received, time from the sent request in ns; request body) of a real answer."""
    head, *lines = (FIXTURES / "streams" / f"{name}.jsonl").read_text().splitlines()
    pieces = [json.loads(line) for line in lines]
    return [(p["t_ns"], base64.b64decode(p["data"])) for p in pieces], json.loads(head)["body"]


def codes(items: list[dict]) -> list[str]:
    return [item["code"] for item in items]


def messages(items: list[dict]) -> str:
    return " / ".join(item["message"] for item in items)
