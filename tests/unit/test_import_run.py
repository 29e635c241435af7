"""Import: pasted tables become a run, columns found by name, what is missing said; malformed ones are refused."""

from pathlib import Path

import fixture_files
import pytest

from tokentrail import jsonio, numbers
from tokentrail.importing import import_run
from tokentrail.problems import Problem
from tokentrail.records import whole_run
from tokentrail.trail import raw_lines

ROOT = Path(__file__).resolve().parents[2]
PUBLISHED = ROOT / "results" / "rtx4090" / "b12110-cuda" / "lesson"
RUN = {"machine": "rtx4090", "engine": "b12110-cuda", "campaign": "lesson"}


def put(tmp_path, name, text):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def derived(run_dir):
    whole_run.write(run_dir)
    return {n["id"]: n for n in numbers.derive(run_dir)["numbers"]}


def test_published_run_comes_out_as_committed(tmp_path):
    """From its raw files alone, import, records and numbers give the committed bytes."""
    raw = PUBLISHED / "raw"
    names = ("serve-small", "request-short", "bench-small", "bench-small-cpu", "batched-small", "bench-big")
    files = [next(p for p in (raw / n / "transcribed").iterdir() if p.name != "measurement.json") for n in names]
    title = jsonio.read_json(PUBLISHED / "plan.json")["title"]
    made = import_run(RUN, files, tmp_path, raw / "host.yaml", raw / "commands.yaml", title, 5)
    whole_run.write(made)

    for path in sorted((PUBLISHED / "records").iterdir()):
        assert (made / "records" / path.name).read_text() == path.read_text(), path.name
    assert jsonio.dumps(numbers.derive(made)) == (PUBLISHED / "numbers.json").read_text()


def test_table_of_an_issue_becomes_a_run(tmp_path):
    """llama-bench's table with a depth column value: ids carry the depth, the model is known by name and sizes."""
    file = put(tmp_path, "paste.md", fixture_files.case("a18", "new.md"))
    run_dir = import_run({**RUN, "engine": "b7653", "campaign": "paste"}, [file], tmp_path / "results")
    found = derived(run_dir)

    assert found["prefill-rate-8b-gpu"]["value"] == 7340.20
    assert found["decode-rate-8b-gpu"]["value"] == 116.71
    assert found["decode-rate-8b-gpu"]["interval"]["low"] == pytest.approx(116.705)
    assert found["decode-bandwidth-8b-gpu-complete"]["value"] == pytest.approx(
        116.71 * (4671766528 + 147456 * 4160) / 1e9
    )


def test_mixed_test_is_a_number_of_its_own(tmp_path):
    """`-pg`: prompt and answer together are neither half's rate, and lead back to their own line."""
    text = fixture_files.case("a18", "new.md").replace(b"pp512 ", b"pp512+tg128 ")
    run_dir = import_run({**RUN, "campaign": "mixed"}, [put(tmp_path, "mixed.md", text)], tmp_path / "results")
    found = derived(run_dir)

    assert found["mixed-rate-8b-gpu"]["value"] == 7340.20
    assert "prefill-rate-8b-gpu" not in found
    record = jsonio.read_json(next((run_dir / "records").iterdir()))
    index = next(i for i, test in enumerate(record["tests"]) if test["kind"] == "mixed")
    (line,) = raw_lines.find(run_dir, record, f"/tests/{index}/as_published/mean")
    assert "pp512+tg128" in line["text"] and line["text"][line["start"] : line["end"]] == "7340.20"


def test_unknown_model_keeps_its_name_and_says_what_is_missing(tmp_path):
    """An old table of a model that config/ does not know: rates yes, bandwidth no, with the reason."""
    file = put(tmp_path, "old.md", fixture_files.case("a18", "old.md"))
    run_dir = import_run({**RUN, "campaign": "old"}, [file], tmp_path / "results")
    whole_run.write(run_dir)
    document = numbers.derive(run_dir)
    absent = {e["id"]: e["reason"] for e in document["not_measured"]}

    assert any(n["id"] == "prefill-rate-llama-7b-mostly-q4-0-cpu" and n["value"] == 32.29 for n in document["numbers"])
    assert "does not know this model" in absent["weights-llama-7b-mostly-q4-0"]


