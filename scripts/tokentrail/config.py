"""Reads the files of config/: closed schemas, one sentence for every fault, nothing runs on a wrong one."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any

import yaml

from tokentrail import jsonio
from tokentrail.problems import Problem

ROOT = Path(__file__).resolve().parents[2]
CONFIG = ROOT / "config"
# libyaml reads a campaign of 1,000 cases in a tenth of the time
LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class EachKeyOnce:
    """For a loader: a key that stands twice is a fault. YAML would take the last and forget the other in silence."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """The mapping of a node, each key once."""
        seen: set[Any] = set()
        for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
            if key.value in seen:
                raise yaml.constructor.ConstructorError(None, None, f"key {key.value!r} stands twice", key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep=deep)  # type: ignore[misc]


class _Loader(EachKeyOnce, LOADER):
    """Reads the files of config/."""


def read_yaml(path: Path, schema: str | None = None) -> Any:
    """Read a YAML file; raise Problem naming file, line and fault when it is missing, no YAML, or breaks its schema."""
    shown = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
    if not path.exists():
        raise Problem(f"{shown} is missing; restore it from the repository")
    try:
        value = yaml.load(jsonio.read_text(path), Loader=_Loader)
    except RecursionError:
        raise Problem(f"{shown} is not valid YAML: nested too deep") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f" (line {mark.line + 1})" if mark else ""
        raise Problem(f"{shown}{line} is not valid YAML: {getattr(error, 'problem', error)}") from None
    if schema:
        jsonio.validate(value, schema, str(shown))
    return value


def choose(what: str, wanted: str, known: list[str], where: str) -> str:
    """Return `wanted` if it is known, else raise Problem with what is allowed and the nearest name."""
    if wanted in known:
        return wanted
    near = difflib.get_close_matches(wanted, known, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise Problem(f"{where}: {what} {wanted!r} is not known{hint} (allowed: {', '.join(sorted(known))})")


def campaign_names(folder: Path = CONFIG) -> list[str]:
    """Names of the campaigns, one a file of config/campaigns/."""
    return sorted(path.stem for path in (folder / "campaigns").glob("*.yaml"))


def read_campaign(name: str, folder: Path = CONFIG) -> dict[str, Any]:
    """One campaign, validated; its cases have unique ids."""
    choose("campaign", name, campaign_names(folder), "config/config.yaml: campaign")
    file = f"config/campaigns/{name}.yaml"
    campaign = read_yaml(folder / "campaigns" / f"{name}.yaml", "campaign")
    if campaign["campaign"] != name:
        raise Problem(
            f"{file}: campaign is {campaign['campaign']!r}, but the file's name says {name!r}; make them equal"
        )
    ids = [case["id"] for case in campaign["cases"]]
    twice = sorted({one for one in ids if ids.count(one) > 1})
    if twice:
        raise Problem(f"{file}: case id {twice[0]!r} stands twice; every case needs an id of its own")
    return campaign


def read_prompts(folder: Path = CONFIG) -> dict[str, dict[str, Any]]:
    """Prompts by id: title, text, sha256 and the exact token counts per tokenizer."""
    prompts = read_yaml(folder / "prompts" / "prompts.yaml", "prompts")["prompts"]
    for entry in prompts.values():
        path = folder / "prompts" / entry["file"]
        if not path.exists():
            raise Problem(f"config/prompts/prompts.yaml: {entry['file']} is missing in config/prompts/; restore it")
        entry["text"] = jsonio.read_text(path).rstrip("\n")
        entry["sha256"] = jsonio.sha256_text(entry["text"])
    return prompts


def read_models(folder: Path = CONFIG) -> dict[str, Any]:
    """Models by id, as config/models.yaml has them."""
    return read_yaml(folder / "models.yaml", "models")["models"]


def read_machines(folder: Path = CONFIG) -> dict[str, Any]:
    """Machines by id with their data-sheet figures."""
    return read_yaml(folder / "machines.yaml", "machines")["machines"]
