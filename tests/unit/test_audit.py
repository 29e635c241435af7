"""The audit: trails down to the raw line, tampering with each kind of file named, retyped numbers found.

Covers: look-up by id, claim and printed text; the raw line and place of every number of the published and a made run;
a changed byte in raw, measurement, record, numbers, table, ledger; a missing one; Markdown and HTML.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import made_run
import pytest

from tokentrail import audit, claims, config, jsonio, trail
from tokentrail.audit import texts
from tokentrail.figures.data import load
from tokentrail.numbers import table
from tokentrail.problems import Problem
from tokentrail.report import table as report_table

ROOT = Path(__file__).resolve().parents[2]
NAME = "rtx4090/b12110-cuda/lesson"
PUBLISHED = ROOT / "results" / NAME
CLAIMS = config.read_yaml(config.CONFIG / "claims.yaml", "claims")["claims"]


@pytest.fixture
def results(tmp_path):
    """A results folder with a copy of the published run."""
    shutil.copytree(PUBLISHED, tmp_path / "results" / NAME)
    return tmp_path / "results"


@pytest.fixture(scope="module")
def documents():
    return {NAME: jsonio.read_json(PUBLISHED / "numbers.json", "numbers")}


def change(path, old, new):
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def faults(results, run=NAME):
    return audit.check_run(results / run, results)["faults"]


def test_untouched_run_holds(results):
    """As committed, every file is what its raw gives."""
    assert faults(results) == []


@pytest.mark.parametrize(
    ("file", "old", "new", "named", "dependent"),
    [
        (
            "raw/bench-big/transcribed/llama-bench-qwen3-8b-gpu.md",
            "163.99",
            "163.98",
            "raw/bench-big/transcribed/llama-bench-qwen3-8b-gpu.md",
            "decode-bandwidth-share-8b-gpu",
        ),
        (
            "raw/bench-big/transcribed/measurement.json",
            "5021827072",
            "5021827073",
            "raw/bench-big/transcribed/measurement.json",
            "tensors-8b",
        ),
        ("records/bench-big.json", "163.99", "163.98", "records/bench-big.json", "decode-rate-8b-gpu"),
        ("numbers.json", "163.99", "163.98", "numbers.json", "decode-rate-8b-gpu"),
        ("measurements.csv", "163.99", "163.98", "measurements.csv", None),
        ("claims.json", "about 56 times", "about 57 times", "claims.json", None),
        ("records.json", '"valid": true', '"valid": false', "records.json", None),
        ("raw/host.yaml", "gpu:", "gpu :", "raw/host.yaml", None),
        ("raw/commands.yaml", "llama", "lama", "raw/commands.yaml", None),
        ("plan.json", '"n_prompt": [\n     512', '"n_prompt": [\n     513', "plan.json", "decode-rate-8b-gpu"),
        (
            "plan.json",
            "Both halves apart, bigger model",
            "Another title",
            "records/bench-big.json",
            "decode-rate-8b-gpu",
        ),
    ],
    ids=[
        "raw",
        "measurement",
        "record",
        "numbers",
        "table",
        "ledger",
        "index",
        "host",
        "commands",
        "arguments",
        "plan",
    ],
)
def test_changed_byte_names_its_file_and_numbers(results, file, old, new, named, dependent):
    """Whatever was changed, the audit names that file and what rests on it."""
    change(results / NAME / file, old, new)
    found = {fault["file"]: fault["numbers"] for fault in faults(results)}

    assert named in found
    if dependent:
        assert dependent in found[named]


@pytest.mark.parametrize(
    "file",
    [
        "raw/serve-small/transcribed/gpu-memory.csv",
        "raw/serve-small/transcribed/measurement.json",
        "records/serve-small.json",
        "measurements.csv",
        "claims.json",
        "records.json",
        "plan.json",
        "numbers.json",
        "raw/host.yaml",
    ],
)
def test_missing_file_is_named(results, file):
    """A deleted file is a fault, with its name."""
    (results / NAME / file).unlink()

    assert file in [fault["file"] for fault in faults(results)]


def test_missing_numbers_are_a_fault(results):
    """A run whose numbers are gone does not hold."""
    (results / NAME / "numbers.json").unlink()

    assert "numbers.json is missing" in faults(results)[0]["what"]


def test_numbers_that_rest_on_a_changed_number_are_named(results):
    """A changed number takes what is made of it with it."""
    change(results / NAME / "numbers.json", '"value": 163.99', '"value": 163.98')
    (found,) = [fault for fault in faults(results) if fault["file"] == "numbers.json"]

    assert {"decode-rate-8b-gpu", "decode-bandwidth-8b-gpu", "decode-bandwidth-share-8b-gpu"} <= set(found["numbers"])


def test_file_that_no_measurement_names(results):
    """What was put beside the evidence is no evidence."""
    folder = results / NAME / "raw" / "bench-big" / "transcribed"
    (folder / "more.md").write_text("| test | t/s |")

    assert [fault["file"] for fault in faults(results)] == ["raw/bench-big/transcribed/more.md"]


@pytest.mark.parametrize("move", [shutil.copytree, shutil.move])
def test_run_in_another_folder(results, move):
    """A run that was renamed or copied is not the run of that name."""
    other = "rtx4090/b12110-cuda/lesson-2"
    move(results / NAME, results / other)
    (fault,) = [f for f in faults(results, other) if f["file"] == "plan.json"]

    assert f"is the plan of run {NAME}, but lies in {other}" in fault["what"]
    assert "decode-rate-8b-gpu" in fault["numbers"]


def test_raw_of_two_cases_swapped(results):
    """Both are named."""
    small, big = (results / NAME / "raw" / case / "transcribed" for case in ("bench-small", "bench-big"))
    small.rename(small.with_name("x"))
    big.rename(small)
    small.with_name("x").rename(big)

    files = {fault["file"] for fault in faults(results)}
    assert {f"raw/{case}/transcribed/measurement.json" for case in ("bench-small", "bench-big")} <= files


@pytest.fixture
def pages(tmp_path, results):
    """reports/{run}/ with one figure and the run's table, as a render leaves them."""
    folder = tmp_path / "reports" / NAME
    (folder / "figures").mkdir(parents=True)
    note = {"schema_version": 1, "figure": "f", "drawn": True, "title": "8B decodes 164.0 tokens/s", "description": ""}
    jsonio.write_json(folder / "figures" / "f.json", note)
    (folder / "figures" / "f.svg").write_text("<svg>164</svg>")
    files = {"f.svg": jsonio.sha256_file(folder / "figures" / "f.svg")}
    jsonio.write_json(folder / "figures.json", {"schema_version": 1, "figures": {"f": {**note, "files": files}}})
    for name in ("index.html", "report.md"):
        (folder / name).write_text("x")
    (folder / "numbers.csv").write_text(report_table.text(load(results / NAME)))
    return folder


