"""Every recorded case has its row in tests/README.md, and no input of a case crashes a parser."""

import re
from pathlib import Path

import pytest
from fixture_files import FIXTURES

from tokentrail import jsonio
from tokentrail.tools import batched_bench, host_texts, llama_bench, server_answers, server_stream, version_text

README = Path(__file__).resolve().parents[1] / "README.md"
CASES = sorted(FIXTURES.glob("cases/*"))
FILES = [f for folder in CASES for f in sorted(folder.iterdir())]


def test_readme_maps_every_case_to_a_test_that_exists():
    """One row a case; its test file and test function are there."""
    rows = dict(re.findall(r"^\| ([a-f]\d\d) \|.*\| (`[^|]*`) \|$", README.read_text(), re.M))

    assert sorted(rows) == [c.name[:3] for c in CASES]
    for number, tests in rows.items():
        for file, function in re.findall(r"`(test_\w+\.py)(?:::(test_\w+))?`", tests):
            text = (README.parent / "unit" / file).read_text()
            assert not function or f"def {function}(" in text, f"{number}: {file}::{function}"


@pytest.mark.parametrize("path", FILES, ids=lambda p: f"{p.parent.name[:3]}-{p.name}")
@pytest.mark.parametrize("status", [0, 1, 134, -9])
def test_any_text_in_any_parser(path, status):
    """Text of the wrong kind gives reasons and valid JSON, never an exception."""
    data = path.read_bytes()
    text = data.decode("utf-8", errors="replace")
    for tables in (False, True):
        for found in (
            llama_bench.parse(data, status, text, [], allow_tables=tables),
            batched_bench.parse(data, status, text, [], allow_tables=tables),
        ):
            jsonio.dumps(found)
            assert found["reasons"]
    for request in (server_stream.parse_sse(data), server_stream.parse([(1, data)], 0)):
        jsonio.dumps(request)
    server_answers.error_body(status, data)
    server_answers.health(status, data, child_exit=None, stderr=text)
    server_answers.thinking_switch(text)
    host_texts.lscpu(text)
    host_texts.gpu_processes(text)
    host_texts.driver_problem(text)
    version_text.parse_version(text)