def test_batched_table_becomes_a_run(tmp_path):
    """batched-bench's table names no model: its rates are numbers, what needs the model is not."""
    file = put(tmp_path, "batched.txt", fixture_files.case("c09", "batched.txt"))
    found = derived(import_run({**RUN, "campaign": "batched"}, [file], tmp_path / "results"))

    assert found["batched-rate-2"]["value"] == 68.57
    assert "batch-bandwidth-2" not in found


def test_jsonl_keeps_its_samples(tmp_path):
    """Pasted JSON lines have samples, so the run has a steady view."""
    file = put(tmp_path, "bench.jsonl", fixture_files.case("a01", "bench.jsonl"))
    found = derived(import_run({**RUN, "campaign": "lines"}, [file], tmp_path / "results"))

    assert any(identifier.endswith("-steady") for identifier in found)


def test_raw_files_stay_verbatim(tmp_path):
    """What was pasted lies in the run byte by byte."""
    text = fixture_files.case("a18", "new.md")
    run_dir = import_run({**RUN, "campaign": "paste"}, [put(tmp_path, "paste.md", text)], tmp_path / "results")

    assert next(run_dir.rglob("paste.md")).read_bytes() == text


def test_same_import_twice_changes_nothing(tmp_path):
    """An identical import is no conflict."""
    file = put(tmp_path, "paste.md", fixture_files.case("a18", "new.md"))
    first = import_run({**RUN, "campaign": "paste"}, [file], tmp_path / "results")

    assert import_run({**RUN, "campaign": "paste"}, [file], tmp_path / "results") == first


def test_taken_folder_is_refused(tmp_path):
    """Another paste under the same names: refused, and the first one stays."""
    file = put(tmp_path, "paste.md", fixture_files.case("a18", "new.md"))
    run_dir = import_run({**RUN, "campaign": "paste"}, [file], tmp_path / "results")
    before = (run_dir / "plan.json").read_text()
    file.write_text(file.read_text().replace("116.71", "117.71"))

    with pytest.raises(Problem, match="taken by another run"):
        import_run({**RUN, "campaign": "paste"}, [file], tmp_path / "results")
    assert (run_dir / "plan.json").read_text() == before


TABLE = "| model | size | params | backend | ngl | test | t/s |\n| - | - | - | - | - | - | - |\n"
ROW = "| qwen3 8B Q4_K - Medium | 4.68 GiB | 8.19 B | CUDA | 99 | pp512 | 7340.20 ± 23.45 |\n"
REQUEST = "requests:\n- {case: request-short, "
PASTE = f"{TABLE}{ROW}{ROW.replace('pp512', 'tg128').replace('7340.20', '116.71')}\nbuild: 193ee38a1 (7653)\n"