def page_faults(pages, results, documents):
    return [
        f["file"].removeprefix(f"reports/{NAME}/")
        for f in audit.check_pages(pages, results / NAME, NAME, documents[NAME])
    ]


def test_untouched_pages_hold(pages, results, documents):
    assert page_faults(pages, results, documents) == []
    assert audit.check_pages(pages / "not-there", results / NAME, NAME, documents[NAME]) == []


@pytest.mark.parametrize(
    ("file", "old", "new", "named"),
    [
        ("figures/f.svg", "164", "165", "figures/f.svg"),
        ("figures/f.json", "164.0", "165.0", "figures/f.json"),
        ("figures.json", "164.0 tokens/s", "165.0 tokens/s", "figures.json"),
        ("figures.json", '"figures"', '"pictures"', "figures.json"),
        ("figures.json", "{", "", "figures.json"),
        ("numbers.csv", "163.99", "163.98", "numbers.csv"),
    ],
)
def test_changed_page_file_is_named(pages, results, documents, file, old, new, named):
    """A figure by its hash, its words and the table by the numbers."""
    change(pages / file, old, new)

    assert named in page_faults(pages, results, documents)


@pytest.mark.parametrize(
    "file", ["figures/f.svg", "figures/f.json", "figures.json", "numbers.csv", "index.html", "report.md"]
)
def test_missing_page_file_is_named(pages, results, documents, file):
    (pages / file).unlink()

    assert page_faults(pages, results, documents) == [file]


