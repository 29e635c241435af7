"""Canonical JSON, schema validation and hashes: the only way products are written and read."""

from __future__ import annotations

import difflib
import functools
import hashlib
import json
import math
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator, TypeChecker, validators
from jsonschema.exceptions import ValidationError

from tokentrail.problems import Problem

SCHEMAS = Path(__file__).resolve().parents[2] / "config" / "schemas"


def dumps(value: Any) -> str:
    """Canonical text: sorted keys, one blank of indent, a final newline; NaN and infinity are refused."""
    return json.dumps(value, sort_keys=True, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def write_json(path: Path, value: Any, schema: str | None = None) -> None:
    """Write canonical JSON in one step, so that no reader ever sees half a file; validate first if told to."""
    if schema:
        validate(value, schema, str(path))
    write_text(path, dumps(value))


def write_text(path: Path, text: str) -> None:
    """Write a text file in one step (a temporary file beside it, then a rename)."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)


def write_if_changed(path: Path, text: str) -> bool:
    """Write `text` only where it differs from the file's; tells whether it wrote. Keeps the time stamp else."""
    if path.exists() and path.read_bytes() == text.encode("utf-8"):
        return False
    write_text(path, text)
    return True


def read_text(path: Path) -> str:
    """A text file; raise Problem naming it when it is missing, unreadable or not UTF-8."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise Problem(f"{path} is missing; run the step that makes it") from None
    except OSError as error:
        raise Problem(f"{path} cannot be read ({error.strerror}); restore it or make it again") from None
    except UnicodeDecodeError as error:
        raise Problem(f"{path} is no UTF-8 text ({error}); restore it or make it again") from None


def read_json(path: Path, schema: str | None = None) -> Any:
    """Read JSON; raise Problem naming the file when it is missing, no JSON, or not as its schema says."""
    try:
        value = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise Problem(f"{path} is not valid JSON ({error}); restore it or make it again") from None
    if schema:
        validate(value, schema, str(path))
    return value


def sha256_text(text: str) -> str:
    """SHA-256 of a text's UTF-8 bytes, 64 hex digits."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def sha256_file(path: Path) -> str:
    """SHA-256 of a file's bytes, 64 hex digits; raise Problem naming it when it cannot be read."""
    try:
        with Path(path).open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise Problem(f"{path} cannot be read ({error.strerror}); restore it") from None


def _is_integer(_: TypeChecker, value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(_: TypeChecker, value: Any) -> bool:
    return _is_integer(_, value) or (isinstance(value, float) and math.isfinite(value))


def _pattern(_: Any, pattern: str, value: Any, __: Any) -> Iterator[ValidationError]:
    if isinstance(value, str) and (value.endswith("\n") or not re.search(pattern, value)):
        yield ValidationError(f"{value!r} does not match {pattern!r}")


# As the draft, but 3.0 is no integer (a tool's flag would get "3.0"), YAML's .inf and .nan are no numbers, and a `$`
# does not let the newline of a YAML block pass.
_KINDS = Draft202012Validator.TYPE_CHECKER.redefine_many({"integer": _is_integer, "number": _is_number})
_Validator = validators.extend(Draft202012Validator, {"pattern": _pattern}, type_checker=_KINDS)


@functools.cache
def _validator(schema: str) -> Draft202012Validator:
    path = SCHEMAS / f"{schema}.schema.json"
    return _Validator(json.loads(path.read_text(encoding="utf-8")))


def errors(value: Any, schema: str) -> list[str]:
    """Every way in which `value` breaks the schema, one short sentence each: place, fault, what is allowed."""
    found = sorted(_validator(schema).iter_errors(value), key=lambda e: [str(p) for p in e.absolute_path])
    return [line for error in found for line in _sentences(error)]


def validate(value: Any, schema: str, where: str) -> None:
    """Raise Problem naming the file, each key and what is allowed when `value` breaks `schema`."""
    lines = errors(value, schema)
    if lines:
        head = f"{where}: " if len(lines) == 1 else f"{where} has {len(lines)} problems: "
        raise Problem(head + "; ".join(lines[:20]))


def _sentences(error: ValidationError) -> list[str]:
    place = ".".join(str(p) for p in error.absolute_path) or "top level"
    if error.validator == "additionalProperties" and isinstance(error.instance, dict):
        known = sorted(error.schema.get("properties", {}))
        return [_unknown_key(place, key, known) for key in error.instance if key not in known]
    if error.validator == "enum":
        allowed = ", ".join(str(v) for v in error.validator_value)
        return [f"{place}: {error.instance!r} is not one of {allowed}{_meant(error.instance, error.validator_value)}"]
    return [f"{place}: {error.message}"]


def _unknown_key(place: str, key: str, known: list[str]) -> str:
    return f"{place}: unknown key {key!r}{_meant(key, known)} (allowed: {', '.join(known)})"


def _meant(word: Any, known: list[Any]) -> str:
    near = difflib.get_close_matches(str(word), [str(k) for k in known], n=1)
    return f"; did you mean {near[0]!r}?" if near else ""