@pytest.mark.parametrize(
    "text",
    [
        PASTE.encode("utf-16"),
        PASTE.encode("latin-1"),
        PASTE.replace("\n", "\r\n").encode("utf-8-sig"),
        "My card:\n\n> ```\n> " + PASTE.replace("\n", "\n> ") + "\n> ```\nNice, is it not?\n",
        PASTE.replace("| pp512 | 7340.20 ± 23.45 |", "| **pp512** | **7340.20 ± 23.45** |"),
    ],
    ids=["UTF-16", "Latin-1", "CRLF and mark", "quoted fence in prose", "bold"],
)
def test_pastes_in_every_wrapping_end_in_a_raw_line(tmp_path, text):
    """The numbers, and the line of the file as it was pasted behind each of them."""
    run_dir = import_run({**RUN, "engine": "b7653", "campaign": "paste"}, [put(tmp_path, "p.md", text)], tmp_path / "r")
    found = derived(run_dir)

    assert (found["prefill-rate-8b-gpu"]["value"], found["decode-rate-8b-gpu"]["value"]) == (7340.2, 116.71)
    assert jsonio.read_json(run_dir / "plan.json")["cases"][0]["arguments"]["n_prompt"] == [512]
    record = jsonio.read_json(run_dir / "records" / "bench-small-8b.json")
    (line,) = raw_lines.find(run_dir, record, "/tests/0/as_published/mean")
    assert line["text"][line["start"] : line["end"]] == "7340.20"


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("empty.md", "", "is empty"),
        ("prose.md", "my card is fast\n", "no output of llama-bench"),
        ("ragged.md", TABLE + "| m | 4.68 GiB | 8.19 B | CUDA | pp512 | 1.00 ± 0.1 |\n", "cells"),
        ("rate.md", TABLE + "| m | 4.68 GiB | 8.19 B | CUDA | 99 | pp512 | fast |\n", "test (with|and) its rate"),
        ("test.md", TABLE + "| m | 4.68 GiB | 8.19 B | CUDA | 99 | quick | 1.00 ± 0.1 |\n", "test (with|and) its rate"),
        ("requests.yaml", "requests: 3\n", "requests file"),
        ("requests.yaml", "requests:\n", "its list `requests` is empty"),
        ("requests.yaml", "requests: [\n", "needs a list `requests`"),
        ("requests.yaml", "requests:\n- {case: request-short, prompt_n: 36, prompt_s: nan}\n", "not a printed number"),
        ("requests.yaml", "requests:\n- {case: request-short, prompt_n: many}\n", "not a whole number"),
        ("batched.txt", fixture_files.case("c09", "batched.txt") * 2, "one file for each"),
        ("bench.json", fixture_files.case("a07", "bench.json"), "cut off"),
        ("comma.md", TABLE + ROW.replace("7340.20", "7340,20"), "no test with its rate"),
        ("twice.md", TABLE + ROW + ROW, "duplicate test"),
        ("bytes.md", bytes(range(256)), "is no text"),
        ("requests.yaml", "requests:\n  - {case: other, prompt_n: 3}\n", "must begin with"),
        ("gpu.csv", "name, memory.used [MiB]\nX, 3 MiB\n", "needs the columns"),
        ("gpu.csv", "name, memory.used [MiB], memory.total [MiB]\nX, many, 3 MiB\n", "whole number of MiB"),
        ("table.sql", "CREATE TABLE test (a);\n", "SQL"),
        ("requests.yaml", REQUEST + "prompt_n: 36, prompt_n: 37}\n", "'prompt_n' stands twice"),
        ("requests.yaml", REQUEST + "prompt_n: 36, prompt_s: [1]}\n", "prompt_s is .* not a printed value"),
        ("requests.yaml", REQUEST + "prompt_n: 36, prompt_tokens_per_s: 0}\n", "no time and no rate"),
        ("requests.yaml", REQUEST + "prompt_n: 36}\n- {case: request-short, prompt_n: 3}\n", "stands twice"),
        ("sizes.md", TABLE + ROW + ROW.replace("4.68 GiB", "4.50 GiB").replace("pp512", "tg128"), "differ in size"),
        ("short.md", "| model | test | t/s |\n| - | - | - |\n| m | tg128 | 9.10 ± 0.1 |\n", "name no backend"),
        ("measurement.json", TABLE + ROW, "rename it"),
    ],
)
def test_malformed_source_is_refused(tmp_path, name, text, expected):
    """One sentence that names the file and the fault; nothing is written."""
    with pytest.raises(Problem, match=expected) as refused:
        import_run({**RUN, "campaign": "bad"}, [put(tmp_path, name, text)], tmp_path / "results")

    assert name in str(refused.value)
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize(
    ("column", "values", "ids"),
    [
        ("sm", ("layer", "row"), ("8b-gpu-smlayer", "8b-gpu-smrow")),
        ("mmap", ("0", "1"), ("8b-gpu-mmap0", "8b-gpu-mmap1")),
        ("dev", ("CUDA0", "CUDA0/CUDA1"), ("8b-gpu-devcuda0", "8b-gpu-devcuda0-cuda1")),
        ("ts", ("1.00", "3.00/1.00"), ("8b-gpu-ts1.00", "8b-gpu-ts3.00-1.00")),
        ("ncmoe", ("0", "10"), ("8b-gpu", "8b-hybrid")),
        ("ot", ("none", "exps=CPU"), ("8b-gpu", "8b-hybrid")),
    ],
)
def test_rows_that_differ_in_one_setting_are_numbers_each(tmp_path, column, values, ids):
    """No row is dropped for another of the same test, and none takes the other's place."""
    head = TABLE.replace("| test", f"| {column} | test").replace("| - |\n", "| - | - |\n")
    row = "| qwen3 8B Q4_K - Medium | 4.68 GiB | 8.19 B | CUDA | 99 | {} | tg128 | {} ± 0.10 |\n"
    text = head + row.format(values[0], "100.00") + row.format(values[1], "120.00")
    run_dir = import_run({**RUN, "campaign": "paste"}, [put(tmp_path, "p.md", text)], tmp_path / "results")
    found = derived(run_dir)

    assert [found[f"decode-rate-{at}"]["value"] for at in ids] == [100.0, 120.0]
    assert all(found[f"decode-rate-{at}"]["valid"] for at in ids)


