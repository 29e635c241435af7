"""The ledger: published claims against their evidence, conventions named, nothing widened; patterns anywhere."""

from pathlib import Path

import made_run
import pytest

from tokentrail import claims, config, jsonio, patterns
from tokentrail.problems import Problem

ROOT = Path(__file__).resolve().parents[2]
PUBLISHED = ROOT / "results" / "rtx4090" / "b12110-cuda" / "lesson"
CLAIMS = config.read_yaml(config.CONFIG / "claims.yaml", "claims")
ENTRIES = {c["id"]: c for c in CLAIMS["claims"]}


@pytest.fixture(scope="module")
def published():
    return jsonio.read_json(PUBLISHED / "numbers.json", "numbers")


@pytest.fixture(scope="module")
def ledger(published):
    return claims.check(published, published, CLAIMS)


def test_there_are_72_claims():
    """None is left out, none stands twice."""
    assert len(CLAIMS["claims"]) == len(ENTRIES) == 72


@pytest.mark.parametrize("identifier", ENTRIES)
def test_claim_holds_by_its_own_digits(ledger, identifier):
    """Evidence and claim overlap; the claim's room is half its last digit, no more."""
    entry = next(e for e in ledger["claims"] if e["id"] == identifier)
    claim = ENTRIES[identifier]

    assert entry["verdict"] == claims.HOLDS
    assert entry["published"]["high"] - entry["published"]["low"] == pytest.approx(claim["places"])


@pytest.mark.parametrize("identifier", ENTRIES)
def test_claim_is_bound_to_a_number_of_its_id(published, identifier):
    """The id of every claim is a number of the registry on the published run."""
    assert identifier in {n["id"] for n in published["numbers"]}


def test_evidence_is_no_wider_than_the_claim(ledger):
    """No claim passes because its evidence could mean anything: one ratio of coarse prints is wider than it."""
    wide = {
        e["id"]
        for e in ledger["claims"]
        if e["recomputed"]["low"] is not None
        and e["recomputed"]["high"] - e["recomputed"]["low"] > 1.001 * (e["published"]["high"] - e["published"]["low"])
    }

    assert wide == {"ttft-growth"}


def test_other_convention_is_shown_and_said(ledger):
    """767 counts file bytes; 766 counts tensors: both stand in the ledger, with the reason."""
    entry = next(e for e in ledger["claims"] if e["id"] == "decode-bandwidth-8b-gpu")

    assert round(entry["recomputed"]["value"]) == 767
    assert round(entry["ours"]["value"]) == 766
    assert entry["ours"]["holds"] is False
    assert "file" in entry["convention"]


def test_wrong_claim_differs(published):
    """A claim of 57 times finds 55.76 against it."""
    wrong = {**CLAIMS, "claims": [{**ENTRIES["prefill-decode-ratio-0.6b-gpu"], "value": 57}]}

    assert claims.check(published, published, wrong)["claims"][0]["verdict"] == claims.DIFFERS


def test_claim_on_the_very_edge_holds(published):
    """55.757 rounds to 55.8: a claim of 55.8 ± 0.05 holds, one of 55.9 does not."""
    entry = {**ENTRIES["prefill-decode-ratio-0.6b-gpu"], "places": 0.1}
    verdicts = [
        claims.check(published, published, {**CLAIMS, "claims": [{**entry, "value": v}]})["claims"][0]["verdict"]
        for v in (55.8, 55.9)
    ]

    assert verdicts == [claims.HOLDS, claims.DIFFERS]


def test_claim_without_evidence_is_said(published):
    """A number whose evidence is missing: no verdict is made up."""
    lacking = {**published, "numbers": [n for n in published["numbers"] if n["id"] != "ttft-short"]}
    ledger = claims.check(published, lacking, CLAIMS)

    assert next(e for e in ledger["claims"] if e["id"] == "ttft-short")["verdict"] == claims.NO_EVIDENCE
    assert ledger["summary"]["no_evidence"] == 1


def test_other_unit_is_refused(published):
    """GB are never held against GiB."""
    wrong = {**CLAIMS, "claims": [{**ENTRIES["tensors-8b"], "unit": "GB"}]}

    with pytest.raises(Problem, match="make them equal"):
        claims.check(published, published, wrong)


def test_here_is_the_machine_at_hand(tmp_path, published):
    """Beside each claim stands this run's own number, steady where it has one, or the reason why not."""
    run_dir, found = made_run.derived(tmp_path)
    document = jsonio.read_json(run_dir / "numbers.json")
    entries = {e["id"]: e for e in claims.check(document, published, CLAIMS)["claims"]}

    assert entries["decode-rate-8b-gpu"]["here"]["value"] == found["decode-rate-8b-gpu-steady"]["value"]
    assert entries["decode-rate-8b-gpu"]["here"]["view"] == "steady"
    reported = entries["decode-rate-8b-gpu"]["here_reported"]
    assert (reported["number"], reported["view"]) == ("decode-rate-8b-gpu", "as-published")
    assert reported["low"] < reported["value"] < reported["high"]
    assert "here_reported" not in entries["weights-0.6b"]
    assert entries["gpu-memory-used"]["here"] is None
    assert entries["gpu-memory-used"]["here_reason"] == "not in this test"


def test_patterns_hold_on_the_published_run(ledger):
    """Every pattern the lesson teaches holds of its own evidence."""
    assert {p["verdict"] for p in ledger["patterns"]} == {"holds"}


@pytest.mark.parametrize(
    ("low", "high", "verdict"), [(1.1, 2.0, "holds"), (0.5, 0.9, "does not hold"), (0.9, 1.1, "not decided")]
)
def test_pattern_needs_its_whole_interval(low, high, verdict):
    """Over the line, under it, or across it."""
    number = {
        "id": "hurt-ratio",
        "value": (low + high) / 2,
        "valid": True,
        "shown": "x",
        "interval": {"low": low, "high": high},
    }
    found = patterns.check({"id": "gpu-loss-hurts-prefill-more", "statement": "s"}, {"hurt-ratio": number})

    assert found["verdict"] == verdict


def test_pattern_without_numbers_is_not_measured():
    """A machine without a GPU cannot say what losing it costs."""
    assert patterns.check({"id": "gpu-loss-hurts-prefill-more", "statement": "s"}, {})["verdict"] == "not measured"


def test_every_pattern_of_the_config_has_a_test():
    """config/claims.yaml names no pattern that the code does not know."""
    assert {p["id"] for p in CLAIMS["patterns"]} == set(patterns.TESTS)
