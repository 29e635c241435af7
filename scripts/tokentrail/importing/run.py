"""Builds the run folder of an import: plan, raw files verbatim, measurements marked transcribed."""

from __future__ import annotations

import filecmp
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tokentrail import config, jsonio, units
from tokentrail.importing import facts, sources
from tokentrail.importing.sources import Part
from tokentrail.problems import Problem

KEY = "transcribed"
_STEPS = {"serve": "1", "request-short": "2", "request-long": "3", "request-long-warm": "3b", "bench-small": "4",
          "bench-small-cpu": "5", "batched-small": "6", "bench-big": "7", "batched-big": "6"}  # fmt: skip


def import_run(
    run: Mapping[str, str],
    files: Sequence[Path],
    results: Path,
    host_file: Path | None = None,
    commands_file: Path | None = None,
    title: str | None = None,
    repetitions: int | None = None,
) -> Path:
    """Write results/{machine}/{engine}/{campaign}/ from pasted outputs; returns that folder.

    An existing folder with the same plan and raw is left as it is; any other one is refused.
    """
    host = facts.read_host(host_file)
    parts = [part for file in files for part in sources.read(file, bool(host.get("gpu")))]
    if not parts:
        raise Problem(f"no file was named; give at least one: {sources.EXPECTED}")
    commands = _commands(commands_file) if commands_file else {}
    if repetitions is not None and repetitions < 1:
        raise Problem(f"--repetitions {repetitions}: a test that was printed ran once at least")
    models = [facts.model(part, host, parts) for part in parts]
    cases = _cases(run["campaign"], parts, models)
    plan = {
        "schema_version": 1, "run": dict(run), "origin": "transcribed", "weights": "hub",
        "title": title or f"Transcribed: {host.get('source', 'pasted tables')}", "cases": cases, "skipped": [],
        "note": "measured elsewhere; the raw files are what the source prints",
    }  # fmt: skip
    extras = [extra for extra in (host_file, commands_file) if extra]
    names = [extra.name for extra in extras]
    for file in [*files, *extras]:
        if file.name == "measurement.json" or names.count(file.name) > 1:
            raise Problem(f"{file}: a run keeps another file under this name; rename it")
    if extras:
        plan["sources"] = [{"file": f"raw/{e.name}", "sha256": jsonio.sha256_file(e)} for e in extras]
    jsonio.validate(plan, "plan", "plan of the import")
    target = results / run["machine"] / run["engine"] / run["campaign"]
    partial = target.with_name(f".{target.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    common = {
        "schema_version": 1, "status": "measured", "origin": "transcribed", "run": dict(run),
        "engine": facts.engine(run["engine"], host, parts), "machine": facts.machine(run["machine"], host),
        "processes": [],
    }  # fmt: skip
    jsonio.write_json(partial / "plan.json", plan)
    for extra in extras:
        shutil.copyfile(extra, _made(partial / "raw") / extra.name)
    for case, part, model in zip(cases, parts, models, strict=True):
        folder = _made(partial / "raw" / case["id"] / KEY)
        shutil.copyfile(part.file, folder / part.file.name)
        transcription = _transcription(folder / part.file.name, part, host, commands, case["id"], repetitions)
        measurement = {**common, "case": case, "model": model, "transcription": transcription}
        jsonio.write_json(folder / "measurement.json", measurement, "measurement")
    return _settle(partial, target)


def _commands(file: Path) -> dict[str, str]:
    """Command lines by case or file name, each one that a shell can split."""
    found = config.read_yaml(file) or {}
    lines = list(found.values()) if isinstance(found, dict) else [None]
    try:
        good = all(isinstance(line, str) and shlex.split(line) for line in lines)
    except ValueError:
        good = False
    if not good:
        raise Problem(f"{file}: it needs a mapping, case or file name: command line with its quotes closed")
    return found


