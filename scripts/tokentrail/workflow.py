"""What the Snakefile knows before any rule runs: machine, engine, campaign, plan, and what is not measured yet."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tokentrail import config, engines, jsonio, machine, models, plan
from tokentrail.problems import Problem

RESULTS = Path("results")
TRY_OUT = "smoke"  # its results are not committed, so nothing committed may depend on them
PUBLISHED = "rtx4090/b12110-cuda/lesson"


@dataclass(frozen=True)
class Session:
    """Everything that parse time resolves. Paths are relative to the repository, but for a moved `resources`."""

    run: str
    campaign: str
    engine: dict[str, Any]
    machine: dict[str, Any]
    plan: dict[str, Any]
    resources: str
    runs: tuple[str, ...]
    compared: tuple[str, ...]
    pending: dict[str, dict[str, Any]] = field(default_factory=dict)
    notice: str = ""

    def pending_of(self, tool: str) -> list[dict[str, Any]]:
        """Cases of one tool that have no measurement yet: the only ones for which a rule can make raw files."""
        return [case for case in self.pending.values() if case["tool"] == tool]


def open_session(settings: dict[str, Any], is_main: bool = True) -> Session:
    """Resolve machine, engine, campaign and plan from the settings of config/config.yaml and the command line.

    Writes results/{run}/plan.json where it differs (and takes it away at the end if that run got nothing else: a dry
    run, or a look at stored runs, leaves no new folder), and forgets the markers of failed cases (their evidence stays
    under failed/), so that they are tried again. Raises Problem before anything runs when the settings cannot work.
    `is_main` is false where a cluster's job reads the Snakefile once more: that changes no file.
    """
    jsonio.validate(settings, "config", "config/config.yaml with --config")
    wanted = settings.get("machine", "auto")
    probed = machine.probe(wanted, config.read_machines())
    machine_id = probed["machine"]
    has_gpu = bool(probed["gpus"])

    engine = engines.identify(settings["engine"], probed)
    name, why = _campaign(settings.get("campaign", "auto"), has_gpu)
    campaign = config.read_campaign(name)
    weights = settings.get("weights", "auto")
    preferred = campaign.get("weights", "hub") if weights == "auto" else weights
    suffix = f"-{preferred}" if preferred != campaign.get("weights", "hub") else ""
    run = {"machine": machine_id, "engine": engine["name"], "campaign": f"{name}{suffix}"}
    path = "/".join(run.values())
    planned = plan.resolve(
        campaign,
        run=run,
        weights=preferred,
        models=config.read_models(),
        prompts=config.read_prompts(),
        identity=models.identity,
        threads=probed["threads"],
        has_gpu=has_gpu and engine["backend"] != "cpu",
    )
    if is_main:
        _make_resources()
        _forget_broken_engine(engine["name"])
        _claim_folder(path, planned)
        for case in planned["cases"]:
            _forget_failure(path, case)
    pending = {case["id"]: case for case in planned["cases"] if not Path(measurement_path(path, case)).exists()}
    if is_main:
        wanted_models = [case["model"] for case in pending.values() if case["model"]]
        for model in {(model["weights"], model["id"]): model for model in wanted_models}.values():
            _forget_stale_model(model)
        if any(model["weights"] == "stand-in" for model in wanted_models):
            _forget_failed_tokenizer()
    done = len(planned["cases"]) - len(pending)
    report = Path("reports") / path / "index.html"
    notice = (
        f"Tokentrail: campaign {run['campaign']} ({why}) on {machine_id} with {engine['name']}; "
        f"{done} of {len(planned['cases'])} cases measured; "
        f"report: {report}{'' if report.exists() else ' (to be made)'}"
    )
    runs = tuple(sorted({path, *stored_runs()}))
    return Session(
        run=path,
        campaign=run["campaign"],
        engine=engine,
        machine=probed,
        plan=planned,
        resources=resources(),
        runs=runs,
        compared=_compared(settings.get("runs", []), runs),
        pending=pending,
        notice=notice,
    )


def resources() -> str:
    """Folder of models and builds: TOKENTRAIL_RESOURCES, or resources/ in the repository."""
    return os.environ.get("TOKENTRAIL_RESOURCES", "").rstrip("/") or "resources"


def _leave_no_empty_run(path: Path) -> None:
    """Remove a plan of which nothing was measured, with the folders that were made for it."""
    with contextlib.suppress(OSError):
        if list(path.parent.iterdir()) == [path]:
            path.unlink()
            for folder in path.parents[:3]:
                folder.rmdir()  # ends at the first that holds anything else


def _make_resources() -> None:
    """Raise Problem where the folder of models and builds cannot be."""
    try:
        Path(resources()).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Problem(
            f"{resources()} cannot be made ({error.strerror}); set TOKENTRAIL_RESOURCES to a folder you may write in"
        ) from None


def _forget_broken_engine(name: str) -> None:
    """An installed llama.cpp may have moved, its content unchanged: links that lead nowhere are made anew."""
    folder = Path(resources()) / "engines" / name
    if any(not path.exists() for path in folder.glob("bin/*")):
        (folder / "manifest.json").unlink(missing_ok=True)


def stored_runs() -> list[str]:
    """All runs below results/ that hold a plan and at least one measurement."""
    folders = [path.parent for path in sorted(RESULTS.glob("*/*/*/plan.json"))]
    return [str(run.relative_to(RESULTS)) for run in folders if any(run.glob("raw/*/*/measurement.json"))]


def measurement_path(run: str, case: dict[str, Any]) -> str:
    """Where the raw of a planned case lies; the key in the path keeps an older measurement when the case changes."""
    return f"{RESULTS}/{run}/raw/{case['id']}/{case['key']}/measurement.json"


def stored_measurements(run: str) -> list[str]:
    """Measurements that a stored run's plan names and that are there."""
    planned = jsonio.read_json(RESULTS / run / "plan.json", "plan")
    paths = [measurement_path(run, case) for case in planned["cases"]]
    return [path for path in paths if Path(path).exists()]


