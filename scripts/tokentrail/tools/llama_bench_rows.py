"""The rows of a llama-bench output in any of its formats, as one kind of dict."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass, field

from tokentrail import units
from tokentrail.statistics import rounding
from tokentrail.tools import lenient_json, markdown_tables
from tokentrail.tools.failures import decode_failure, reason, unreadable
from tokentrail.tools.version_text import known_build, known_commit

# Short column names of the table, and the fields they stand for.
COLUMNS = {
    "model": "model_type", "backend": "backends", "ngl": "n_gpu_layers", "threads": "n_threads", "fa": "flash_attn",
    "sm": "split_mode", "mg": "main_gpu", "nkvo": "no_kv_offload", "nopo": "no_op_offload", "mmap": "use_mmap",
    "dio": "use_direct_io", "embd": "embeddings", "ts": "tensor_split", "ot": "tensor_buft_overrides",
    "dev": "devices", "ncmoe": "n_cpu_moe", "lm": "load_mode", "strict": "cpu_strict", "noh": "no_host",
}  # fmt: skip
_LABEL = re.compile(r"^(?:pp\s*(\d+))?\s*(?:\+\s*)?(?:tg\s*(\d+))?\s*(?:@\s*d\s*(\d+))?$")
_FOOTER = re.compile(r"^[\s>]*build:\s*(\S+)\s*\((\w+)\)", re.M)
# As CUDA, ROCm, Vulkan and Metal announce a GPU.
_GPU_LINE = re.compile(
    r"Device \d+: (.+?), (?:compute capability|gfx)|ggml_vulkan: \d+ = (.+?) \([^()]*\) \||GPU name: +(\S.*)"
)
_CSV_HEADER = re.compile(r'^(?:"?\w+"?,)*"?(?:n_prompt|n_gen)"?,(?:"?\w+"?,)*"?\w+"?$', re.M)
# What a paste holds beside its table where the tool did not end well.
_TROUBLE = re.compile(r"\berror\b|\babort|terminate called|segmentation fault|assert|killed", re.I)
FORMATS = "JSON, JSON lines, CSV or a Markdown table"
_SQL = re.compile(r"^\s*(?:CREATE TABLE|INSERT INTO)\b", re.I | re.M)
_TEXT_FIELDS = {"build_commit", "cpu_info", "gpu_info", "backends", "model_filename", "model_type", "cpu_mask",
                "type_k", "type_v", "split_mode", "devices", "tensor_split", "tensor_buft_overrides", "load_mode",
                "lazy_mode", "test_time"}  # fmt: skip


@dataclass
class Rows:
    """format, rows as dicts of tool fields, whether the output is cut off, and what was wrong or odd."""

    format: str
    rows: list[dict] = field(default_factory=list)
    cut: bool = False
    noise: list[str] = field(default_factory=list)
    reasons: list[dict] = field(default_factory=list)
    remarks: list[dict] = field(default_factory=list)
    reported: dict = field(default_factory=dict)


def read(stdout: str | bytes) -> Rows:
    """Find the format of an output and read its rows; refuses SQL, whose quotes are not escaped."""
    text = lenient_json.printed_text(stdout)
    if _SQL.search(text):
        sentence = "SQL output cannot be read safely (quotes are not escaped in it); run llama-bench with -o jsonl"
        return Rows("sql", reasons=[reason("sql-refused", sentence)])
    if head := _CSV_HEADER.search(text):
        return _csv(text[head.start() :])
    if any("test" in t.header and "t/s" in t.header for t in markdown_tables.tables(text)):
        return _markdown(text)
    result = _json(text)
    if not result.rows and not result.reasons and not result.cut and text.strip(" \n[]"):
        result.reasons.append(unreadable("llama-bench", text, FORMATS))
    return result


def parse_label(text: str) -> tuple[int, int, int] | None:
    """`"pp512 @ d4096"` -> (512, 0, 4096) as (n_prompt, n_gen, n_depth); old `"pp 512"`, mixed `"pp512+tg128"`."""
    match = _LABEL.match(text.strip())
    if not match or not (match[1] or match[2]):
        return None
    return int(match[1] or 0), int(match[2] or 0), int(match[3] or 0)


def _json(text: str) -> Rows:
    found = lenient_json.objects(text)
    rows = [o for o in found.objects if "samples_ns" in o or "n_prompt" in o or "n_gen" in o]
    for row in rows:
        # None is how a table says that it has no samples; here it is a row that should have them.
        if "samples_ns" in row:
            row["samples_ns"] = row["samples_ns"] or []
    array = text.lstrip().startswith("[")
    result = Rows("json" if array else "jsonl", rows, found.cut, list(found.noise))
    if found.broken:
        result.reasons.append(reason("bad-json", f"llama-bench's output is not JSON: {found.broken}"))
    if found.nulled:
        sentence = f"{found.nulled} number(s) were nan or inf and are read as unknown; statistics come from samples_ns"
        result.remarks.append(reason("not-a-number", sentence))
    if found.noise and rows:
        sentence = f"{len(found.noise)} line(s) of the output are no result, the first: {found.noise[0][:100]}"
        result.remarks.append(reason("extra-output", sentence))
    return result


def _csv(text: str) -> Rows:
    result = Rows("csv")
    lines: list[list[str]] = []
    try:
        lines.extend(csv.reader(io.StringIO(text), strict=True))
    except csv.Error as error:
        result.cut = True
        result.reasons.append(reason("bad-csv", f"CSV line {len(lines) + 1} cannot be read: {error}"))
    header = lines[0] if lines else []
    for number, cells in enumerate(lines[1:], start=2):
        if not cells:
            continue
        if "n_prompt" in cells and "n_gen" in cells:
            header = cells  # another output, put after the first
        elif len(cells) != len(header):
            sentence = f"CSV line {number} has {len(cells)} values for {len(header)} columns; nothing can be told apart"
            result.reasons.append(reason("csv-column-count", sentence))
        else:
            row = {name: _csv_value(name, cell) for name, cell in zip(header, cells, strict=True)}
            result.rows.append({**row, "samples_ns": None})
    return result


def _csv_value(name: str, text: str) -> object:
    if name in _TEXT_FIELDS:
        return text
    try:
        return lenient_json.loads(text)
    except ValueError:
        return text


def _markdown(text: str) -> Rows:
    result = Rows("markdown")
    found, lines = markdown_tables.tables(text), text.split("\n")
    everywhere = _surroundings(text)
    one_build = len(set(_FOOTER.findall(text))) == 1
    for place, table in enumerate(found):
        for line in table.ragged:
            sentence = f"table line {line} has not as many cells as its header, or names a column twice"
            result.reasons.append(reason("table-row-length", f"{sentence}; restore the table as printed"))
        if "test" not in table.header or "t/s" not in table.header:
            continue
        # The GPUs are listed before a table and the build after it; of several tables each has its own.
        before = "\n".join(lines[found[place - 1].end - 1 if place else 0 : table.line - 1])
        after = "\n".join(lines[table.end - 1 : found[place + 1].line - 1 if place + 1 < len(found) else None])
        build = (everywhere if one_build else {}) | _surroundings(before, gpus=True) | _surroundings(after, build=True)
        for cells in table.rows:
            _markdown_row(cells, build, result)
        if "build_commit" not in build:
            result.remarks.append(reason("unknown-build", "the table has no build line, so the build is not known"))
    _outside(text, result)
    result.reported = everywhere
    return result


def _surroundings(text: str, build: bool = False, gpus: bool = False) -> dict:
    """What the lines around a table say: {build_commit, build_number, gpu_info}, as far as it is there (or asked)."""
    said, footers = {}, _FOOTER.findall(text)
    names = list(dict.fromkeys(match[match.lastindex].strip() for match in _GPU_LINE.finditer(text)))
    if footers and (build or not gpus):
        said = {"build_commit": known_commit(footers[0][0]), "build_number": known_build(footers[0][1])}
    return said | ({"gpu_info": ", ".join(names)} if names and (gpus or not build) else {})


def _outside(text: str, result: Rows) -> None:
    """Trouble told outside the tables: work that was not done, or how the tool ended."""
    rest = "\n".join(line for line in text.split("\n") if not line.lstrip(" >").startswith("|"))
    if line := decode_failure(rest):
        result.reasons.append(reason("decode-failed", f"work was not done although a table was printed: {line}"))
    elif trouble := next((line.strip() for line in rest.split("\n") if _TROUBLE.search(line)), None):
        result.remarks.append(reason("trouble-beside-table", f"beside the table stands: {trouble[:120]}"))


def _markdown_row(cells: dict[str, str], build: dict, result: Rows) -> None:
    key = parse_label(cells["test"])
    mean_text, spread_text = markdown_tables.split_spread(cells["t/s"])
    if spread_text and "nan" in spread_text.lower():
        spread_text = None
    try:
        printed = [rounding.printed(t) for t in (mean_text, spread_text) if t is not None]
    except ValueError:
        printed = []
    if key is None or not printed:
        sentence = f"the table row {cells['test']!r}: {cells['t/s']!r} is no test with its rate (pp512: 12.3 ± 0.4)"
        result.reasons.append(reason("bad-table-row", sentence))
        return
    row = {COLUMNS.get(n, n): _cell(n, t) for n, t in cells.items() if n not in ("test", "t/s", "size", "params")}
    row |= dict(zip(("n_prompt", "n_gen", "n_depth"), key, strict=True)) | build | {"samples_ns": None}
    row["printed"] = {"mean": mean_text, "stdev": spread_text, "test": cells["test"]}
    for name, reader in (("size", units.parse_bytes), ("params", units.parse_count)):
        try:
            row["printed"][name] = reader(cells[name]) if name in cells else None
        except ValueError:
            row["printed"][name] = {"text": cells[name]}
    result.rows.append(row)


def _cell(name: str, text: str) -> object:
    if COLUMNS.get(name, name) in _TEXT_FIELDS:
        return text
    return int(text) if re.fullmatch(r"-?\d+", text) else text
