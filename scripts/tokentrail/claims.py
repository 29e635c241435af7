"""The claims ledger: what a page publishes, beside what its evidence gives, beside the machine at hand.

Every claim is bound to a number of the registry. It holds when that number's interval, which comes from the last
digit of the evidence, overlaps what the printed claim can mean. Nothing is widened to make one pass; where the page
counts otherwise than we do, the number that counts its way is checked and ours is shown beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tokentrail import config, jsonio, patterns
from tokentrail.problems import Problem
from tokentrail.statistics import Interval, overlap

HOLDS, DIFFERS, NO_EVIDENCE = "holds", "differs", "no evidence"
# `about` claims say no digit; a fiftieth either way is what the word is taken to allow
ABOUT = 0.02


def check(document: Mapping[str, Any], published: Mapping[str, Any], claims: Mapping[str, Any]) -> dict[str, Any]:
    """The ledger (schema `ledger`) of one run's numbers against the claims.

    `published`: numbers of the run that the claims were taken from; `document`: numbers of the run at hand (it may
    be the same).
    """
    here, there = ({n["id"]: n for n in d["numbers"]} for d in (document, published))
    entries = [_entry(claim, there, here, document) for claim in claims["claims"]]
    counts = {verdict: sum(e["verdict"] == verdict for e in entries) for verdict in (HOLDS, DIFFERS, NO_EVIDENCE)}
    ledger = {
        "schema_version": 1,
        "run": document["run"],
        "published_run": published["run"],
        "source": claims["source"],
        "claims": entries,
        "patterns": [patterns.check(pattern, here) for pattern in claims["patterns"]],
        "summary": {"claims": len(entries), "holds": counts[HOLDS], "differs": counts[DIFFERS],
                    "no_evidence": counts[NO_EVIDENCE]},
    }  # fmt: skip
    jsonio.validate(ledger, "ledger", "claims ledger")
    return ledger


def of_run(run_dir: Path, published_dir: Path | None = None, config_dir: Path = config.CONFIG) -> dict[str, Any]:
    """The ledger of a stored run. `published_dir` defaults to the published run beside it, else the committed one."""
    document = jsonio.read_json(run_dir / "numbers.json", "numbers")
    claims = config.read_yaml(config_dir / "claims.yaml", "claims")
    published_dir = published_dir or folder_of(claims["published_run"], run_dir)
    if not (published_dir / "numbers.json").exists():
        raise Problem(f"{published_dir} has no numbers.json; restore the published run or derive its numbers first")
    published = jsonio.read_json(published_dir / "numbers.json", "numbers")
    return check(document, published, claims)


def folder_of(published_run: str, run_dir: Path) -> Path:
    """Where the published run lies: beside this run, else as committed."""
    here = run_dir.resolve().parents[2] / published_run
    return here if here.exists() else config.CONFIG.parent / "results" / published_run


def limits(claim: Mapping[str, Any]) -> Interval:
    """What the printed claim can mean: half a unit of its last digit either way."""
    half = abs(claim["value"]) * ABOUT if claim.get("about") else claim["places"] / 2
    return Interval(claim["value"] - half, claim["value"] + half, None, "rounding of the printed claim")


def evidence(number: Mapping[str, Any]) -> Interval:
    """The number's interval; a point where it is exact or where no interval is known."""
    found = Interval.from_dict(number.get("interval"))
    return found or Interval(number["value"], number["value"], None, "exact" if number.get("exact") else "value alone")


def _entry(
    claim: Mapping[str, Any], there: Mapping[str, Any], here: Mapping[str, Any], document: Mapping[str, Any]
) -> dict[str, Any]:
    meant = limits(claim)
    bound = claim.get("number", claim["id"])
    entry: dict[str, Any] = {
        "id": claim["id"], "step": claim["step"], "unit": claim["unit"], "number": bound,
        "published": {"shown": claim["shown"], "value": claim["value"], "low": meant.low, "high": meant.high},
        "recomputed": None, "ours": None, "verdict": NO_EVIDENCE, "here": None,
    }  # fmt: skip
    found = there.get(bound)
    entry["label"] = (there.get(claim["id"]) or found or {}).get("label", claim["id"])
    if found is not None and found["value"] is not None:
        if found["unit"] != claim["unit"]:
            units = f"{claim['unit']}, its number {bound} in {found['unit']}"
            raise Problem(f"config/claims.yaml: claim {claim['id']} is in {units}; make them equal")
        entry["recomputed"] = _short(found)
        entry["verdict"] = HOLDS if found["valid"] and overlap(evidence(found), meant) else DIFFERS
    if bound != claim["id"]:
        entry["convention"] = claim["convention"]
        if ours := there.get(claim["id"]):
            entry["ours"] = {**_short(ours), "holds": overlap(evidence(ours), meant)}
    entry["here"] = _here(claim["id"], here)
    reported = here.get(claim["id"])
    if entry["here"] and reported and reported["id"] != entry["here"]["number"] and reported["valid"]:
        entry["here_reported"] = _short(reported)
    if entry["here"] is None:
        entry["here_reason"] = _reason(claim["id"], document)
    return entry


def _here(identifier: str, here: Mapping[str, Any]) -> dict[str, Any] | None:
    found = here.get(f"{identifier}-steady") or here.get(identifier)
    return _short(found) if found and found["valid"] and found["value"] is not None else None


def _short(number: Mapping[str, Any]) -> dict[str, Any]:
    interval = number.get("interval")
    return {"number": number["id"], "value": number["value"], "shown": number["shown"],
            "low": interval["low"] if interval else None, "high": interval["high"] if interval else None,
            "view": number.get("view", "other")}  # fmt: skip


def _reason(identifier: str, document: Mapping[str, Any]) -> str:
    for absent in document["not_measured"]:
        if absent["id"] in (identifier, f"{identifier}-steady"):
            return absent["reason"]
    found = next((n for n in document["numbers"] if n["id"] == identifier), None)
    return found["reasons"][0]["message"] if found and found["reasons"] else "this run has no such number"
