"""llama-bench output of every format and build, whole and broken."""

import json

import pytest
from fixture_files import FIXTURES, case, case_status, case_text, codes, messages

from tokentrail import jsonio
from tokentrail.tools import devices, llama_bench
from tokentrail.tools.llama_bench_plan import planned_tests
from tokentrail.tools.llama_bench_rows import parse_label

PP512 = {"n_prompt": 512, "n_gen": 0, "n_depth": 0}
TG128 = {"n_prompt": 0, "n_gen": 128, "n_depth": 0}


def parse(number, name, planned=None, stderr="", **options):
    return llama_bench.parse(case(number, name), case_status(number), stderr, planned, **options)


def row(**changes) -> dict:
    """A row of build 11434, changed."""
    return json.loads(case("a01", "bench.jsonl").decode().splitlines()[0]) | changes


def lines(*rows: dict) -> str:
    return "".join(json.dumps(r) + "\n" for r in rows)


def test_current_json_and_jsonl_give_the_same_two_tests():
    """JSON and JSON lines of one run are the same measurement."""
    first, second = parse("a01", "bench.json", [PP512, TG128]), parse("a01", "bench.jsonl", [PP512, TG128])

    assert first["tests"] == second["tests"]
    assert first["reasons"] == first["remarks"] == []
    prefill, decode = first["tests"]
    assert (prefill["kind"], decode["kind"]) == ("prefill", "decode")
    assert len(prefill["samples"]) == 5
    assert prefill["as_published"]["mean"] == pytest.approx(7288.625474, rel=1e-9)
    assert decode["as_published"]["mean"] == pytest.approx(120.222863, rel=1e-8)
    assert prefill["settings"]["flash_attn"] == "auto"
    assert prefill["settings"]["n_gpu_layers_meaning"].startswith("auto")


def test_first_sample_is_cold_by_position():
    """Only the first repetition is cold, and its value has no say in it."""
    samples = parse("a01", "bench.json")["tests"][0]["samples"]

    assert [s["cold"] for s in samples] == [True, False, False, False, False]
    assert [s["index"] for s in samples] == [0, 1, 2, 3, 4]
    assert samples[0] == {"process": 0, "index": 0, "ns": 70000000, "tokens_per_s": 512e9 / 70000000, "cold": True}


@pytest.mark.parametrize("name", ["a01", "a02", "a03", "a04", "a06", "a11", "a13", "a17", "a24", "a25"])
def test_tests_fit_the_record_schema(name):
    """Whatever build wrote them, tests are valid parts of a record and valid JSON."""
    file = "bench.json" if name in ("a01", "a02", "a03", "a04", "a06") else "bench.jsonl"
    tests = parse(name, file)["tests"]
    jsonio.dumps(tests)
    validator = jsonio._validator("record").evolve(
        schema={"type": "array", "items": jsonio._validator("record").schema["properties"]["tests"]["items"]}
    )

    assert list(validator.iter_errors(tests)) == []


@pytest.mark.parametrize(
    ("number", "label", "flash"),
    [("a02", "pp512", "off"), ("a03", "pp512 @ d4096", "on"), ("a04", "pp512", "off")],
    ids=["Nov 2024", "May 2025", "Aug 2025"],
)
def test_older_builds_are_read(number, label, flash):
    """No depth is depth 0; a boolean flash_attn is off or on."""
    found = parse(number, "bench.json")

    assert found["reasons"] == []
    assert found["tests"][0]["label"] == label
    assert found["tests"][0]["settings"]["flash_attn"] == flash


def test_row_from_before_backends_were_one_string():
    """Builds before Nov 2024 name their backends by booleans."""
    old = {k: v for k, v in row(cuda=True, metal=False, gpu_blas=True).items() if k != "backends"}

    assert llama_bench.parse(lines(old), 0, "")["reported"]["backend_names"] == ["CUDA"]


@pytest.mark.parametrize(
    ("flags", "device"), [({"metal": True}, "gpu"), ({"vulkan": True}, "gpu"), ({"cuda": True}, "cpu"), ({}, "cpu")]
)
def test_old_builds_named_no_gpu_but_those_of_cuda(flags, device):
    """Before Nov 2024 gpu_info stayed empty on Metal and Vulkan, whatever GPU computed."""
    old = {k: v for k, v in row(gpu_info="", **flags).items() if k != "backends"}
    found = llama_bench.parse(lines(old), 0, "")

    assert found["tests"][0]["settings"]["device"] == device
    assert ("gpu-not-seen" in codes(found["remarks"])) == ("cuda" in flags)


