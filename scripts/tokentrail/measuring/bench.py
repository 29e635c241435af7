"""Tools that run, print and end: llama-bench, llama-batched-bench, and our own read kernel."""

from __future__ import annotations

from tokentrail.measuring import arguments, read_ceiling
from tokentrail.measuring.job import Job, process
from tokentrail.problems import Problem


def llama_bench(job: Job) -> None:
    """All processes of a llama-bench case."""
    argv = arguments.llama_bench(job.case, job.tool("llama-bench"), job.model_path)
    _run(job, argv)


def batched_bench(job: Job) -> None:
    """All processes of a llama-batched-bench case."""
    argv = arguments.batched_bench(job.case, job.tool("llama-batched-bench"), job.model_path)
    _run(job, argv)


def ceiling(job: Job) -> None:
    """All processes of a read-ceiling case, on the device that the case measures."""
    kind = "cpu"
    if job.case["device"] == "gpu":
        if job.engine["backend"].lower() != "cuda":
            raise Problem(f"there is no read kernel for {job.engine['backend']}; this ceiling is not measured")
        kind = "cuda"
    path = read_ceiling.build(kind, job.resources)
    _run(job, arguments.read_ceiling(job.case, path))


def _run(job: Job, argv: list[str]) -> None:
    for _ in range(job.case["processes"]):
        process(job, argv)
