"""Argument lists from planned cases, for builds that know different flags."""

from __future__ import annotations

import pytest

from tokentrail.measuring import arguments
from tokentrail.measuring.arguments import Tool
from tokentrail.problems import Problem

NEW = """
  -d, --n-depth <n>
  -nopo, --no-op-offload <0|1>
  -fa, --flash-attn <on|off|auto>
--output-format {md,jsonl}
-np,   --parallel N
-cram, --cache-ram N
--ui,  --webui, --no-ui, --no-webui
--op-offload, --no-op-offload
"""
OLD = "  -fa, --flash-attn <0|1>\n -np, --parallel N\n"
MODEL = "models/hub/m.gguf"


def tool(help_text: str = NEW, gpu: bool = False) -> Tool:
    return Tool("engines/e/bin/t", help_text, gpu)


def case(device: str = "cpu", threads: int | None = 4, **given) -> dict:
    return {"device": device, "threads": {"value": threads, "reason": "x"}, "arguments": given}


def test_llama_bench_as_published() -> None:
    """Nothing is passed that the case does not ask for, except threads and the format."""
    argv = arguments.llama_bench(case(n_prompt=[256], n_gen=[128]), tool(), MODEL)

    assert argv == ["engines/e/bin/t", "-m", MODEL, "-o", "jsonl", "-p", "256", "-n", "128", "-t", "4"]


def test_llama_bench_all() -> None:
    """Every argument of the schema has its flag; lists are joined by commas."""
    given = case(n_prompt=[], n_gen=[32], n_depth=[0, 4096], repetitions=20, n_gpu_layers=99, no_op_offload=1,
                 flash_attn="on", batch_size=[512], ubatch_size=[256, 512], type_k="q8_0", type_v="f16",
                 extra=["-v"])  # fmt: skip

    text = " ".join(arguments.llama_bench(given, tool(), MODEL))

    assert text.endswith(
        "-p 0 -n 32 -d 0,4096 -r 20 -ngl 99 -nopo 1 -fa on -b 512 -ub 256,512 -ctk q8_0 -ctv f16 -t 4 -v"
    )


def test_cpu_of_a_gpu_engine() -> None:
    """No layers on the GPU, and no big batches sent there: -ngl 0 alone would be no CPU run."""
    bench = arguments.llama_bench(case(n_prompt=[1], n_gen=[1]), tool(gpu=True), MODEL)
    batched = arguments.batched_bench(case(ctx_size=1, npp=[1], ntg=[1], npl=[1]), tool(gpu=True), MODEL)
    gpu = arguments.llama_bench(case("gpu", n_prompt=[1], n_gen=[1]), tool(gpu=True), MODEL)

    assert "-ngl 0 -nopo 1" in " ".join(bench)
    assert "-ngl 0 --no-op-offload" in " ".join(batched)
    assert "-ngl" not in gpu


def test_batched_bench_runs_the_first_size_twice() -> None:
    """Its first row is cold, so it comes twice if asked for."""
    given = case(ctx_size=4096, npp=[64], ntg=[32], npl=[1, 4], repeat_first=True)

    assert "-npl 1,1,4 --output-format jsonl" in " ".join(arguments.batched_bench(given, tool(), MODEL))


def test_server() -> None:
    """Local only, one slot, no copy of the old cache, no web page."""
    argv = arguments.server(case(ctx_size=4096, requests=[]), tool(), MODEL, 18080, ["--reasoning", "off"])

    text = " ".join(argv)
    assert "-c 4096 --host 127.0.0.1 --port 18080 --reasoning off -np 1 --cache-ram 0 --no-webui -t 4" in text


def test_older_server() -> None:
    """Flags it does not know are left out: they are extras, not the experiment."""
    text = " ".join(arguments.server(case(ctx_size=1, requests=[]), tool(OLD), MODEL, 1, []))

    assert "--cache-ram" not in text
    assert "webui" not in text
    assert "-np 1" in text


@pytest.mark.parametrize(
    ("help_text", "wanted", "expected"),
    [(NEW, "auto", ["-fa", "auto"]), (OLD, "on", ["-fa", "1"]), (OLD, "off", ["-fa", "0"]), (OLD, "auto", []),
     ("-fa, --flash-attn   enable", "on", ["-fa"]), ("-fa, --flash-attn   enable", "off", [])],
)  # fmt: skip
def test_flash_attention(help_text: str, wanted: str, expected: list[str]) -> None:
    """on|off|auto in new builds, 0|1 or a bare flag in old ones."""
    argv = arguments.llama_bench(case(n_prompt=[1], n_gen=[1], flash_attn=wanted), tool(help_text), MODEL)

    assert expected == argv[9:-2]


def test_flag_that_the_build_lacks() -> None:
    """An argument of the experiment that this build cannot do is refused, not dropped."""
    with pytest.raises(Problem, match="no option -d"):
        arguments.llama_bench(case(n_prompt=[1], n_gen=[1], n_depth=[512]), tool(OLD), MODEL)


def test_flag_is_not_a_part_of_another() -> None:
    """--reasoning is not known because --reasoning-budget is."""
    assert not tool("--reasoning-budget N").knows("--reasoning")
    assert tool("-rea,  --reasoning [on|off]").knows("--reasoning")


def test_case_threads_win() -> None:
    """A case may set its own; without any, none is passed."""
    assert arguments.llama_bench(case(n_prompt=[1], n_gen=[1], threads=7), tool(), MODEL)[-2:] == ["-t", "7"]
    assert "-t" not in arguments.llama_bench(case(threads=None, n_prompt=[1], n_gen=[1]), tool(), MODEL)


def test_read_ceiling() -> None:
    """Bytes, repetitions, threads."""
    argv = arguments.read_ceiling(case(bytes=1 << 30, repetitions=20), "tools/x/read-ceiling")

    assert argv == ["tools/x/read-ceiling", "--bytes", "1073741824", "--repetitions", "20", "--threads", "4"]
