"""Other shapes in which llama-bench's output reaches us: other shells, pastes, code pages, damaged rows."""

import csv
import io
import json

import pytest
from fixture_files import case_text, codes, messages

from tokentrail import jsonio
from tokentrail.tools import llama_bench

TWO = case_text("a01", "bench.jsonl")
ARRAY = case_text("a01", "bench.json")
PLAN = [{"n_prompt": 512, "n_gen": 0, "n_depth": 0}, {"n_prompt": 0, "n_gen": 128, "n_depth": 0}]
HEAD = "| model | size | params | backend | ngl | test | t/s |\n| --- | ---: | ---: | --- | --: | ---: | ---: |\n"
ROW = "| qwen3 8B Q4_K - Medium | 4.68 GiB | 8.19 B | CUDA | 99 | pp512 | 7340.20 ± 23.45 |\n"
CSV_HEAD, CSV_ROW = case_text("a28", "bench.csv").splitlines()
CSV_ROW = CSV_ROW.replace('"1","0","0","0","0","0","0","512"', '"1","0","0","0","0","1","0","0","512"')


def row(**changes) -> str:
    return json.dumps(json.loads(TWO.splitlines()[0]) | changes)


def read(text, planned=None, **options):
    found = llama_bench.parse(text, 0, "", planned, allow_tables=True, **options)
    jsonio.dumps(found).encode()  # no NaN, no infinity, no half characters
    return found


@pytest.mark.parametrize(
    "text",
    [
        TWO.encode("utf-16"),
        "\x1b[0m" + TWO + "\x1b[0m",
        "> " + TWO.strip().replace("\n", "\n> "),
        "```json\n" + TWO + "```\n",
        "\n".join(reversed(TWO.strip().splitlines())),
        ARRAY.rstrip()[:-1] + ",]",
        ARRAY.replace("\n", "\r\n").encode("utf-8-sig"),
    ],
    ids=["UTF-16 of a shell", "colours", "quoted", "code fence", "other order", "last comma", "CRLF and mark"],
)
def test_same_rows_in_other_wrappings(text):
    """What surrounds the rows does not change them, and none is lost."""
    found = read(text, PLAN)

    assert not found["reasons"]
    assert sorted(t["label"] for t in found["tests"]) == ["pp512", "tg128"]
    assert sum(len(t["samples"]) for t in found["tests"]) == 10


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (ARRAY + ARRAY, "duplicate-test"),
        (ARRAY.rstrip() + TWO, "duplicate-test"),
        (TWO.rstrip()[:-300], "cut-off"),
        (TWO.splitlines()[0], "test-missing"),
        (json.dumps({"results": [json.loads(row())]}), "unreadable-output"),
        ("[1, 2, 3]", "unreadable-output"),
        ("null", "unreadable-output"),
        (bytes(range(256)), "unreadable-output"),
        (CSV_HEAD.replace(",", ";") + "\n" + CSV_ROW.replace(",", ";"), "unreadable-output"),
    ],
    ids=["array twice", "array and lines", "cut", "line missing", "wrapped", "numbers", "null", "bytes", "semicolons"],
)
def test_outputs_that_are_not_the_planned_one(text, code):
    """The reason is the fault itself: what cannot be read was not "nothing measured"."""
    found = read(text, PLAN)

    assert code in codes(found["reasons"])
    assert "nothing-measured" not in codes(found["reasons"])


@pytest.mark.parametrize(
    "changes",
    [
        {"n_prompt": True},
        {"n_prompt": -5},
        {"n_prompt": "512"},
        {"n_depth": "4096"},
        {"n_gen": 0.5},
        {"n_gen": []},
        {"n_prompt": 10**30},
    ],
)
def test_counts_that_are_none_are_refused(changes):
    """A count of the wrong kind is named with its value, not taken for another test."""
    found = read(row(**changes))

    assert codes(found["reasons"])[0] == "impossible-count"
    assert repr(next(iter(changes.values()))) in messages(found["reasons"])
    assert found["tests"] == []


def test_infinite_numbers_are_unknown():
    """1e999 is a number to JSON and infinity to a float."""
    found = read(row().replace("7288.625474", "1e999"))

    assert not found["reasons"]
    assert found["tests"][0]["reported"]["avg_ts"] is None


