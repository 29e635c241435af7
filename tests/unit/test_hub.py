"""Models from a hub: a hub served on loopback, the real library and the real script against it."""

from __future__ import annotations

import hashlib
import json
import os
import ssl
import subprocess
import sys
import types
from pathlib import Path

import pytest
from gguf.constants import GGMLQuantizationType as Format
from huggingface_hub import errors
from model_files import gguf_bytes
from model_hub_server import COMMIT, FILE, REPO, Hub, running

from tokentrail import models
from tokentrail.models import hub
from tokentrail.models.gguf_file import Tensor
from tokentrail.problems import Problem

BODY = gguf_bytes({"general.architecture": "qwen3"}, [Tensor("token_embd.weight", (64, 256), Format.F32)])
SHA256 = hashlib.sha256(BODY).hexdigest()
SCRIPTS = Path(hub.__file__).parents[2]


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch):
    """The library waits between its retries, up to half a minute in all; the retries stay, the waits go."""
    monkeypatch.setattr("huggingface_hub.utils._http.time.sleep", lambda _: None)


@pytest.fixture
def served():
    with running(BODY) as one:
        yield one


def entry(revision: str = COMMIT, sha256: str | None = SHA256, size: int | None = len(BODY)) -> dict:
    source = {"repo": REPO, "file": FILE, "revision": revision, "sha256": sha256, "bytes": size}
    return {"label": "tiny", "name": "Tiny", "tokenizer": "qwen3", "hub": source}


def fetch(served: Hub, folder: Path, one: dict) -> dict:
    return hub.fetch(
        "tiny",
        one["hub"],
        folder / "tiny.gguf",
        aside=folder / "tiny.gguf.wrong",
        lock=folder / "lock.json",
        log=lambda _: None,
        endpoint=served.url,
        cache=folder / "cache",
    )


def test_a_pinned_file_is_linked_from_the_cache(served, tmp_path):
    """The file has the pinned bytes, shares them with the cache, and no lock is written."""
    got = fetch(served, tmp_path, entry())

    out = tmp_path / "tiny.gguf"
    assert (got["sha256"], got["source"]["commit"]) == (SHA256, COMMIT)
    assert out.read_bytes() == BODY
    assert out.stat().st_nlink == 2
    assert not (tmp_path / "lock.json").exists()


def test_an_unknown_hash_is_learnt_and_held_to(served, tmp_path):
    """First download of `main` learns commit, hash and size; later runs refuse anything else."""
    loose = entry(revision="main", sha256=None, size=None)

    fetch(served, tmp_path, loose)
    locked = json.loads((tmp_path / "lock.json").read_text())["tiny"]
    again = hub.pinned("tiny", loose["hub"], tmp_path / "lock.json")

    assert locked == {
        "repo": REPO, "file": FILE, "revision": "main", "commit": COMMIT, "sha256": SHA256, "bytes": len(BODY)
    }  # fmt: skip
    assert again == {"commit": COMMIT, "sha256": SHA256, "bytes": len(BODY)}
    served.body = served.announced = BODY[:-1] + b"\1"
    elsewhere = tmp_path / "elsewhere"  # a new cache, with the lock
    elsewhere.mkdir()
    (elsewhere / "lock.json").write_bytes((tmp_path / "lock.json").read_bytes())
    with pytest.raises(Problem, match=f"expected sha256 {SHA256}"):
        fetch(served, elsewhere, loose)


