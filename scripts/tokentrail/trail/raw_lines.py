"""The line of a raw file behind a value in a record, and where in that line the value stands."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tokentrail.records import paired
from tokentrail.tools import markdown_tables
from tokentrail.trail import raw_files
from tokentrail.trail.raw_files import Line

MOST = 4  # a series over many processes is shown by its first lines; `more` says how many follow
WIDTH = 400  # characters of a long line that are shown around the value


def find(run_dir: Path, record: Mapping[str, Any], path: str) -> list[Line]:
    """[{file, sha256, line, text, start, end, more}] of the raw lines behind record pointer `path`.

    `line` counts from 1; text[start:end] is the value. A value of the measurement itself (a model's size, a memory
    reading) is found in measurement.json. Empty only where the raw file holds no such line.
    """
    parts = path.split("/")[1:]
    finder = _FINDERS.get(parts[0], _in_measurement)
    found = list(finder(run_dir, record, path, parts))
    for line in found[:MOST]:
        line["more"] = max(len(found) - MOST, 0)
    return found[:MOST]


def samples(record: Mapping[str, Any], path: str) -> list[dict[str, Any]] | None:
    """The samples behind a statistic, in order: [{process, index, cold, value}]; None where there are none."""
    parts = path.split("/")[1:]
    if parts[0] == "tests":
        test = record["tests"][int(parts[1])]
        return _series(test["samples"] or [], "tokens_per_s") or None
    if parts[0] == "batches":
        batch = record["batches"][int(parts[1])]
        rows = [r for r in record["rows"] if all(r[k] == batch[k] for k in ("pp", "tg", "pl"))]
        return _series(rows, f"{parts[2]}_tokens_per_s") if parts[2] in ("prefill", "decode") else None
    if parts[0] == "request_views":
        named = [r for r in record["requests"] if r["name"] == parts[1]]
        return _series([{**r, parts[2]: paired.value(r, parts[2])} for r in named], parts[2])
    if parts[0] == "ceiling_views":
        return _series(record["ceiling"], "gb_per_s")
    return None


def _series(items: list[Mapping[str, Any]], key: str) -> list[dict[str, Any]]:
    chosen = [i for i in items if i.get(key) is not None]
    return [{**{k: i[k] for k in ("process", "index", "cold")}, "value": i[key]} for i in chosen]


def _tests(run_dir: Path, record: Mapping[str, Any], path: str, parts: list[str]) -> Iterator[Line]:
    test = record["tests"][int(parts[1])]
    printed = (test["reported"].get("printed") or {}) if test["samples"] is None else {}
    if printed:
        text = printed["stdev"] if parts[-1] == "stdev" else printed["mean"]
        model = test["settings"].get("model_type") or ""
        for line in raw_files.lines(run_dir, record, raw_files.stdouts(record)):
            cells = line["text"]
            if model in cells and re.search(rf"\|[\s*_`]*{re.escape(printed['test'])}[\s*_`]*\|", cells):
                yield _marked(line, text)
        return
    keys = {k: test[k] for k in ("n_prompt", "n_gen", "n_depth")}
    for line in raw_files.lines(run_dir, record, raw_files.stdouts(record)):
        if all(_says(line["text"], k, v) for k, v in keys.items()) and '"samples_ns"' in line["text"]:
            yield _marked(line, _match(r'"samples_ns": ?\[[^\]]*\]', line["text"]))


def _rows(run_dir: Path, record: Mapping[str, Any], path: str, parts: list[str]) -> Iterator[Line]:
    row = record[parts[0]][int(parts[1])]
    half = "prefill" if "prefill" in path or "t_pp" in path else "decode"
    column, time = ("speed_pp", "t_pp") if half == "prefill" else ("speed_tg", "t_tg")
    printed = next((r["as_printed"] for r in record["rows"] if r.get("as_printed") and _same_row(r, row)), None)
    for line in raw_files.lines(run_dir, record, raw_files.stdouts(record)):
        if printed:
            cells = markdown_tables.cells(line["text"])
            if cells[:3] == [printed[k] for k in ("pp", "tg", "pl")]:
                yield _marked(line, printed[time if "t_" in parts[-1] else column])
        elif all(_says(line["text"], k, row[k]) for k in ("pp", "tg", "pl")):
            yield _marked(line, _match(rf'"{time}": ?[0-9.e+-]+', line["text"]))


def _same_row(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return all(one[k] == other[k] for k in ("pp", "tg", "pl"))


_PRINTS = {"ttft_ms": ("client_ttft_s",), "rest_ms": ("client_rest_s",),
           "prompt_ms": ("prompt_s", "prompt_tokens_per_s", "prompt_ms_per_token"),
           "predicted_ms": ("predicted_s", "predicted_tokens_per_s", "predicted_ms_per_token"),
           "prompt_n": ("prompt_n",), "predicted_n": ("predicted_n",)}  # fmt: skip


def _requests(run_dir: Path, record: Mapping[str, Any], path: str, parts: list[str]) -> Iterator[Line]:
    if parts[0] == "requests":
        chosen, quantity = [record["requests"][int(parts[1])]], parts[2]
    else:
        chosen, quantity = [r for r in record["requests"] if r["name"] == parts[1]], parts[2]
    if record["origin"] == "transcribed":
        for time in _times(quantity):
            yield from _printed_request(run_dir, record, chosen[0]["name"], time)
        return
    measurement = raw_files.measurement(run_dir, record)
    for request in chosen:
        process = measurement["processes"][request["process"]]
        sent = next(s for s in process["requests"] if s["index"] == request["index"])
        for time in _times(quantity):
            yield from _received(run_dir, record, sent["chunks"]["file"], time)


def _times(quantity: str) -> tuple[str, ...]:
    """The times behind a quantity that pairs two of a request; else the quantity itself."""
    return paired.PAIRS.get(quantity, (quantity,))


def _printed_request(run_dir: Path, record: Mapping[str, Any], name: str, quantity: str) -> Iterator[Line]:
    inside = False
    for line in raw_files.lines(run_dir, record, raw_files.stdouts(record)):
        if match := re.match(r"\s*-?\s*case:\s*(\S+)", line["text"]):
            inside = match[1] == name
        key = line["text"].split(":")[0].strip(" -")
        if inside and key in _PRINTS.get(quantity, ()):
            yield _marked(line, line["text"].split(":", 1)[1].split("#")[0].strip())


def _received(run_dir: Path, record: Mapping[str, Any], file: str, quantity: str) -> Iterator[Line]:
    """The bytes that decide: the server's timings, or for the client's times the first and the last text."""
    wanted = {"prompt_ms": "prompt_ms", "predicted_ms": "predicted_ms", "prompt_n": "prompt_n",
              "predicted_n": "predicted_n", "server_decode_tokens_per_s": "predicted_ms",
              "server_tpot_ms": "predicted_ms"}.get(quantity)  # fmt: skip
    texts = list(raw_files.pieces(run_dir, record, file))
    if wanted:
        holds = [t for t in texts if f'"{wanted}"' in t["text"]]
        yield from (_marked(t, _match(rf'"{wanted}": ?[0-9.e+-]+', t["text"])) for t in holds[-1:])
        return
    spoken = [t for t in texts if re.search(r'"(content|reasoning_content)": ?"', t["text"])]
    for t in spoken[:1] + (spoken[-1:] if quantity != "ttft_ms" and len(spoken) > 1 else []):
        yield _marked(t, _match(r"t_ns \d+", t["text"]))


def _ceiling(run_dir: Path, record: Mapping[str, Any], path: str, parts: list[str]) -> Iterator[Line]:
    for line in raw_files.lines(run_dir, record, raw_files.stdouts(record)):
        if found := _match(r'"ns": ?\d+', line["text"]):
            yield _marked(line, found)


def _memory(run_dir: Path, record: Mapping[str, Any], path: str, parts: list[str]) -> Iterator[Line]:
    if record["origin"] != "transcribed":
        yield from _in_measurement(run_dir, record, path, ["used_bytes" if "used" in parts[-1] else "total_bytes"])
        return
    for line in raw_files.lines(run_dir, record, raw_files.stdouts(record)):
        if found := _match(rf"\b{record['gpu_memory'][parts[-1]]} MiB", line["text"]):
            yield _marked(line, found)


def _in_measurement(run_dir: Path, record: Mapping[str, Any], path: str, parts: list[str]) -> Iterator[Line]:
    """A value that measurement.json itself holds, found by its key; canonical JSON has one key a line."""
    file = run_dir / record["raw"]["file"]
    key = {"held_gpu_s": "held_gpu_ns"}.get(parts[-1], parts[-1])
    if not record["raw"]["file"] or not file.exists():
        return
    section = f' "{parts[0]}": {{' if len(parts) > 1 else None
    inside = section is None
    for number, text in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        inside = inside or text == section
        if inside and text.strip().startswith(f'"{key}":'):
            line = {**{k: record["raw"][k] for k in ("file", "sha256")}, "line": number, "text": text.strip()}
            yield _marked(line, text.split(":", 1)[1].strip().rstrip(","))
            return


def _telemetry(run_dir: Path, record: Mapping[str, Any], path: str, parts: list[str]) -> Iterator[Line]:
    """The meter's line in measurement.json; the tokens are those of every result line or answer."""
    if parts[-1] != "tokens":
        yield from _in_measurement(run_dir, record, path, [{"gpu": "gpu_mj", "cpu": "rapl_uj"}[parts[-1]]])
        return
    for request in range(len(record.get("requests") or [])):
        yield from _requests(run_dir, record, path, ["requests", str(request), "predicted_n"])
    for line in raw_files.lines(run_dir, record, raw_files.stdouts(record)):
        if found := _match(r'"samples_ns": ?\[[^\]]*\]|"n_kv": ?\d+', line["text"]):
            yield _marked(line, found)


def _says(text: str, key: str, value: Any) -> bool:
    return re.search(rf'"{key}": ?{value}\b', text) is not None or (value == 0 and f'"{key}"' not in text)


def _match(expression: str, text: str) -> str:
    found = re.search(expression, text)
    return found[0] if found else ""


def _marked(line: Line, value: str) -> Line:
    """The line with the place of the value; a very long one is cut around it."""
    start = line["text"].find(value) if value else -1
    start, end = (start, start + len(value)) if start >= 0 else (0, 0)
    text = line["text"]
    if len(text) > WIDTH:
        left = max(0, min(start - WIDTH // 4, len(text) - WIDTH))
        right = max(end, left + WIDTH)
        text = ("…" if left else "") + text[left:right] + ("…" if right < len(line["text"]) else "")
        shift = left - (1 if left else 0)
        start, end = start - shift, end - shift
    return {**line, "text": text, "start": start, "end": end}


_FINDERS: dict[str, Callable[[Path, Mapping[str, Any], str, list[str]], Iterator[Line]]] = {
    "tests": _tests, "rows": _rows, "batches": _rows, "requests": _requests, "request_views": _requests,
    "ceiling_views": _ceiling, "gpu_memory": _memory, "telemetry": _telemetry,
}  # fmt: skip