def test_unknown_fields_are_kept_verbatim():
    """What a fork adds stays in the settings and does not matter."""
    settings = parse("a06", "bench.json", [PP512])["tests"][0]["settings"]

    assert (settings["avg_cycles"], settings["avg_ipc"]) == (123456789, 1.83)


def test_truncated_array_names_status_error_and_progress():
    """A run out of memory is one sentence: status, last error, how far it came."""
    found = parse("a07", "bench.json", [PP512, TG128], case_text("a07", "stderr.txt"))

    text = found["reasons"][0]["message"]
    assert codes(found["reasons"]) == ["tool-failed", "out-of-memory"]
    assert "exit status 1" in text
    assert "failed to create context with model" in text
    assert "1 of 2 planned tests finished" in text


def test_failed_load_quotes_the_tool():
    """The user reads what llama-bench said, not where JSON broke."""
    found = parse("a08", "bench.json", [PP512], case_text("a08", "stderr.txt"))

    assert "failed to load model 'models/none.gguf'" in found["reasons"][0]["message"]
    assert "Expecting value" not in messages(found["reasons"])


@pytest.mark.parametrize("cut", [1, 40, 700, -1, -2, -5, -60, -400])
@pytest.mark.parametrize("file", ["bench.json", "bench.jsonl"])
def test_output_cut_anywhere_is_never_a_complete_result(cut, file):
    """However the text is cut, exit 0 or not, a planned test that is not whole makes it invalid."""
    text = case_text("a01", file).rstrip("\n")[:cut]
    for status in (0, 137):
        found = llama_bench.parse(text, status, "", [PP512, TG128])
        whole = status == 0 and len(found["tests"]) == 2 and file == "bench.jsonl"

        assert found["reasons"] or whole


def test_killed_run_names_the_signal():
    """137 and −9 are the same thing: killed."""
    for status in (137, -9):
        assert "SIGKILL" in llama_bench.parse("[\n", status, "", [PP512])["reasons"][0]["message"]


def test_debugger_text_on_stdout_is_no_result():
    """An abort with gdb installed writes its trace to stdout; rows before it stay evidence."""
    trace = "[New LWP 4242]\n[Thread debugging using libthread_db enabled]\n0x00007f in wait4 () from libc.so.6\n#0 {\n"
    text = case_text("a01", "bench.jsonl").splitlines()[0] + "\n" + trace
    found = llama_bench.parse(text, 134, "ggml.c:1: GGML_ASSERT(x) failed\n", [PP512, TG128])

    assert len(found["tests"]) == 1
    assert "SIGABRT" in found["reasons"][0]["message"]
    assert "GGML_ASSERT" in found["reasons"][0]["message"]
    assert codes(found["remarks"]) == ["extra-output"]


def test_log_lines_before_json_are_a_remark():
    """Old builds print device lines on stdout; the rows are read all the same."""
    noise = "ggml_cuda_init: found 1 CUDA devices:\n  Device 0: NVIDIA Example GPU, compute capability 8.9\n"
    for file in ("bench.json", "bench.jsonl"):
        found = llama_bench.parse(noise + case_text("a01", file), 0, "", [PP512, TG128])

        assert found["reasons"] == []
        assert codes(found["remarks"]) == ["extra-output"]


def test_row_without_samples_is_invalid():
    """-r 0 exits 0 with a row of nothing."""
    assert "row without samples" in messages(parse("a10", "bench.jsonl")["reasons"])


def test_one_repetition_has_no_spread():
    """One sample: its spread is not known, which is not the same as none."""
    found = parse("a11", "bench.jsonl", [PP512])

    published = found["tests"][0]["as_published"]
    assert found["reasons"] == []
    assert published["mean"] == pytest.approx(7211.267606, rel=1e-9)
    assert published["stdev"] is None
    assert published["interval"] is None


