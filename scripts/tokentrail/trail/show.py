"""A trail as a tree that a person can read."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from rich.text import Text
from rich.tree import Tree


def tree(found: Mapping[str, Any]) -> Tree:
    """The rich tree of a trail (tokentrail.trail.of)."""
    steps = {step["id"]: step for step in found["steps"]}
    leaves = {(leaf["file"], leaf["pointer"]): leaf for leaf in found["leaves"]}
    number = found["number"]
    run = "/".join(found["run"][key] for key in ("machine", "engine", "campaign"))
    head = ((number["shown"], "bold"), f"  {number['label']}  ", (number["id"], "cyan"), f"  in {run}")
    root = Tree(Text.assemble(*head))
    for mark in ("origin", "weights"):
        if found[mark] in ("transcribed", "stand-in"):
            root.add(Text(f"{found[mark]}", "yellow"))
    if not number["valid"]:
        root.add(Text("NOT VALID: " + "; ".join(r["message"] for r in number["reasons"]), "red"))
    shown: set[str] = set()
    _number(root, steps[number["id"]], steps, leaves, shown)
    for remark in number.get("remarks", []):
        root.add(Text(f"remark: {remark['message']}", "yellow"))
    for file, case in found["cases"].items():
        _case(root, file, case)
    return root


def _number(
    parent: Tree, step: Mapping[str, Any], steps: Mapping[str, Any], leaves: Mapping[Any, Any], shown: set[str]
) -> None:
    code = step["formula"]["code"]
    filled = step["formula"]["filled"]
    formula = parent.add(Text.assemble("formula  ", (code, "bold"), f"   ({step['formula']['words']})"))
    if filled != code:
        formula.add(Text(f"= {filled}"))
    formula.add(Text(f"= {step['value']:.10g} {step['unit']}   {_interval(step)}   view: {step['view']}"))
    shown.add(step["id"])
    for entry in step["inputs"]:
        head = f"{entry['name']} = {entry['value']:.10g} {entry.get('unit', '')}".rstrip()
        if entry["kind"] == "number":
            branch = parent.add(Text.assemble(head, "   number ", (entry["id"], "cyan")))
            if entry["id"] in shown:
                branch.add(Text("(above)"))
            else:
                _number(branch, steps[entry["id"]], steps, leaves, shown)
            continue
        branch = parent.add(Text.assemble(head, "   ", (f"{entry['file']} {entry['pointer']}", "cyan")))
        branch.add(Text(f"record's SHA-256 {entry['sha256']}", "dim"))
        _leaf(branch, leaves[entry["file"], entry["pointer"]])
    for constant in step["constants"]:
        value = f"{constant['name']} = {constant['value']:.10g} {constant['unit']}"
        parent.add(Text.assemble(value, "   constant: ", (constant["source"], "italic")))


def _interval(step: Mapping[str, Any]) -> str:
    interval = step["interval"]
    if interval is None:
        return "exact" if step["view"] == "exact" else "no interval"
    level = f"{100 * interval['level']:g} %, " if interval["level"] else ""
    return f"{interval['low']:.7g} … {interval['high']:.7g} ({level}{interval['method']})"


def _leaf(branch: Tree, leaf: Mapping[str, Any]) -> None:
    if leaf["samples"] and len(leaf["samples"]) > 1:
        marks = [f"{'cold ' if s['cold'] else ''}{s['value']:.6g}" for s in leaf["samples"][:12]]
        more = f" … {len(leaf['samples'])} in all" if len(leaf["samples"]) > 12 else ""
        branch.add(Text(f"samples: {', '.join(marks)}{more}"))
    for line in leaf["raw"]:
        text = line["text"]
        node = branch.add(Text(f"{line['file']}, line {line['line']}", "green"))
        before, value, after = text[: line["start"]], text[line["start"] : line["end"]], text[line["end"] :]
        node.add(Text.assemble(before[-120:], (value, "reverse"), after[:80]))
    if leaf["raw"] and leaf["raw"][0]["more"]:
        branch.add(Text(f"and {leaf['raw'][0]['more']} more lines of further processes"))


def _case(root: Tree, file: str, case: Mapping[str, Any]) -> None:
    branch = root.add(Text.assemble(("case ", "bold"), case["case"], f"   {case['title']} ({case['tool']})"))
    branch.add(Text(f"raw      {case['raw']['file']}   SHA-256 {case['raw']['sha256']}"))
    for command in {shlex.join(argv): None for argv in case["command_lines"]}:
        branch.add(Text.assemble("command  ", (command, "bold")))
    branch.add(Text(f"model    {_model(case['model'])}"))
    branch.add(Text(f"engine   {_engine(case['engine'])}"))
    branch.add(Text(f"machine  {_machine(case['machine'])}"))
    branch.add(Text(f"when     {_when(case)}"))
    for note in (*case["reasons"], *case["remarks"]):
        branch.add(Text(f"note     {note['message']}", "yellow"))


def _model(model: Mapping[str, Any] | None) -> str:
    if not model:
        return "none"
    source = model["source"]
    keys = ("repo", "file", "revision", "package", "version", "member")
    place = " ".join(str(source[key]) for key in keys if source.get(key))
    size = f"{model['file_bytes']:,} bytes" if model["file_bytes"] else "size not known"
    parts = [model["name"], f"{model['weights']} weights", place, size, f"SHA-256 {model['sha256'] or 'not known'}"]
    return " · ".join(part for part in parts if part)


def _engine(engine: Mapping[str, Any]) -> str:
    flags = " ".join(engine["cmake_flags"]) or "flags not known"
    hashes = ", ".join(f"{name} {sha[:12]}…" for name, sha in sorted(engine["binaries"].items())) or "no hashes known"
    built = [f"llama.cpp build {engine['build_number']}", f"commit {engine['commit']}", engine["backend"]]
    built += [f"CUDA {engine['cuda_version']}"] if engine["cuda_version"] else []
    return " · ".join([*built, engine["compiler"] or "compiler not known", flags, hashes])


def _machine(machine: Mapping[str, Any]) -> str:
    parts = [gpu["name"] or "GPU" for gpu in machine["gpus"]]
    parts += [f"driver {machine['driver']}"] if machine["driver"] else ["driver not known"] if machine["gpus"] else []
    parts.append(machine["cpu"]["model"] or f"{machine['cpu']['logical']} CPUs")
    parts += [machine["os"]] if machine["os"] else []
    return " · ".join(parts)


def _when(case: Mapping[str, Any]) -> str:
    if case["started_at"]:
        version = case["workflow"] or {}
        commit = f", commit {version['commit'][:12]}" if version.get("commit") else ""
        dirty = " with local changes" if version.get("dirty") else ""
        by = f"by version {version.get('version', 'not known')}{commit}{dirty}"
        return f"{case['started_at']} to {case['ended_at']}, {by}"
    given = case["transcription"] or {}
    date = case["machine"].get("date")
    return f"{date or 'date not known'}, transcribed from: {given.get('source', 'not stated')}"