def test_figure_that_is_not_listed(pages, results, documents):
    (pages / "figures" / "other.svg").write_text("<svg/>")

    assert page_faults(pages, results, documents) == ["figures/other.svg"]


def test_change_that_is_consistent_upward_is_found(results):
    """Numbers and record changed together still do not follow from raw."""
    for file in ("records/bench-big.json", "numbers.json"):
        change(results / NAME / file, "163.99", "163.98")

    assert "records/bench-big.json" in [fault["file"] for fault in faults(results)]


def test_measured_run_holds_and_its_raw_is_chained(tmp_path, results):
    """A made run with samples, streams and telemetry: holds as made; one changed byte of a stream is named."""
    run_dir, _ = made_run.derived(results)
    run = run_dir.relative_to(results).as_posix()
    jsonio.write_text(run_dir / "measurements.csv", table.of_run(run_dir))
    jsonio.write_json(run_dir / "claims.json", claims.of_run(run_dir))

    assert faults(results, run) == []
    change(run_dir / "raw" / "request-short" / "0123abcd" / "request-1.jsonl", "t_ns", "t_nS")
    named = {fault["file"]: fault["numbers"] for fault in faults(results, run)}
    assert "ttft-growth" in named["raw/request-short/0123abcd/request-1.jsonl"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("decode-bandwidth-share-8b-gpu", "decode-bandwidth-share-8b-gpu"),
        ("767 GB/s", "decode-bandwidth-8b-gpu-file-bytes"),
        ("about 767 GB a second", "decode-bandwidth-8b-gpu-file-bytes"),
        ("766 GB/s", "decode-bandwidth-8b-gpu"),
        ("766.1 GB/s", "decode-bandwidth-8b-gpu"),
        ("about 56 times", "prefill-decode-ratio-0.6b-gpu"),
        ("35,796 tokens a second", "prefill-rate-0.6b-gpu"),
        ("about 76 %", "decode-bandwidth-share-8b-gpu-file-bytes"),
        ("61 times", "prefill-decode-ratio-0.6b-gpu-inferred"),
    ],
)
def test_number_is_found_by_what_a_reader_has(documents, query, expected):
    """By id, by the page's words, by shown text, by a value that rounds to it."""
    assert expected in [hit["id"] for hit in audit.find(query, documents, CLAIMS)]


@pytest.mark.parametrize("query", ["no-such-number", "3 oranges", "999 GB/s", "", "GB/s", "767,1 GB/s"])
def test_nothing_is_found_where_nothing_is(documents, query):
    """No match is made up."""
    assert audit.find(query, documents, CLAIMS) == []


def test_every_published_number_ends_in_a_raw_line(documents):
    """Each leaf of each trail: a line of a raw file, with the value's place in it."""
    run = trail.open_run(PUBLISHED)
    for identifier in run.by_id:
        for leaf in trail.of(run, identifier)["leaves"]:
            assert leaf["raw"], (identifier, leaf["pointer"])
            assert all(line["end"] > line["start"] for line in leaf["raw"]), (identifier, leaf["pointer"])


def test_every_measured_number_ends_in_a_raw_line(tmp_path):
    """The same of a run with samples, streams, a ceiling and telemetry."""
    run_dir, found = made_run.derived(tmp_path)
    run = trail.open_run(run_dir)
    for identifier in found:
        for leaf in trail.of(run, identifier)["leaves"]:
            assert leaf["raw"], (identifier, leaf["pointer"])