def test_nan_outside_strings_becomes_unknown():
    """-nan in stddev_ts is no JSON; the statistics are ours anyway."""
    found = parse("a13", "bench.jsonl", [PP512])

    assert found["reasons"] == []
    assert found["tests"][0]["reported"]["stddev_ts"] is None
    assert found["tests"][0]["as_published"]["stdev"] == 0


@pytest.mark.parametrize(
    "token", ["nan", "-nan", "inf", "-inf", "NaN", "Infinity", "-nan(ind)", "nan(snan)", "1.#QNAN", "-1.#IND"]
)
def test_every_spelling_of_no_number_is_null(token):
    """C libraries print what is no number in many ways."""
    text = lines(row(model_filename="models/nan -nan, inf.gguf")).replace("58.004137", token)
    found = llama_bench.parse(text, 0, "", [PP512])

    assert found["reasons"] == []
    assert found["tests"][0]["reported"]["stddev_ts"] is None
    assert found["reported"]["model_filename"] == "models/nan -nan, inf.gguf"


def test_average_is_the_mean_of_rates():
    """Three averages exist; ours is the mean of the rates, as the tool's, from exact samples."""
    test = parse("a14", "bench.jsonl", [PP512])["tests"][0]

    assert test["as_published"]["mean"] == pytest.approx(5485.714286, rel=1e-9)
    assert test["reported"]["avg_ts"] == 5485.714286


def test_wrong_tool_average_is_a_remark_and_wrapped_stddev_is_nothing():
    """The tool's average is compared; its stddev may have wrapped and is not."""
    found = llama_bench.parse(lines(row(avg_ts=7300.0, stddev_ns=18446744073709551615)), 0, "", [PP512])

    assert found["reasons"] == []
    assert codes(found["remarks"]) == ["tool-average-differs"]


def test_wrong_tool_samples_are_a_remark():
    """samples_ts follows from samples_ns within its six digits, else it is said."""
    found = llama_bench.parse(lines(row(samples_ts=[7314.29, 7211.27, 7262.41, 7366.91, 7288.9])), 0, "", [PP512])

    assert codes(found["remarks"]) == ["tool-samples-differ"]


@pytest.mark.parametrize("samples", [[], None, {}, "none"])
def test_samples_that_are_none_are_refused(samples):
    """A JSON row without samples is not a table row."""
    found = llama_bench.parse(lines(row(samples_ns=samples)), 0, "", [PP512], allow_tables=True)

    assert "empty-samples" in codes(found["reasons"])


def test_unknown_exit_status_is_a_failure():
    """A process whose end nobody saw did not end well."""
    assert codes(llama_bench.parse(case("a01", "bench.json"), None, "", None)["reasons"]) == ["tool-failed"]


@pytest.mark.parametrize("bad", [0, -5, "70000000", None, 1.5, True])
def test_impossible_samples_are_reasons(bad):
    """A time is a positive integer of nanoseconds."""
    found = llama_bench.parse(lines(row(samples_ns=[70000000, bad])), 0, "", [PP512])

    assert "impossible-sample" in codes(found["reasons"])


def test_duplicate_test_is_named():
    """-p 512,2048,512 gives one key twice: neither is thrown away silently."""
    planned = [PP512, {**PP512, "n_prompt": 2048}, TG128]
    found = parse("a15", "bench.jsonl", planned)

    assert "duplicate test (512,0,0)" in messages(found["reasons"])
    assert len(found["tests"]) == 4


def test_same_test_under_different_settings_is_no_duplicate():
    """A loop over ubatch sizes gives one key several times, told apart by the plan."""
    text = lines(row(n_ubatch=256), row(n_ubatch=512))
    arguments = {"n_prompt": [512], "n_gen": [], "ubatch_size": [256, 512]}

    assert llama_bench.parse(text, 0, "", planned_tests(arguments))["reasons"] == []
    assert codes(llama_bench.parse(text, 0, "", [PP512])["reasons"]) == ["ambiguous-test"]


def test_missing_and_unplanned_tests_are_named():
    """Every planned test exactly once, and no other."""
    found = parse("a17", "bench.jsonl", [TG128, {**TG128, "n_depth": 8192}])

    assert codes(found["reasons"]) == ["test-missing", "test-not-planned"]
    assert "tg128 @ d8192" in found["reasons"][0]["message"]
    assert "tg128 @ d4096" in found["reasons"][1]["message"]