def test_some_layers_on_the_gpu_are_no_gpu_run(tmp_path):
    """20 of 36 layers: no share of the GPU's bandwidth can be told from it."""
    text = PASTE.replace("| 99 |", "| 20 |")
    run_dir = import_run({**RUN, "engine": "b7653", "campaign": "p"}, [put(tmp_path, "p.md", text)], tmp_path / "r")
    found = derived(run_dir)

    assert found["decode-rate-8b-hybrid"]["value"] == 116.71
    assert not [name for name in found if name.startswith("decode-bandwidth-share")]


@pytest.mark.parametrize("text", ["[1]", "bench-small-8b: [a, b]", 'bench-small-8b: "llama-bench \'x"'])
def test_command_lines_that_are_none(tmp_path, text):
    """Found out at the import, not when records are made of it."""
    with pytest.raises(Problem, match="quotes closed"):
        import_run(RUN, [put(tmp_path, "p.md", PASTE)], tmp_path / "r", None, put(tmp_path, "c.yaml", text))


def test_no_repetition_is_none(tmp_path):
    with pytest.raises(Problem, match="once at least"):
        import_run(RUN, [put(tmp_path, "p.md", PASTE)], tmp_path / "r", repetitions=0)


def test_long_and_nameless_models(tmp_path):
    """A name becomes a folder's only as far as a file system takes it; a row without a name is some model's."""
    row = "| {} | 4.68 GiB | 8.19 B | CUDA | 99 | tg128 | 9.10 ± 0.1 |\n"
    for name, label in (("m" * 3000, "m" * 60), ("../../x", "x"), ("", "model")):
        file = put(tmp_path, "p.md", TABLE + row.format(name))
        run_dir = import_run({**RUN, "campaign": label}, [file], tmp_path / "results")

        assert derived(run_dir)[f"decode-rate-{label}-gpu"]["value"] == 9.1


def test_contradicting_prints_make_the_record_invalid(tmp_path):
    """A prompt time and a rate that cannot both be true: said, not averaged."""
    text = (
        "server: {model: qwen3-0.6b-q8_0}\nrequests:\n  - {case: request-short, prompt_n: 36, prompt_s: 0.038, "
        "prompt_tokens_per_s: 500, client_ttft_s: 0.07}\n"
    )
    run_dir = import_run({**RUN, "campaign": "bad"}, [put(tmp_path, "requests.yaml", text)], tmp_path / "results")
    whole_run.write(run_dir)
    record = jsonio.read_json(run_dir / "records" / "request-short.json")

    assert [reason["code"] for reason in record["reasons"]] == ["prints-contradict"]


def test_two_builds_are_two_runs(tmp_path):
    """Tables of different builds do not make one run."""
    one = put(tmp_path, "one.md", fixture_files.case("a18", "new.md"))
    two = put(tmp_path, "two.md", fixture_files.case_text("a18", "new.md").replace("7653", "7654"))

    with pytest.raises(Problem, match="different builds"):
        import_run({**RUN, "campaign": "two"}, [one, two], tmp_path / "results")
    both = put(tmp_path, "both.md", one.read_text() + "\n\n" + two.read_text().replace("7340.20", "7400.00"))
    with pytest.raises(Problem, match="different builds"):
        import_run({**RUN, "campaign": "two"}, [both], tmp_path / "results")


def test_unknown_host_key_is_refused(tmp_path):
    """A misspelt host fact is named, with what is allowed."""
    file = put(tmp_path, "paste.md", fixture_files.case("a18", "new.md"))
    host = put(tmp_path, "host.yaml", "gpuu: RTX\n")

    with pytest.raises(Problem, match=r"gpuu.*did you mean 'gpu'"):
        import_run({**RUN, "campaign": "paste"}, [file], tmp_path / "results", host)


def test_printed_request_is_narrowed_by_all_its_prints():
    """2,491 tokens at 37,023 tokens/s: 67.282 to 67.284 ms, though the time alone is printed as 0.067 s."""
    record = jsonio.read_json(PUBLISHED / "records" / "request-long.json")
    interval = record["request_views"]["request-long"]["prompt_ms"]["as_published"]["interval"]

    assert interval["low"] == pytest.approx(2491e3 / 37023.5)
    assert interval["high"] == pytest.approx(2491e3 / 37022.5)