def test_trail_says_with_what_and_when(tmp_path):
    """Command, model, engine, machine, constants, time and version are in the trail."""
    run_dir, _ = made_run.derived(tmp_path)
    found = trail.of(run_dir, "decode-bandwidth-share-8b-gpu-steady")
    case = found["cases"]["records/bench-big.json"]

    assert case["command_lines"] == [["engines/e/bin/llama-bench", "-m", "x.gguf"]]
    assert case["model"]["sha256"] == "c" * 64
    assert case["engine"]["binaries"] == {"llama-bench": "d" * 64}
    assert case["started_at"] == made_run.START
    assert case["workflow"]["commit"] == "a" * 40
    assert found["steps"][0]["constants"][0]["source"]
    assert len(next(leaf["samples"] for leaf in found["leaves"] if leaf["samples"])) == 4


def test_unknown_number_says_what_comes_close():
    """A misspelt id gets the nearest ones; a number that was not measured its reason."""
    with pytest.raises(Problem, match="did you mean"):
        trail.of(PUBLISHED, "decode-bandwith-8b-gpu")
    with pytest.raises(Problem, match="no single samples"):
        trail.of(PUBLISHED, "decode-rate-8b-gpu-steady")


def lint(tmp_path, name, text, documents):
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return [fault["what"] for fault in audit.check_texts(tmp_path, [path], documents, CLAIMS)]


SIBLING = f"reports/{NAME.rpartition('/')[0]}/paste/index.html"  # a page of the same machine and engine


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("README.md", f"Decode: <!--n:{NAME}#decode-rate-8b-gpu-->164.0 tokens/s<!--/n-->."),
        (f"reports/{NAME}/report.md", "Decode: <!--n:decode-rate-8b-gpu-->164.0 tokens/s<!--/n-->."),
        (f"reports/{NAME}/index.html", '<p><button data-number="decode-rate-8b-gpu">164.0 tokens/s</button></p>'),
        ("reports/index.html", f'<a href="{NAME}/index.html#n-decode-rate-8b-gpu">164.0 tokens/s</a>'),
        (SIBLING, '<a href="../lesson/index.html#n-decode-rate-8b-gpu">164.0 tokens/s</a>'),
        ("README.md", "```\n| tg128 | 163.99 ± 0.36 t/s |\n```\nand `640 t/s` in a command."),
        ("docs/a.md", "<!-- stated: the card's data sheet -->1,008 GB/s<!-- /stated --> by the data sheet"),
        ("docs/a.md", "2,491 tokens, 36 tokens, 4 minutes, 60 MiB, version 9.27.1"),
        ("docs/a.md", "Prefill = rate × 2 × parameters, at 95 % of users, repeated 56 times a day, decode in 4 times."),
        ("docs/a.md", "There are 56 times as many stars, 76 % of them red."),
    ],
)
def test_marked_numbers_pass(tmp_path, documents, name, text):
    """Numbers that come from numbers.json, code, stated figures and plain counts are no faults."""
    assert lint(tmp_path, name, text, documents) == []


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("README.md", "It decodes 164.0 tokens/s.", "looks measured"),
        ("docs/a.md", "About 767 GB/s are read.", "looks measured"),
        ("docs/a.md", "Prefill is about 56 times as fast as decode.", "56 times is what a stored number says"),
        ("README.md", "Decode reaches 76 % of the bandwidth.", "76 % is what a stored number says"),
        ("README.md", "It takes 7340,20 ms.", "looks measured"),
        ("README.md", "| the GPU | 61.18 × |", "61.18 × is what a stored number says"),
        ("index.html", "<p>It took <b>12.5 ms</b></p>", "looks measured"),
        (
            "README.md",
            f"<!--n:{NAME}#decode-rate-8b-gpu-->165.0 tokens/s<!--/n-->",
            "is 164.0 tokens/s, but the text says 165.0",
        ),
        (
            f"reports/{NAME}/index.html",
            '<button data-number="decode-rate-8b-gpu">165 tokens/s</button>',
            "but the text says",
        ),
        (f"reports/{NAME}/report.md", "<!--n:decode-rate-9b-gpu-->164.0 tokens/s<!--/n-->", "has none of this id"),
        ("README.md", "<!--n:a/b/c#decode-rate-8b-gpu-->164.0 tokens/s<!--/n-->", "there is no run a/b/c"),
        (
            "reports/index.html",
            f'<a href="{NAME}/index.html#n-decode-rate-8b-gpu">165.0 tokens/s</a>',
            "but the text says",
        ),
    ],
)
def test_retyped_numbers_are_named(tmp_path, documents, name, text, expected):
    """A figure that no run stands behind, or another than the run's: found, with its line."""
    (what,) = lint(tmp_path, name, text, documents)

    assert expected in what