@pytest.mark.parametrize(
    "changes",
    [
        {"samples_ts": ["fast"] * 5}, {"avg_ts": 10**400}, {"flash_attn": [1]}, {"model_type": "\ud83d half"},
        {"avg_ts": "fast", "stddev_ts": {}}, {"build_number": [], "gpu_info": {}, "backends": 5},
    ],
)  # fmt: skip
def test_fields_of_odd_kinds_cost_no_sample(changes):
    """What is not needed for a rate may be anything: the samples are read, and the result can be written."""
    found = read(row(**changes))

    assert not found["reasons"]
    assert len(found["tests"][0]["samples"]) == 5


def test_wrapped_clock_is_no_sample():
    """A 64-bit difference of a clock that ran backwards."""
    assert codes(read(row(samples_ns=[2**64 - 5, 70_000_000]))["reasons"]) == ["impossible-sample"]


@pytest.mark.parametrize(
    ("spread", "stdev"),
    [("±", 23.45), ("Â±", 23.45), ("\ufffd", 23.45), ("┬▒", 23.45), ("?", 23.45), ("+/-", 23.45), ("&plusmn;", 23.45)],
)
def test_plus_minus_of_every_code_page(spread, stdev):
    """Whatever became of ±: two numbers in one cell are a mean and its spread."""
    (test,) = read(HEAD + ROW.replace("±", spread))["tests"]

    assert (test["as_published"]["mean"], test["as_published"]["stdev"]) == (7340.2, stdev)


def test_latin_1_bytes_of_a_table():
    (test,) = read((HEAD + ROW).encode("latin-1"))["tests"]

    assert test["as_published"]["stdev"] == 23.45


@pytest.mark.parametrize(
    ("rate", "mean"), [("7,340.20 ± 23.45", 7340.2), ("**7340.20 ± 23.45**", 7340.2), ("7340.20", 7340.2)]
)
def test_rates_as_people_write_them(rate, mean):
    (test,) = read(HEAD + ROW.replace("7340.20 ± 23.45", rate))["tests"]

    assert test["as_published"]["mean"] == mean


@pytest.mark.parametrize("rate", ["7340,20 ± 23,45", "7.340,20 ± 23,45", "nan ± 1.0", "7340.20 ± ", "fast"])
def test_rates_that_cannot_be_read_are_refused(rate):
    """A decimal comma is refused: 7340,20 must never become 734,020."""
    found = read(HEAD + ROW.replace("7340.20 ± 23.45", rate))

    assert "bad-table-row" in codes(found["reasons"])
    assert found["tests"] == []


def test_columns_of_other_settings_are_kept():
    """Columns come and go; each is found by its name."""
    head = HEAD.replace("| ngl |", "| ngl | n_ubatch | type_k | fa | mmap | dev | ot |").replace(
        "| --: |", "| --: | --: | --- | --- | --- | --- | --- |"
    )
    (test,) = read(head + ROW.replace("| 99 |", "| 99 | 1024 | q8_0 | 1 | 0 | CUDA0 | blk\\.=CPU |"))["tests"]

    settings = test["settings"]
    assert (settings["n_ubatch"], settings["type_k"], settings["flash_attn"]) == (1024, "q8_0", "on")
    assert (settings["use_mmap"], settings["devices"], settings["device"]) == (0, "CUDA0", "hybrid")


def test_each_table_has_the_build_and_the_gpu_around_it():
    """Before and after in one paste: neither build is given to the other's numbers."""
    gpu = "  Device 0: {}, compute capability 8.9, VMM: yes\n"
    first = gpu.format("Card A") + HEAD + ROW + "\nbuild: aaa1111 (6001)\n\n"
    second = gpu.format("Card B") + HEAD + ROW + "\nbuild: bbb2222 (6002)\n"
    found = read(first + second)

    assert [t["settings"]["build_number"] for t in found["tests"]] == [6001, 6002]
    assert [t["settings"]["gpu_info"] for t in found["tests"]] == ["Card A", "Card B"]
    assert "several-gpus" not in codes(found["remarks"])
    assert not found["reasons"]