def _compared(wanted: list[str], runs: tuple[str, ...]) -> tuple[str, ...]:
    """Runs that stand in the pages and tables over all runs: those named, else all but the try-outs."""
    for run in wanted:
        config.choose("run", run, list(runs), "config/config.yaml: runs")
    return tuple(wanted) or tuple(run for run in runs if run.split("/")[-1] != TRY_OUT) or runs


def _campaign(wanted: str, has_gpu: bool) -> tuple[str, str]:
    if wanted != "auto":
        return wanted, "as asked"
    if has_gpu:
        return "lesson", "an NVIDIA GPU is here"
    return "portable", "no NVIDIA GPU is here"


def _claim_folder(run: str, planned: dict[str, Any]) -> None:
    """Write plan.json; refuse a folder that holds something else than this run."""
    folder = RESULTS / run
    if folder.exists() and not folder.is_dir():
        raise Problem(f"{folder} is in the way: it is not a folder; move it and run again")
    path = folder / "plan.json"
    if path.exists():
        stored = jsonio.read_json(path)
        if not isinstance(stored, dict):
            raise Problem(f"{path} is no plan; restore it, or move {folder} away")
        if stored.get("origin") != "measured" or stored.get("run") != planned["run"]:
            raise Problem(f"{folder} holds another run ({stored.get('origin')}); move it or set machine in config.yaml")
    elif folder.is_dir() and any(folder.iterdir()):
        raise Problem(f"{folder} is taken: it holds files but no plan.json; move them and run again")
    else:
        atexit.register(_leave_no_empty_run, path.absolute())
    try:
        jsonio.write_if_changed(path, jsonio.dumps(planned))
    except OSError as error:
        raise Problem(f"{path} cannot be written ({error.strerror}); free space, or make {RESULTS}/ writable") from None


def _forget_failure(run: str, case: dict[str, Any]) -> None:
    """Drop the marker of a failed measurement, and the folder that held nothing else."""
    path = Path(measurement_path(run, case))
    if path.exists() and _status(path) != "measured":
        path.unlink()
        with contextlib.suppress(OSError):
            path.parent.rmdir()


def _forget_failed_tokenizer() -> None:
    """Drop the note on a vocabulary that could not be had, so that it is fetched again."""
    folder = Path(resources()) / "tokenizer"
    if models.tokenizer_problem(folder):
        (folder / "tokenizer.json").unlink()


def _forget_stale_model(model: dict[str, Any]) -> None:
    """Drop the note on a model that failed, or whose source is another by now, so that it is fetched (again)."""
    outcome = Path(resources()) / "models" / model["weights"] / f"{model['id']}.outcome.json"
    if outcome.exists():
        found = jsonio.read_json(outcome)
        if (
            not isinstance(found, dict)
            or found.get("identity") != model["identity"]
            or not outcome.with_name(f"{model['id']}.gguf").exists()
        ):
            outcome.unlink()


def _status(path: Path) -> str:
    # Canonical JSON sorts its keys and indents by one blank, so that the line is found
    # without parsing 1,000 files.
    text = jsonio.read_text(path)
    for line in reversed(text.splitlines()):
        if line.startswith(' "status": '):
            return json.loads(line.removeprefix(' "status": ').rstrip(","))
    raise Problem(f"{path} has no status; it was changed by hand: restore it, or move its folder away to measure again")