def test_planned_tests_follow_the_tool():
    """-p, -n and -pg at each depth; tests of nothing are left out."""
    arguments = {"n_prompt": [0, 512], "n_gen": [128, 0], "n_depth": [0, 64], "extra": ["-pg", "512,128"]}

    keys = [(t["n_prompt"], t["n_gen"], t["n_depth"]) for t in planned_tests(arguments)]
    assert keys == [(512, 0, 0), (0, 128, 0), (512, 128, 0), (512, 0, 64), (0, 128, 64), (512, 128, 64)]


def test_rate_at_depth_counts_generated_tokens_only():
    """128 tokens at depth 4096 are 128 tokens."""
    deep = parse("a17", "bench.jsonl")["tests"][1]

    assert deep["label"] == "tg128 @ d4096"
    assert deep["samples"][0]["tokens_per_s"] == pytest.approx(128 / 1.2)


@pytest.mark.parametrize("text", ["", "\n", "[\n\n]\n", "[]", "\ufeff[]", "[\r\n\r\n]\r\n"])
def test_exit_0_with_nothing_measured(text):
    """Exit 0 is no proof of a measurement."""
    assert "nothing-measured" in codes(llama_bench.parse(text, 0, "", [PP512])["reasons"])
    assert codes(llama_bench.parse(text, 0, "", None)["reasons"]) == ["nothing-measured"]


def test_windows_line_ends_and_byte_order_mark():
    """A file that went through Windows is the same measurement."""
    for file in ("bench.json", "bench.jsonl"):
        text = "\ufeff" + case_text("a01", file).replace("\n", "\r\n")

        assert llama_bench.parse(text.encode(), 0, "", [PP512, TG128])["tests"] == parse("a01", file)["tests"]


def test_damaged_file_name_is_no_obstacle():
    """Non-ASCII model names come out damaged, as \\uffff and as raw bytes."""
    text = lines(row()).replace("qwen3-0.6b-q8_0", "mod\\uffffe8le").encode().replace(b"Example CPU", b"Ex\xe9mple")

    assert llama_bench.parse(text, 0, "", [PP512])["reasons"] == []


@pytest.mark.parametrize("field", ["n_prompt", "n_gen", "samples_ns"])
def test_missing_field_is_named(field):
    """A row without what a rate needs is refused by name."""
    found = llama_bench.parse(lines({k: v for k, v in row().items() if k != field}), 0, "", None)

    assert field in messages(found["reasons"])


def test_mixed_test_counts_both():
    """pp512+tg128 is 640 tokens of both kinds."""
    test = llama_bench.parse(lines(row(n_gen=128)), 0, "")["tests"][0]

    assert (test["kind"], test["label"], test["tokens"]) == ("mixed", "pp512+tg128", 640)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("pp512", (512, 0, 0)), ("pp 512", (512, 0, 0)), ("tg128 @ d4096", (0, 128, 4096)),
        ("pp512+tg128", (512, 128, 0)), ("pp512+tg128 @ d16", (512, 128, 16)), ("tg 32", (0, 32, 0)),
        ("pp", None), ("", None), ("512", None), ("pp512x", None),
    ],
)  # fmt: skip
def test_labels_of_all_builds(text, key):
    """Labels are read whole or not at all."""
    assert parse_label(text) == key


def test_table_is_no_source_unless_transcribed():
    """A table has no samples, so nothing may be derived from it by default."""
    refused, taken = parse("a18", "new.md"), parse("a18", "new.md", allow_tables=True, repetitions=5)

    assert codes(refused["reasons"]) == ["no-samples"]
    assert "-o jsonl" in messages(refused["reasons"])
    assert taken["reasons"] == []
    assert codes(taken["remarks"]) == ["no-samples"]