@pytest.mark.parametrize(
    ("line", "gpu", "device"),
    [
        ("  Device 0: Radeon Card, gfx1100 (0x1100), VMM: no, Wave Size: 32", "Radeon Card", "gpu"),
        ("ggml_vulkan: 0 = Card (RADV X) (radv) | uma: 0 | fp16: 1 | warp size: 64", "Card (RADV X)", "gpu"),
        ("ggml_vulkan: 0 = llvmpipe (LLVM 19, 256 bits) (llvmpipe) | uma: 0", "llvmpipe (LLVM 19, 256 bits)", "cpu"),
        ("ggml_metal_device_init: GPU name:   Apple Example", "Apple Example", "gpu"),
    ],
)
def test_gpu_above_a_table_of_any_backend(line, gpu, device):
    """Each backend announces its GPUs in its own words; one in software is none."""
    (test,) = read(line + "\n\n" + HEAD + ROW.replace("CUDA", "Vulkan"))["tests"]

    assert (test["settings"]["gpu_info"], test["settings"]["device"]) == (gpu, device)


def test_one_build_line_below_two_tables_is_of_both():
    found = read(HEAD + ROW + "\n" + HEAD + ROW.replace("pp512", "tg128") + "\nbuild: aaa1111 (6001)\n")

    assert [t["settings"]["build_number"] for t in found["tests"]] == [6001, 6001]


def test_tables_without_a_line_between():
    """The header of the second table is no row of the first."""
    found = read(HEAD + ROW + HEAD + ROW.replace("pp512", "pp512 @ d4096"))

    assert [t["label"] for t in found["tests"]] == ["pp512", "pp512 @ d4096"]
    assert not found["reasons"]


def test_column_named_twice_is_refused():
    found = read(
        HEAD.replace("| ngl |", "| ngl | ngl |").replace("| --: |", "| --: | --: |") + ROW.replace("99", "99 | 0")
    )

    assert codes(found["reasons"]) == ["table-row-length"]


@pytest.mark.parametrize(
    ("line", "kind", "code"),
    [
        ("llama_decode: failed to decode, ret = -3", "reasons", "decode-failed"),
        ("terminate called after throwing an instance", "remarks", "trouble-beside-table"),
        ("main: error: failed to run", "remarks", "trouble-beside-table"),
    ],
)
def test_trouble_beside_a_table_is_said(line, kind, code):
    """A paste has no exit status; what stands beside the table is all that tells of a bad end."""
    assert code in codes(read(HEAD + ROW + line + "\n")[kind])


def _cells(**changes: str) -> str:
    names, values = (next(csv.reader([line])) for line in (CSV_HEAD, CSV_ROW))
    out = io.StringIO()
    csv.writer(out, quoting=csv.QUOTE_ALL).writerow([changes.get(n, v) for n, v in zip(names, values, strict=True)])
    return out.getvalue()


@pytest.mark.parametrize(
    "text",
    [
        ("\ufeff" + CSV_HEAD + "\r\n" + CSV_ROW + "\r\n").encode(),
        ",".join(f'"{n}"' for n in CSV_HEAD.split(",")) + "\n" + CSV_ROW,
        CSV_HEAD + "\n" + _cells(cpu_info='A "fast" CPU, 8-Core', gpu_info="One, Two"),
        "n_prompt,n_gen,n_depth,avg_ts,stddev_ts\n512,0,0,7285.676949,100.064434\n",
    ],
    ids=["CRLF and mark", "quoted names", "commas and quotes in cells", "other order"],
)
def test_csv_in_other_shapes(text):
    """A real CSV reader: values stay under their names."""
    (test,) = read(text)["tests"]

    assert (test["label"], test["as_published"]["mean"]) == ("pp512", 7285.676949)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (CSV_HEAD + "\n" + _cells(avg_ts=""), "impossible-rate"),
        (CSV_HEAD + "\n" + _cells(avg_ts="-nan(ind)"), "impossible-rate"),
        (CSV_HEAD + "\n" + CSV_ROW + "\n" + CSV_ROW[:90], "bad-csv"),
        (CSV_HEAD + "\n" + CSV_ROW + "\n" + CSV_HEAD + "\n" + CSV_ROW, "duplicate-test"),
        (CSV_HEAD + "\n", "nothing-measured"),
        (CSV_HEAD + "\n" + CSV_ROW + ',"more"', "csv-column-count"),
    ],
    ids=["no mean", "nan", "cut", "two outputs", "no row", "one more"],
)
def test_csv_that_is_no_result(text, code):
    assert code in codes(read(text)["reasons"])