def test_the_lock_of_another_file_is_not_used(tmp_path):
    """A lock entry counts only for the repo, file and revision that it was learnt for."""
    hub.learn("tiny", entry("main")["hub"], {"commit": COMMIT, "sha256": SHA256, "bytes": 1}, tmp_path / "lock.json")

    other = {**entry("main", None, None)["hub"], "file": "other.gguf"}

    assert hub.pinned("tiny", other, tmp_path / "lock.json") == {"commit": None, "sha256": None, "bytes": None}


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        ("gated", "access is gated; accept the licence"),
        ("no-repo", "knows no such repository; check repo"),
        ("no-revision", "has no revision"),
        ("no-file", "no such file"),
        ("down", "status 503"),
        ("not-a-hub", "is no hub"),
        ("cut-off", "cut off; run again"),
    ],
)
def test_each_fault_is_one_sentence(served, tmp_path, fault, sentence):
    """Every way to fail names the repository, the cause and what to do, on one line."""
    served.fault = fault

    with pytest.raises(Problem, match=sentence) as raised:
        fetch(served, tmp_path, entry())

    assert "\n" not in str(raised.value)
    assert REPO in str(raised.value)
    assert not (tmp_path / "tiny.gguf").exists()


def _with_status(code: int) -> Exception:
    error = errors.HfHubHTTPError.__new__(errors.HfHubHTTPError)
    Exception.__init__(error, f"{code} Client Error")
    error.response = types.SimpleNamespace(status_code=code)
    return error


@pytest.mark.parametrize(
    ("cause", "sentence"),
    [
        (_with_status(401), "status 401; set HF_TOKEN"),
        (_with_status(403), "status 403; the token may not read"),
        (_with_status(429), "status 429; too many requests"),
        (_with_status(500), "status 500; try again later"),
        (ssl.SSLCertVerificationError("certificate verify failed"), "certificate cannot be checked; set SSL_CERT_FILE"),
        (type("ProxyError", (Exception,), {})("407 Proxy Authentication Required"), "the proxy refused"),
        (type("UnsupportedProtocol", (Exception,), {})("missing an 'http://'"), "HF_ENDPOINT is no address"),
        (errors.HFValidationError("a b"), "no name of a repository; correct repo"),
        (PermissionError(13, "Permission denied"), "the cache cannot be written"),
        (OSError(28, "No space left on device"), "the disk is full"),
        (type("ReadTimeout", (Exception,), {})("timed out"), "cut off; run again"),
        (ConnectionResetError(104, "reset by peer"), "cut off; run again"),
        (type("ConnectTimeout", (Exception,), {})("timed out"), "cannot be reached"),
        (type("ConnectError", (Exception,), {})("Name or service not known"), "cannot be reached"),
    ],
    ids=lambda one: one if isinstance(one, str) else type(one).__name__,
)
def test_faults_of_other_kinds(cause, sentence):
    """By class name and words, since classes and the HTTP library change; wrapped or bare."""
    wrapped = errors.LocalEntryNotFoundError("An error happened while trying to locate the file on the Hub")
    wrapped.__cause__ = cause
    kinds = [cause] if isinstance(cause, OSError) and cause.errno == 28 else [cause, wrapped]

    for error in kinds:
        assert sentence in hub.explain(error, {"repo": "a/b", "file": "m.gguf"}, "main")


def test_unreachable_hub(served, tmp_path):
    """A hub that does not answer and an empty cache: the sentence says both."""
    served.shutdown()
    served.server_close()

    with pytest.raises(Problem, match="cannot be reached and the file is not in the cache"):
        fetch(served, tmp_path, entry())


def test_wrong_bytes_name_both_hashes_and_are_moved_aside(served, tmp_path):
    """The hub announces the right hash and sends other bytes of the same length: the library lets that pass."""
    served.body = BODY[:-1] + b"\1"
    wrong = hashlib.sha256(served.body).hexdigest()

    with pytest.raises(Problem, match=f"expected sha256 {SHA256}.*got sha256 {wrong}.*tiny.gguf.wrong"):
        fetch(served, tmp_path, entry())
    assert (tmp_path / "tiny.gguf.wrong").read_bytes() == served.body

    served.body = BODY
    assert fetch(served, tmp_path, entry())["sha256"] == SHA256


