"""One measuring job: from a planned case to raw/{case}/{key}/measurement.json, whatever the tool."""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tokentrail import jsonio, progress
from tokentrail.engines.places import resources_folder
from tokentrail.machine import stamp
from tokentrail.machine.gpu import Nvml
from tokentrail.machine.lock import whole_machine
from tokentrail.machine.probe import probe
from tokentrail.measuring import environment, provenance
from tokentrail.measuring.arguments import Tool
from tokentrail.measuring.child import Child, Ended, child, die_with_snakemake
from tokentrail.measuring.places import model_facts, model_file, relative
from tokentrail.measuring.raw import Raw, writing
from tokentrail.problems import Problem, reported
from tokentrail.tools.failures import failed

# where progress finds how long a case took before
RESULTS = Path("results")


@dataclass
class Job:
    """Everything the measuring functions need. `resources` is the tools' working folder."""

    case: dict[str, Any]
    run: dict[str, str]
    resources: Path
    engine_dir: Path
    engine: dict[str, Any]
    model: dict[str, Any] | None
    machine: dict[str, Any]
    nvml: Nvml
    raw: Raw = field(init=False)
    sampler: stamp.Sampler = field(init=False)
    processes: list[dict[str, Any]] = field(default_factory=list)
    window: list[int] = field(default_factory=list)

    @property
    def model_path(self) -> str:
        """The model's file, relative to the working folder."""
        return model_file(self.case)

    def tool(self, name: str) -> Tool:
        """A tool of the engine, with its help text (asked once per engine, then kept beside it)."""
        path = f"{relative(self.engine_dir, self.resources)}/bin/{name}"
        return Tool(path, self._help(name, path), self.engine["backend"] not in ("cpu", "CPU"))

    def environment(self) -> tuple[dict[str, str], dict[str, str | None]]:
        """The tools' environment, and what of it is recorded."""
        folder = environment.library_folder(self.engine_dir / "bin", self.resources)
        return environment.of(os.environ, self.nvml.count, folder)

    def _help(self, name: str, path: str) -> str:
        kept = self.engine_dir / "help" / f"{name}.txt"
        if not kept.exists():
            out, err = self.raw.folder / "help.out", self.raw.folder / "help.err"
            with child([path, "--help"], self.resources, self.environment()[0], out, err) as asked:
                asked.wait(60)
            text = out.read_text(errors="replace") + err.read_text(errors="replace")
            if "--model" not in text:
                raise Problem(f"{name} --help failed ({asked.last_words()}); build the engine again")
            jsonio.write_text(kept, text)
            out.unlink()
            err.unlink()
        return kept.read_text(encoding="utf-8", errors="replace")


def process(
    job: Job, argv: list[str], during: Callable[[Child], dict[str, Any]] | None = None
) -> tuple[dict[str, Any], Ended]:
    """Run one process of the case with its telemetry and add it to the job. `during` talks to a running server.

    Raises Problem when the tool ended badly; its record is in the job by then.
    """
    index, raw = len(job.processes), job.raw
    env, recorded = job.environment()
    names = {kind: f"process-{index}.{kind}.txt" for kind in ("stdout", "stderr")}
    before = stamp.settled(job.nvml)
    own_before = time.process_time() + job.sampler.cpu_s()
    problem, extra, stopped_by_us = None, {}, False
    with child(argv, job.resources, env, raw.folder / names["stdout"], raw.folder / names["stderr"]) as tool:
        try:
            if during:
                extra = during(tool)
                # a server runs until it is told to stop; how it takes that says nothing about the measurement
                stopped_by_us = tool.poll() is None
            else:
                tool.wait(job.case["timeout_s"])
        except Talk as talk:
            extra, problem = talk.extra, str(talk)
    own_cpu_s = time.process_time() + job.sampler.cpu_s() - own_before
    after = stamp.instant(job.nvml)
    ended = tool.ended()
    job.window = [*(job.window or [ended.start_ns])[:1], ended.end_ns]
    samples = job.sampler.between(ended.start_ns, ended.end_ns)
    sample_file = f"process-{index}.telemetry.jsonl"
    (raw.folder / sample_file).write_text("".join(_line(s) for s in samples), encoding="ascii")
    record = {
        "index": index,
        "argv": argv,
        "environment": recorded,
        "started_at": ended.started_at,
        "ended_at": ended.ended_at,
        "duration_ns": ended.end_ns - ended.start_ns,
        "exit_status": ended.exit_status,
        "signal": ended.signal,
        "stdout": raw.stream(names["stdout"]),
        "stderr": raw.stream(names["stderr"]),
        "telemetry": {
            "before": before,
            "after": after,
            "during": stamp.summary(samples, before, after, ended.cpu_s + own_cpu_s),
            "samples": raw.stream(sample_file),
        },
        **extra,
    }
    job.processes.append(record)
    if problem is None and not stopped_by_us:
        problem = _bad_end(job.case, index, ended, tool)
    if problem:
        raise Problem(problem)
    return record, ended