def test_table_columns_by_name():
    """Columns come and go; ± and old labels are understood; the footer names the build."""
    new, old = (parse("a18", f"{n}.md", allow_tables=True) for n in ("new", "old"))

    first, deep = new["tests"]
    assert first["samples"] is None
    published = first["as_published"]
    assert (published["n"], published["mean"], published["stdev"]) == (5, 7340.2, 23.45)
    assert (published["median"], published["min"], published["max"]) == (None, None, None)
    assert (deep["n_gen"], deep["n_depth"], deep["settings"]["flash_attn"]) == (128, 4096, "on")
    assert first["reported"]["printed"]["size"]["value"] == 4.68 * 2**30
    assert (new["reported"]["build_number"], new["reported"]["build_commit"]) == (7653, "193ee38a1")
    assert (old["tests"][0]["n_prompt"], old["tests"][0]["settings"]["n_threads"]) == (64, 8)
    assert old["tests"][0]["settings"]["device"] == "cpu"
    assert "repetitions-assumed" in codes(old["remarks"])
    assert "unknown-build" in codes(old["remarks"])


def test_table_pasted_from_an_issue():
    """Quoted, indented, without the last bar, with mojibake, tabs and device lines around it."""
    text = (
        "> ggml_cuda_init: found 1\n>   Device 0: NVIDIA Example GPU, compute capability 8.9, VMM: yes\n"
        "> | model | size | params | backend | ngl | test | t/s\n> | --- | ---: | ---: | --- | --: | --: | --:\n"
        "> | a 7B | 3.56 GiB | 6.74 B | ROCm,RPC | 99 | pp512 | 1,340.20 Â± 23.45\n>\n> build: abc1234 (5000)\n"
    )
    found = llama_bench.parse(text, 0, "", [PP512], allow_tables=True)

    assert found["reasons"] == []
    assert found["tests"][0]["as_published"]["mean"] == 1340.2
    assert found["reported"]["gpus"] == ["NVIDIA Example GPU"]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (("|  99 |  1 |           pp512", "|  99 |           pp512"), "table-row-length"),
        (("pp512", "hello"), "bad-table-row"),
        (("7340.20 ± 23.45", "n/a"), "bad-table-row"),
        (("7340.20 ± 23.45", "0.00 ± 0.00"), "impossible-rate"),
    ],
)
def test_malformed_tables_are_refused(change, code):
    """A row that does not fit its header, its label or its number is named, never guessed."""
    text = case_text("a18", "new.md").replace(*change)

    assert code in codes(llama_bench.parse(text, 0, "", None, allow_tables=True)["reasons"])


def test_usage_text_means_an_unknown_flag():
    """The usage text is on stdout, the cause on stderr."""
    found = llama_bench.parse(case("a21", "stdout.txt"), 1, case_text("a21", "stderr.txt"), [PP512])

    assert found["reasons"][0]["message"].startswith("llama-bench does not know --bogus (build too old or too new?)")


def test_unknown_build_is_a_remark():
    """Built without git: accepted, but the build number says nothing."""
    found = parse("a22", "bench.jsonl", [PP512])

    assert found["reasons"] == []
    assert codes(found["remarks"]) == ["unknown-build"]
    assert (found["reported"]["build_number"], found["reported"]["build_commit"]) == (None, None)
    partly = llama_bench.parse(lines(row(build_number=8064, build_commit="unknown")), 0, "")
    assert (partly["reported"]["build_number"], partly["reported"]["build_commit"]) == (8064, None)
    assert "does not know its commit (" in partly["remarks"][0]["message"]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "gpu"),
        ({"gpu_info": ""}, "cpu"),
        ({"backends": "CPU"}, "cpu"),
        ({"backends": "BLAS", "gpu_info": ""}, "cpu"),
        ({"devices": "none"}, "cpu"),
        ({"devices": "CPU"}, "cpu"),
        ({"devices": "CUDA0/CPU"}, "gpu"),
        ({"backends": "cpu"}, "cpu"),
        ({"n_gpu_layers": 0}, "hybrid"),
        ({"n_gpu_layers": 0, "no_op_offload": 1}, "cpu"),
        ({"n_cpu_moe": 4}, "hybrid"),
        ({"no_kv_offload": True}, "hybrid"),
        ({"tensor_buft_overrides": "exps=CPU"}, "hybrid"),
        ({"backends": "MTL,BLAS", "gpu_info": "Apple Example"}, "gpu"),
        ({"backends": "Vulkan", "gpu_info": "llvmpipe (LLVM 19.1.7, 256 bits)"}, "cpu"),
        ({"backends": "Vulkan", "gpu_info": "Some Card, llvmpipe (LLVM 19.1.7, 256 bits)"}, "gpu"),
    ],
)
def test_device_of_a_row(changes, expected):
    """Where it was computed follows from build, hardware and flags together."""
    assert devices.device(row(**changes)) == expected