def test_a_sound_file_that_is_not_the_pinned_one_stays_in_the_cache(served, tmp_path):
    """A wrong pin does not cost the user's shared cache its file."""
    with pytest.raises(Problem, match="stays in the cache"):
        fetch(served, tmp_path, entry(sha256="0" * 64))

    assert not (tmp_path / "tiny.gguf.wrong").exists()
    assert list((tmp_path / "cache").rglob(FILE))


@pytest.mark.parametrize(
    ("body", "nature"),
    [
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n", "git-lfs pointer, not the model"),
        (b"<html><body>Sign in</body></html>", "HTML page, not a model"),
    ],
    ids=["lfs", "html"],
)
def test_what_is_no_model_is_named(served, tmp_path, body, nature):
    """A pointer or a page instead of the model is called by its name."""
    served.body = served.announced = body

    with pytest.raises(Problem, match=nature):
        fetch(served, tmp_path, entry())


def script(served: Hub, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the library as a job does: in a process of its own, told by HF_* where the hub is."""
    program = (
        "import json, sys; from pathlib import Path; from tokentrail import models, problems\n"
        "folder = Path(sys.argv[1]); one = json.loads(sys.argv[2])\n"
        "with problems.reported(None, 'get_model tiny'):\n"
        "    out = folder / 'models/hub/tiny.gguf'\n"
        "    models.provide('tiny', one, 'hub', out, out.with_suffix('.facts.json'), folder,\n"
        "                   lock=folder / 'lock.json')\n"
    )
    clean = {key: value for key, value in os.environ.items() if not key.startswith("HF_")}
    env = {**clean, "PYTHONPATH": str(SCRIPTS), "HF_ENDPOINT": served.url, "HF_HOME": str(folder / "home")}
    command = [sys.executable, "-c", program, str(folder), json.dumps(entry())]
    return subprocess.run(command, env={**env, **environment}, capture_output=True, text=True, timeout=120)


def test_end_to_end_with_a_token_that_is_written_nowhere(served, tmp_path):
    """HF_ENDPOINT and HF_TOKEN are honoured; facts are written; no file holds the token."""
    done = script(served, tmp_path, HF_TOKEN="hf_not_a_real_token")

    facts = json.loads((tmp_path / "models/hub/tiny.facts.json").read_text())
    assert done.returncode == 0, done.stderr
    assert facts["sha256"] == SHA256
    assert facts["source"]["commit"] == COMMIT
    assert any(token == "Bearer hf_not_a_real_token" for _, _, token in served.served)
    assert "hf_not_a_real_token" not in done.stdout + done.stderr
    assert not [p for p in tmp_path.rglob("*") if p.is_file() and b"hf_not_a_real_token" in p.read_bytes()]


def test_offline(served, tmp_path):
    """Offline without the file is one sentence; offline with it, from cache or in place, needs no hub."""
    missing = script(served, tmp_path, HF_HUB_OFFLINE="1")
    script(served, tmp_path)
    asked = len(served.served)
    in_place = script(served, tmp_path, HF_HUB_OFFLINE="1")
    (tmp_path / "models/hub/tiny.gguf").unlink()
    from_cache = script(served, tmp_path, HF_HUB_OFFLINE="1")

    assert missing.returncode == 1
    assert "HF_HUB_OFFLINE is set and the file is not in the cache" in missing.stderr.splitlines()[-1]
    assert "Traceback" not in missing.stderr
    assert (in_place.returncode, from_cache.returncode) == (0, 0), from_cache.stderr
    assert len(served.served) == asked


def test_a_failed_refresh_keeps_the_good_file(served, tmp_path, monkeypatch):
    """With the hub down and the pin changed, the file that is there stays as it is."""
    out = tmp_path / "tiny.gguf"
    out.write_bytes(BODY)
    monkeypatch.setattr(hub, "fetch", _fails)

    with pytest.raises(Problem, match="down"):
        models.provide("tiny", entry(), "hub", out, tmp_path / "f.json", tmp_path, lock=tmp_path / "l.json")

    assert out.read_bytes() == BODY


def _fails(*_: object, **__: object) -> dict:
    raise Problem("hub is down")