def test_command_line_says_yes_and_no(results):
    """Exit status 0 only if all holds; JSON for programs names what does not."""
    command = [sys.executable, str(ROOT / "scripts" / "audit.py"), "--results", str(results), "--json"]
    texts_dir = results.parent / "texts"
    texts_dir.mkdir()
    good = subprocess.run([*command, "--all", "--texts", str(texts_dir)], capture_output=True, text=True, check=False)
    change(results / NAME / "raw/bench-big/transcribed/llama-bench-qwen3-8b-gpu.md", "163.99", "163.98")
    bad = subprocess.run([*command, "--all", "--texts", str(texts_dir)], capture_output=True, text=True, check=False)
    one = subprocess.run([*command, "decode-rate-8b-gpu"], capture_output=True, text=True, check=False)

    assert (good.returncode, bad.returncode, one.returncode) == (0, 1, 1), good.stdout + good.stderr
    assert json.loads(bad.stdout)["runs"][0]["faults"][0]["file"].endswith("llama-bench-qwen3-8b-gpu.md")
    assert json.loads(one.stdout)["faults"]


@pytest.mark.parametrize("git", [True, False], ids=["git", "no git"])
def test_only_project_texts_are_read(tmp_path, monkeypatch, git):
    """Raw files, fixtures and templates are not the project's own words; nor need git be installed to know."""
    if not git:
        monkeypatch.setenv("PATH", str(tmp_path))
    for name in ("README.md", "results/m/e/c/raw/x/k/a.md", "tests/fixtures/a.md", "reports/templates/a.html"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")

    assert [p.name for p in texts.project_texts(tmp_path)] == ["README.md"]


@pytest.mark.parametrize("more", [["--all"], ["decode-rate-8b-gpu"], ["--json", "decode-rate-8b-gpu"]])
def test_reader_that_goes_away(results, more):
    """`audit.py … | head -1` ends without a word more."""
    command = [sys.executable, str(ROOT / "scripts" / "audit.py"), "--results", str(results), *more]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as audited:
        audited.stdout.close()
        said = audited.stderr.read()

    assert (audited.returncode, said) == (1, "")


def test_texts_that_are_not_there_do_not_hold(results, tmp_path):
    command = [sys.executable, str(ROOT / "scripts" / "audit.py"), "--results", str(results), "--all"]
    done = subprocess.run([*command, "--texts", str(tmp_path / "none")], capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert "is no folder" in done.stderr


FOLDER, LOOP = "a folder", "a link to itself"
DAMAGES = [b"[]", b"[" * 100000, bytes(range(256)), FOLDER, LOOP]


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: str(damage[:12]))
@pytest.mark.parametrize(
    "file",
    ["plan.json", "numbers.json", "claims.json", "records.json", "measurements.csv", "records/bench-big.json",
     "raw/bench-big/transcribed/measurement.json", "raw/bench-big/transcribed/llama-bench-qwen3-8b-gpu.md"],
)  # fmt: skip
def test_any_damage_is_a_fault_of_its_file(results, file, damage):
    """Whatever became of a file, the check ends with a fault that names it."""
    path = results / NAME / file
    path.unlink()
    if damage == FOLDER:
        path.mkdir()
    elif damage == LOOP:
        path.symlink_to(path.name)
    else:
        path.write_bytes(damage)

    assert file in [fault["file"] for fault in faults(results)]
