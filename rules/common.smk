"""What every .smk file shares: the session (machine, engine, campaign, plan) and the functions that name inputs.

No rules here. All thinking is in scripts/tokentrail/workflow.py, where it can be tested.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(workflow.basedir) / "scripts"))

from tokentrail import figures, problems, sources
from tokentrail import workflow as tokentrail_workflow

try:
    SESSION = tokentrail_workflow.open_session(config, workflow.is_main_process)
except problems.Problem as problem:
    raise WorkflowError(str(problem)) from None

if workflow.is_main_process:
    print(SESSION.notice, file=sys.stderr)

# The scripts run with the Python that runs Snakemake, whatever PATH says.
shell.prefix(f'set -euo pipefail; export PATH={str(Path(sys.executable).parent)!r}:"$PATH"; ')

RESOURCES = SESSION.resources
# only what determines the build: more jobs, say, must not run the rule again
ENGINE_SETTINGS = json.dumps({k: v for k, v in config["engine"].items() if k != "jobs"}, sort_keys=True)
SDIST = json.dumps({k: v for k, v in config["engine"].items() if k == "pypi"}, sort_keys=True)
PUBLISHED = tokentrail_workflow.PUBLISHED
FIGURE_MODULES = [f"tokentrail/figures/{module}.py" for module in figures.FIGURES.values()]


wildcard_constraints:
    run="|".join(re.escape(run) for run in SESSION.runs),
    engine=re.escape(SESSION.engine["name"]),
    weights="hub|stand-in|wheel",
    model="[a-z0-9][a-z0-9._-]*",
    key="[0-9a-f]{8}",


def code(*starts):
    """A rule's scripts with all they import, as inputs: an edit of a helper reruns the rule, a touch does not."""
    return sources.closure(*starts)


def schemas(*names):
    """JSON Schemas as inputs."""
    return [f"config/schemas/{name}.schema.json" for name in names]


def pending_cases(tool):
    """Regular expression of the cases that lack a measurement; a measured case can be made by no rule."""
    ids = [re.escape(case["id"]) for case in SESSION.pending_of(tool)]
    return "|".join(ids) or "(?!)"


def outcome_of_model(wildcards):
    """The note that getting a case's model leaves behind, whether it worked or not."""
    model = SESSION.pending[wildcards.case]["model"]
    return f"{RESOURCES}/models/{model['weights']}/{model['id']}.outcome.json"


def tokenizer_of_model(wildcards):
    """Stand-ins carry Qwen's real vocabulary and chat template."""
    # ancient: the vocabulary is pinned by its own hash, so a newer llama.cpp rebuilds no stand-in
    return ancient(f"{RESOURCES}/tokenizer/tokenizer.json") if wildcards.weights == "stand-in" else []


def templates():
    """Whatever the pages are filled from."""
    return sorted(str(path) for path in Path("reports/templates").rglob("*") if path.is_file())


def measurements_of_run(wildcards):
    """Raw of a run: of this session's run all that is planned, of a stored one what is there."""
    if wildcards.run == SESSION.run:
        return [tokentrail_workflow.measurement_path(SESSION.run, case) for case in SESSION.plan["cases"]]
    try:
        return tokentrail_workflow.stored_measurements(wildcards.run)
    except problems.Problem as problem:
        raise WorkflowError(str(problem)) from None


def measurements_to_make():
    """Raw of this session's cases that are not measured yet, or failed, or were set aside."""
    return [tokentrail_workflow.measurement_path(SESSION.run, case) for case in SESSION.pending.values()]


def products(run):
    """What a run consists of, apart from its raw."""
    stored = [f"results/{run}/{name}.json" for name in ("records", "numbers", "claims")]
    return [*stored, f"reports/{run}/figures.json", f"reports/{run}/index.html"]


def finished_runs():
    """Every run but this session's, if that is not measured yet: whoever looks back measures nothing."""
    return [run for run in SESSION.runs if run != SESSION.run or not SESSION.pending]


def of_finished_runs(pattern):
    """A file of every finished run."""
    return expand(pattern, run=finished_runs())


def of_compared_runs(pattern):
    """A file of every run that the pages and tables over all runs show."""
    return expand(pattern, run=SESSION.compared)


def pages_to_make():
    """Pages that the page over all runs links to and that are not there: those of a run that was imported, say."""
    return [page for page in of_compared_runs("reports/{run}/index.html") if not Path(page).exists()]


def tell_end(trouble):
    """Print the headline table and, after trouble, the one line that each failed job left."""
    notes = [path.read_text().strip() for path in sorted(Path("logs").rglob("*.problem"))] if trouble else []
    numbers = f"results/{SESSION.run}/numbers.json"
    if Path(numbers).exists():
        subprocess.run([sys.executable, "scripts/headline.py", "--run-dir", f"results/{SESSION.run}"], check=False)
    if notes:
        print("\nWHAT WENT WRONG\n" + "\n".join(f"  * {note}" for note in notes) + "\n", file=sys.stderr)


onstart:
    for note in Path("logs").rglob("*.problem"):
        note.unlink()


onsuccess:
    tell_end(trouble=False)


onerror:
    tell_end(trouble=True)