def test_some_layers_only_is_hybrid_where_the_model_is_known():
    """20 of 28 layers on the GPU is neither."""
    assert devices.device(row(n_gpu_layers=20), layers=28) == "hybrid"
    assert devices.device(row(n_gpu_layers=28), layers=28) == "hybrid"
    assert devices.device(row(n_gpu_layers=29), layers=28) == "gpu"
    assert devices.device(row(n_gpu_layers=-1), layers=28) == "gpu"


def test_ngl_0_is_not_a_cpu_run():
    """Large batches still go to the GPU."""
    assert parse("a24", "bench.jsonl")["reported"]["device"] == "hybrid"


def test_cuda_build_that_saw_no_gpu_is_said():
    """It exits 0 and still names CUDA."""
    found = llama_bench.parse(lines(row(gpu_info="")), 0, "", [PP512])

    assert found["reported"]["device"] == "cpu"
    assert codes(found["remarks"]) == ["gpu-not-seen"]


def test_driver_in_software_is_no_gpu():
    """The comma in its name makes it no second GPU either."""
    found = llama_bench.parse(lines(row(backends="Vulkan", gpu_info="llvmpipe (LLVM 19.1.7, 256 bits)")), 0, "")

    assert found["reported"]["gpus"] == ["llvmpipe (LLVM 19.1.7, 256 bits)"]
    assert codes(found["remarks"]) == ["gpu-not-seen"]


def test_several_gpus_and_backend_names():
    """Two GPUs listed are not two used; MTL is Metal."""
    found = parse("a25", "bench.jsonl")

    assert found["reasons"] == []
    assert codes(found["remarks"]) == ["several-gpus"]
    assert len(found["reported"]["gpus"]) == 2
    backends = [devices.backends(t["settings"]) for t in found["tests"]]
    assert backends == [["CUDA", "RPC"], ["Metal", "BLAS"], ["ROCm"]]


def test_sql_is_refused():
    """Unescaped quotes: not read at all."""
    found = parse("a27", "bench.sql")

    assert codes(found["reasons"]) == ["sql-refused"]
    assert found["tests"] == []


def test_csv_row_of_the_wrong_length_is_refused():
    """41 values for 42 names: every column could be the shifted one."""
    found = parse("a28", "bench.csv")

    assert codes(found["reasons"]) == ["csv-column-count"]
    assert "41 values for 42 columns" in messages(found["reasons"])


def test_cut_csv_is_refused():
    """A quote that never closes."""
    text = case_text("a28", "bench.csv")[:-20]

    assert "bad-csv" in codes(llama_bench.parse(text, 0, "", [PP512])["reasons"])


def test_right_csv_is_read_but_has_no_samples():
    """The missing value restored: commas inside quotes stay, numbers are numbers, but there are no samples."""
    text = case_text("a28", "bench.csv").replace('"0","0","0","0","0","0","512"', '"0","0","0","0","0","0","0","512"')
    found = llama_bench.parse(text, 0, "", [PP512])

    assert codes(found["reasons"]) == ["no-samples"]
    assert found["tests"][0]["settings"]["cpu_info"] == "Example CPU, 8-Core"
    assert found["tests"][0]["as_published"]["mean"] == 7285.676949


def test_old_build_that_failed_to_decode_but_exited_0():
    """Builds before mid-May 2025 print a rate for work not done; stderr tells."""
    found = parse("a02", "bench.json", stderr="llama_decode: failed to decode, ret = -3\n")

    assert codes(found["reasons"]) == ["decode-failed"]
    assert "decode-errors-unchecked" in codes(found["remarks"])


def test_recorded_gpu_run_is_read():
    """A real run on an H200, 8B stand-in."""
    found = llama_bench.parse((FIXTURES / "recorded/h200/llama-bench-8b-fa1.json").read_bytes(), 0, "", None)

    assert found["reasons"] == []
    assert [t["label"] for t in found["tests"]] == ["pp512", "tg128"]
    assert found["reported"]["device"] == "gpu"