class Talk(Problem):
    """A fault while talking to a running server, with what had been recorded until then."""

    def __init__(self, text: str, extra: dict[str, Any]) -> None:
        super().__init__(text)
        self.extra = extra


def main(tool: str, measure: Callable[[Job], None], description: str) -> None:
    """The command line that all measuring scripts share. Exit status 0 whenever a measurement.json was written."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--plan", type=Path, required=True, help="plan.json of the run")
    parser.add_argument("--case", required=True, help="id of a case in the plan")
    parser.add_argument("--engine-dir", type=Path, required=True, help="engine: bin/ and manifest.json")
    parser.add_argument("--resources", type=Path, default=resources_folder(), help="the folder of engines/ and models/")
    parser.add_argument("--out", type=Path, required=True, help="raw/{case}/{key}/measurement.json")
    parser.add_argument("--failed-dir", type=Path, required=True, help="the run's failed/")
    parser.add_argument("--log", type=Path, help="where a traceback goes")
    given = parser.parse_args()
    die_with_snakemake()
    progress.announce(jsonio.read_json(given.plan), given.case, RESULTS)
    with reported(given.log, f"measure {given.case}"):
        problem = run(tool, measure, given)
    if problem:
        print(f"measure {given.case}: {problem}", file=sys.stderr)


def run(tool: str, measure: Callable[[Job], None], given: argparse.Namespace) -> str | None:
    """Measure one case; the problem's text if it failed. Raises Problem when it could not even begin."""
    plan = jsonio.read_json(given.plan, "plan")
    case = next((c for c in plan["cases"] if c["id"] == given.case), None)
    if case is None or case["tool"] != tool:
        kind = f"is of {case['tool']}, not {tool}" if case else f"is not in {given.plan}"
        raise Problem(f"case {given.case} {kind}; name one of the plan")
    resources = given.resources.absolute()
    job = Job(
        case=case,
        run=plan["run"],
        resources=resources,
        engine_dir=given.engine_dir.absolute(),
        engine=jsonio.read_json(given.engine_dir / "manifest.json", "engine"),
        model=None,
        machine=probe(plan["run"]["machine"]),
        nvml=Nvml(),
    )
    workflow = provenance.of()
    with whole_machine(), writing(given.out, given.failed_dir, case["id"]) as raw:
        job.raw = raw
        samples = raw.folder / "samples.jsonl"
        problem = None
        try:
            if case["device"] == "gpu" and job.nvml.broken:
                raise Problem(f"the GPU cannot be used: {job.nvml.reason}")
            job.model = model_facts(case, resources)
            with stamp.sampler(samples) as job.sampler:
                measure(job)
        except Problem as failure:
            problem = str(failure)
        samples.unlink(missing_ok=True)
        measurement = _measurement(job, workflow)
        if problem is None:
            raw.keep(measurement)
        else:
            place = raw.fail({**measurement, "status": "failed", "problem": problem})
            problem += f" (evidence: {place})"
    return problem


def without_folders(text: str) -> str:
    """The text with each absolute path cut to its file name: a compiler leaves the builder's folders in messages."""
    return re.sub(r"(?<![\w.:/])/(?:[^\s/:'\"]+/)+(?=[^\s/])", "", text)


def _measurement(job: Job, workflow: dict[str, Any]) -> dict[str, Any]:
    return {
        "schema_version": 1,
        "status": "measured",
        "origin": "measured",
        "run": job.run,
        "case": job.case,
        "model": job.model,
        "engine": job.engine,
        "machine": job.machine,
        "processes": job.processes,
        "workflow": workflow,
        # the machine was ours, and a rented GPU paid for, from the first tool's start to the last one's end
        "held_gpu_ns": job.window[1] - job.window[0] if job.window else 0,
    }


def _line(value: dict[str, Any]) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":")) + "\n"


def _bad_end(case: dict[str, Any], process: int, ended: Ended, tool: Child) -> str | None:
    name = case["tool"]
    if ended.timed_out:
        return f"{name} was stopped after {case['timeout_s']} s; give the case more time (timeout_s) or less to do"
    status = -signal.Signals[ended.signal] if ended.signal else ended.exit_status
    if not status:
        return None
    found = failed(name, status, tool.stderr_text(), f"process {process + 1} of {case['processes']}")
    return without_folders("; ".join(reason["message"] for reason in found))