def _transcription(
    file: Path, part: Part, host: Mapping[str, Any], commands: Mapping[str, str], case: str, repetitions: int | None
) -> dict[str, Any]:
    found: dict[str, Any] = {
        "source": host.get("source", "not stated"),
        "files": [{"file": file.name, "sha256": jsonio.sha256_file(file), "bytes": file.stat().st_size}],
        "missing": {"samples": "only what is printed is known", "telemetry": "the source does not say",
                    "time": f"the source gives {host['date']} only" if "date" in host else "the source does not say"},
    }  # fmt: skip
    command = commands.get(case) or commands.get(file.name)
    if command:
        found["command_line"] = command
    else:
        found["missing"]["command line"] = "the source does not say"
    if part.tool == "llama-bench":
        found["select"] = {"model_type": part.model_type, "device": part.device}
        if repetitions:
            found["repetitions"] = repetitions
    if part.requests:
        found["requests"] = list(part.requests)
    return found


def _cases(campaign: str, parts: Sequence[Part], models: Sequence[Mapping[str, Any] | None]) -> list[dict[str, Any]]:
    """Planned cases: role from tool, device and model; id, step and title from the campaign's case of that role."""
    known = config.read_campaign(campaign)["cases"] if campaign in config.campaign_names() else []
    by_role = {(case["tool"], case["role"]): case for case in reversed(known)}
    cases: list[dict[str, Any]] = []
    for part, model in zip(parts, models, strict=True):
        role = _role(part, model, parts, models)
        like = by_role.get((part.tool, role), {})
        label = model["label"] if model else "model"
        identifier = like.get("id") or (role if part.tool == "llama-server" else f"{role}-{label}")
        taken = {case["id"] for case in cases}
        if identifier in taken:
            identifier = next(f"{role}-{label}-{n}" for n in range(2, 1000) if f"{role}-{label}-{n}" not in taken)
        cases.append(
            {
                "id": re.sub(r"[^a-z0-9._-]+", "-", identifier.lower()),
                "step": like.get("step") or _STEPS[role],
                "title": like.get("title") or f"{part.tool} on the {part.device}, {model['name'] if model else label}",
                "tool": part.tool, "role": role, "arguments": part.arguments, "key": KEY,
                "device": "gpu" if part.device == "hybrid" else part.device,
                "processes": 1, "timeout_s": None,
                "threads": {"value": part.threads, "reason": "as printed" if part.threads else "not printed"},
                "model": model and {"id": model["model"], "label": model["label"], "name": model["name"],
                                    "weights": model["weights"], "identity": model["source"]},
            }
        )  # fmt: skip
    return cases


def _role(part: Part, model: Mapping[str, Any] | None, parts: Sequence[Part], models: Sequence[Any]) -> str:
    if part.role not in ("bench", "batched"):
        return part.role
    benched = [(p, m) for p, m in zip(parts, models, strict=True) if p.tool == "llama-bench" and m]
    small = min((m for _, m in benched), key=_size_of, default=None)
    is_small = model is None or small is None or model["model"] == small["model"]
    if part.role == "batched":
        return "batched-small" if is_small else "batched-big"
    if not is_small:
        return "bench-big"
    beside_gpu = any(p.device == "gpu" and m["model"] == model["model"] for p, m in benched if model)
    return "bench-small-cpu" if part.device == "cpu" and beside_gpu else "bench-small"


def _size_of(model: Mapping[str, Any]) -> float:
    if model["parameters"]:
        return model["parameters"]
    text = model["source"]["printed"].get("params")
    return units.parse_count(text)["value"] if text else float("inf")


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _settle(partial: Path, target: Path) -> Path:
    """Move the new folder to its place; an existing one must hold the same plan and raw files."""
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        partial.rename(target)
        return target
    new = sorted(p.relative_to(partial) for p in partial.rglob("*") if p.is_file())
    old = sorted(p.relative_to(target) for p in (target / "raw").rglob("*") if p.is_file())
    same = [p for p in new if p.parts[0] == "raw"] == old and all(
        (target / p).exists() and filecmp.cmp(partial / p, target / p, shallow=False) for p in new
    )
    shutil.rmtree(partial)
    if not same:
        raise Problem(f"{target} is taken by another run; choose another campaign name or move that folder away")
    return target
