"""The page, its Markdown twin and its tables: what they say, and that no text from outside can break them."""

from __future__ import annotations

import csv
import io
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
import yaml
from page_runs import HOSTILE, PUBLISHED, made, reported

from tokentrail import numbers
from tokentrail.audit import texts
from tokentrail.figures.data import load
from tokentrail.report import (
    conditions,
    headline,
    index,
    layers,
    markdown,
    panels,
    patterns,
    settings,
    story,
    table,
    words,
)
from tokentrail.report.context import counterpart, gather
from tokentrail.report.html import Buttons, script_json
from tokentrail.report.page import period

MEGABYTE = 1_000_000


class Reader(HTMLParser):
    """Collects a page's tags, ids, number buttons and JSON, as a browser's parser would see them."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.json = ""
        self._inside = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._inside = tag == "script" and dict(attrs).get("type") == "application/json"

    def handle_endtag(self, tag: str) -> None:
        self._inside = False

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.json += data

    def ids(self) -> list[str]:
        return [attrs["id"] for _, attrs in self.tags if attrs.get("id")]

    def numbers(self) -> list[str]:
        return [attrs["data-number"] for tag, attrs in self.tags if tag == "button" and "data-number" in attrs]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Reports of the published run and of a hostile made one."""
    root = tmp_path_factory.mktemp("site")
    run = made(root / "results", hostile=True)
    return {
        "results": root / "results",
        "reports": root / "reports",
        "published": reported(PUBLISHED, root / "reports"),
        "hostile": reported(run, root / "reports"),
        "run": run,
    }


def page(site: dict[str, Path], name: str) -> str:
    return (site[name] / "index.html").read_text()


@pytest.mark.parametrize("name", ["published", "hostile"])
def test_every_number_has_a_button_an_anchor_and_a_trail(site: dict[str, Path], name: str) -> None:
    """No number of numbers.json is without its door, and no button without its trail."""
    reader = Reader(page(site, name))
    run_dir = PUBLISHED if name == "published" else site["run"]
    doc = json.loads((run_dir / "numbers.json").read_text())
    shown = {number["id"]: number["shown"] for number in doc["numbers"]}
    trails = json.loads(reader.json)["numbers"]

    assert set(reader.numbers()) == set(shown) == set(trails)
    assert {f"n-{number_id}" for number_id in shown} <= set(reader.ids())
    assert {number_id: trail["shown"] for number_id, trail in trails.items()} == shown


@pytest.mark.parametrize("name", ["published", "hostile"])
def test_ids_are_unique_and_the_page_is_whole(site: dict[str, Path], name: str) -> None:
    """One file under 2 MB, ids once each, nothing asked of any other host."""
    text = page(site, name)
    reader = Reader(text)
    ids = reader.ids()
    sources = [attrs.get("src") or "" for _, attrs in reader.tags]

    assert len(text.encode()) < 2 * MEGABYTE
    assert len(ids) == len(set(ids))
    assert not any(sources)
    assert not re.search(r"(?:src|href)=\"https?://", text)


def test_hostile_text_adds_no_element(site: dict[str, Path]) -> None:
    """The hostile page has no image, no handler, and just the two scripts of every page."""
    reader = Reader(page(site, "hostile"))
    handlers = [attrs for _, attrs in reader.tags if any(key.startswith("on") for key in attrs)]

    assert not [tag for tag, _ in reader.tags if tag == "img"]
    assert not handlers
    assert len([tag for tag, _ in reader.tags if tag == "script"]) == 2


def test_hostile_text_comes_through_whole(site: dict[str, Path]) -> None:
    """Escaped, not dropped: the trail still holds the very text."""
    trails = json.loads(Reader(page(site, "hostile")).json)

    assert any(HOSTILE in case["title"] for case in trails["cases"].values())


def test_hostile_markdown_is_inert(site: dict[str, Path]) -> None:
    """No tag, no table cell, no code span of outside text survives in report.md."""
    text = (site["hostile"] / "report.md").read_text()
    bare = re.sub(r"<!--/?n(?::[^>]*)?-->|<br>", "", text)

    assert "<img" not in text and "</script>" not in text
    assert not re.search(r"<[a-z/]", bare)
    assert "\u202e" not in text  # would turn the rest of the paragraph around


def test_markdown_marks_every_number(site: dict[str, Path]) -> None:
    """Each marked number is the text that its run shows; the published run's carry that run's name."""
    own = {n["id"]: n["shown"] for n in json.loads((site["run"] / "numbers.json").read_text())["numbers"]}
    other = {n["id"]: n["shown"] for n in json.loads((PUBLISHED / "numbers.json").read_text())["numbers"]}
    marked = re.findall(r"<!--n:([^>]*?)-->(.*?)<!--/n-->", (site["hostile"] / "report.md").read_text())

    assert len(marked) > 60
    for place, text in marked:
        run, _, number_id = place.rpartition("#")
        assert text == (other if run else own)[number_id]
        assert run in ("", "rtx4090/b12110-cuda/lesson")


def test_markdown_tables_have_even_rows(site: dict[str, Path]) -> None:
    """Every line of a table has as many cells as its head."""
    for name in ("published", "hostile"):
        cells = None
        for line in (site[name] / "report.md").read_text().splitlines():
            count = len(re.sub(r"\\\|", "", line).split("|")) if line.startswith("|") else None
            assert cells is None or count in (None, cells), line
            cells = count


def test_stamps_stand_on_every_product(site: dict[str, Path]) -> None:
    """Stand-in weights and transcription are said on the page and in the Markdown."""
    assert "stand-in weights" in page(site, "hostile")
    assert "stand-in weights" in (site["hostile"] / "report.md").read_text()
    assert "transcribed from a published page" in page(site, "published")


def test_published_run_stands_beside(site: dict[str, Path]) -> None:
    """The run's page links published numbers into the published run's page, and that page has the anchors."""
    links = re.findall(r'href="(\.\./[^"]*index\.html)#(n-[^"]+)"', page(site, "hostile"))
    anchors = set(Reader(page(site, "published")).ids())

    assert links
    for target, anchor in links:
        assert (site["hostile"] / target).resolve() == (site["published"] / "index.html").resolve()
        assert anchor in anchors


def test_csv_is_a_projection(site: dict[str, Path]) -> None:
    """One line a number, in order, with value, interval and formula."""
    rows = list(csv.DictReader(io.StringIO((site["published"] / "numbers.csv").read_text())))
    doc = json.loads((PUBLISHED / "numbers.json").read_text())

    assert [row["id"] for row in rows] == [number["id"] for number in doc["numbers"]]
    assert all(row["formula"] and row["unit"] for row in rows)


def test_csv_runs_nothing_in_a_spreadsheet() -> None:
    """A text that begins like a formula is quoted."""
    assert table.safe("=cmd()") == "'=cmd()"
    assert table.safe(-1.5) == -1.5


def test_rendering_twice_gives_the_same_bytes(site: dict[str, Path], tmp_path: Path) -> None:
    """No time of now, no order of chance."""
    again = reported(PUBLISHED, tmp_path)

    for name in ("index.html", "report.md", "numbers.csv"):
        assert (again / name).read_bytes() == (site["published"] / name).read_bytes()


def test_a_page_without_figures_still_comes(tmp_path: Path) -> None:
    """Where no figure was made the page says so and keeps its numbers."""
    report = gather(PUBLISHED, tmp_path, None)

    assert not any(step.figures for step in report.steps)
    assert any(reason == "not made" for reason, _ in report.missing)


def test_sentences_need_their_numbers() -> None:
    """A sentence is left out where one of its numbers is missing; words and numbers keep their order."""
    run = load(PUBLISHED)
    told = story.words_of(run)

    assert story.sentence("Wait {ttft-short}, {no-such-number}.", run, told) is None
    pieces = story.sentence("On {=device} {ttft-short}.", run, told)
    assert [p if isinstance(p, str) else p["id"] for p in pieces] == ["On ", "GPU", " ", "ttft-short", "."]


def test_conditions_hold_only_with_numbers() -> None:
    """A conditional sentence needs both sides, and the left one larger."""
    run = load(PUBLISHED)
    told = story.words_of(run)

    assert story.holds("decode-rate-$small-gpu > 100", run, told)
    assert story.holds("prefill-rate-$small-gpu! > decode-rate-$small-gpu", run, told)
    assert not story.holds("decode-rate-$small-gpu > 1000", run, told)
    assert not story.holds("no-such-number > 1", run, told)


def test_a_sure_condition_needs_the_whole_interval() -> None:
    """`>>` holds only where the intervals are apart; `unless` says the opposite, once."""
    wide = [swept("ttft-growth", 80, 30), swept("prompt-length-ratio", 100, 0)]
    run = type(load(PUBLISHED))({**load(PUBLISHED).doc, "numbers": wide, "models": []})
    told = story.words_of(run)
    items = [{"say": "only {ttft-growth}", "only_if": "prompt-length-ratio >> ttft-growth"},
             {"say": "just {ttft-growth}", "unless": "prompt-length-ratio >> ttft-growth"}]  # fmt: skip

    assert story.holds("prompt-length-ratio > ttft-growth", run, told)
    assert not story.holds("prompt-length-ratio >> ttft-growth", run, told)
    assert [pieces[0] for pieces in story.said(items, run, told)] == ["just "]


def test_a_step_without_numbers_says_why(tmp_path: Path) -> None:
    """A skipped step keeps its place in the story, with the plan's reason."""
    published = load(PUBLISHED)
    bare = type(published)({**published.doc, "numbers": []})
    skipped = [{"id": "x", "step": "5", "title": "t", "reason": "no GPU here"}]
    steps = {step.step: step for step in story.steps_of(bare, set(), story.words_of(bare), skipped)}

    assert steps["5"].sentences == [["Not in this run: no GPU here."]]
    assert steps["6"].sentences == [["Not in this run."]]
    assert "cost" not in steps


def swept(number_id: str, value: float, spread: float = 1.0) -> dict:
    """A number of a sweep with an interval around its value."""
    interval = {"low": value - spread, "high": value + spread, "level": 0.95, "method": "m"}
    return {"id": number_id, "value": value, "shown": f"{value:g} tokens/s", "valid": True, "interval": interval}


def test_settings_are_picked_with_their_rivals() -> None:
    """The fastest measured setting beside the default; where the intervals touch, no choice is made up."""
    found = [
        *(swept(f"prefill-rate-8b-gpu-ub{size}", rate) for size, rate in ((128, 50), (512, 90), (1024, 99))),
        swept("decode-rate-8b-gpu-fa1", 50, 2),
        swept("decode-rate-8b-gpu-fa0", 49, 2),
        *(swept(f"batched-rate-{users}-8b", 10 * users**0.5) for users in (1, 2, 4, 8, 16)),
    ]
    run = load(PUBLISHED)
    bare = type(run)({**run.doc, "numbers": found, "models": []})

    chosen = [(c.value, c.best["id"], c.other["id"]) for c in settings.settings_of(bare)]
    assert chosen == [
        ("-ub 1024", "prefill-rate-8b-gpu-ub1024", "prefill-rate-8b-gpu-ub512"),
        ("not decided: the intervals overlap", "decode-rate-8b-gpu-fa1", "decode-rate-8b-gpu-fa0"),
        ("-np 16", "batched-rate-16-8b", "batched-rate-1-8b"),
    ]


def test_each_clock_has_a_row_in_one_table(site: dict[str, Path]) -> None:
    """The run's own numbers as buttons, a dash where it has none; every cell has its name for a phone."""
    (shown,) = re.findall(r'<table class="layers">.*?</table>', page(site, "published"), flags=re.S)
    rows = re.findall(r'<tr><th scope="row">(.*?)</tr>', shown)

    assert [re.findall(r'data-number="(.*?)"', row) for row in rows] == [
        ["reconcile-bench"],
        ["reconcile-batched", "reconcile-gap-batched"],
        ["reconcile-server", "reconcile-gap-server"],
        [],
    ]
    assert [row.count(">–<") for row in rows] == [1, 0, 0, 2]
    assert all(re.findall(r"<td([^>]*)", row) == re.findall(r"<td( data-label=[^>]*)", row) for row in rows)
    text = (site["published"] / "report.md").read_text()
    assert re.search(r"\| The server's own timing \| <!--n:reconcile-server-->.* over llama-bench \| choosing", text)
    assert "| The client's clock (TPOT) | – | – | HTTP" in text


def test_a_gap_near_zero_is_not_explained_away() -> None:
    """A gap at zero or below says so; steps and gaps are of one view; only the published one has a cold row."""
    run = load(PUBLISHED)
    steps = [swept(f"reconcile-{name}", 2) for name in ("bench", "batched", "server", "client")]
    gaps = [
        swept("reconcile-gap-batched-steady", 0.1, 0.2) | {"view": "steady"},
        swept("reconcile-gap-server-steady", 2) | {"view": "steady"},
        swept("reconcile-gap-client-steady", -0.5, 0.1) | {"view": "steady"},
    ]
    found = layers.layers_of(type(run)({**run.doc, "numbers": [*steps, *gaps]}))

    assert found and [(row.gap or {}).get("id") for row in found.rows] == [None, *(gap["id"] for gap in gaps)]
    ends = [row.sources.partition(";")[2] for row in found.rows]
    assert ends == ["", " here not to be told from zero", "", " below zero here: nothing added"]
    assert found.rows[1].sources.startswith(layers.SAME)

    mixed = [swept("reconcile-bench-steady", 1), swept("reconcile-gap-server", 2) | {"view": "as-published"}]
    found = layers.layers_of(type(run)({**run.doc, "numbers": [*steps, *mixed]}))
    assert found and found.rows[0].step == steps[0], "a steady step beside a gap as published"
    assert found.rows[1].sources == layers.COLD
    assert layers.layers_of(type(run)({**run.doc, "numbers": steps[:1]})) is None


def test_no_number_in_a_rendered_text_is_retyped(site: dict[str, Path]) -> None:
    """The audit's reader of texts finds nothing to complain of in the pages, the Markdown and the comparison."""
    index.write_index([PUBLISHED, site["run"]], site["reports"])
    documents = {}
    for folder in (PUBLISHED, site["run"]):
        records = [json.loads(path.read_text()) for path in (folder / "records").glob("*.json")]
        tests = [test for record in records for test in record.get("tests", []) if test["samples"]]
        samples = [(round(s["tokens_per_s"]), "tokens/s") for test in tests for s in test["samples"]]
        documents["/".join(folder.parts[-3:])] = json.loads((folder / "numbers.json").read_text()) | {
            "samples": samples
        }
    stated = yaml.safe_load((PUBLISHED.parents[3] / "config" / "claims.yaml").read_text())["claims"]
    files = [path for path in site["reports"].rglob("*") if path.suffix in (".md", ".html")]

    assert len(files) == 6
    assert texts.check_texts(site["reports"].parent, files, documents, stated) == []


def strings(value: object) -> list[str]:
    """Every string in a nested value."""
    if isinstance(value, dict):
        return [text for item in value.values() for text in strings(item)]
    return [text for item in value for text in strings(item)] if isinstance(value, list) else [str(value)]


def test_the_story_asks_only_for_numbers_that_are_defined() -> None:
    """Every id in the story, for this run's models and device, is one that some definition can make."""
    entries, told = story.load_story(), story.words_of(load(PUBLISHED))
    direct = [number_id for ids in entries["headlines"] for number_id in ids]
    asked = [*entries["predictions"], *entries["comparison"]]
    direct += [entry[key] for entry in asked for key in ("number", "else") if key in entry]
    inside = [m[1] for text in strings(entries) for m in story.PLACE.finditer(text) if not m[1].startswith("=")]
    wanted = {re.sub(r"-steady$", "", story.full_id(i.rstrip("!"), told)) for i in [*direct, *inside]}
    defined = [re.sub(r"\\\{[a-z_]+\\\}", "[a-z0-9.-]*", re.escape(d.id)) for d in numbers.REGISTRY]

    assert {i for i in wanted if not any(re.fullmatch(pattern, i) for pattern in defined)} == set()


def test_a_pattern_says_where_it_holds() -> None:
    """Two users get less than one, sixteen more: the pattern holds in part, each number with its own verdict."""
    run = load(PUBLISHED)
    found = [swept("batching-gain-2", 0.9, 0), swept("batching-gain-16", 2.1, 0)]
    bare = type(run)({**run.doc, "numbers": found})
    entries = [{"number": n["id"], "verdict": v} for n, v in zip(found, ("does not hold", "holds"), strict=True)]
    pattern = {"id": "p", "statement": "s", "verdict": "does not hold", "numbers": entries}

    (told,) = patterns.told({"patterns": [pattern]}, bare)
    assert told.verdict == patterns.IN_PART
    assert [(g.verdict, [where for where, _ in g.items]) for g in told.groups] == [
        ("does not hold", ["2 users"]),
        ("holds", ["16 users"]),
    ]


def test_a_left_out_step_shows_the_published_run() -> None:
    """A step that a campaign does not have says why, and what the published run found, as links to it."""
    run = load(PUBLISHED)
    own = type(run)({**run.doc, "cases": [case for case in run.doc["cases"] if case["step"] != "5"]})
    skipped = [{"id": "x", "step": "5", "title": "t", "reason": "no GPU here"}]
    steps = {step.step: step for step in story.steps_of(own, set(), story.words_of(own), skipped, run)}
    numbers_of = [piece for pieces in steps["5"].sentences for piece in pieces if isinstance(piece, dict)]

    assert steps["5"].sentences[0] == ["Not in this run: no GPU here."]
    assert {number["elsewhere"] for number in numbers_of} == {run.name}
    link = Buttons(elsewhere="../index.html").number(numbers_of[0])
    assert 'href="../index.html#n-prefill-gpu-over-cpu"' in link
    assert run.name in markdown.number(numbers_of[0])


def test_labels_are_plain() -> None:
    """A request is named by what was asked, a step by what a reader calls it."""
    plain = "Answer, long request, warm server, at most 32 tokens"
    assert words.plain_label("Answer, long-warm-32 request, steady") == plain
    assert [words.step_name(step) for step in ("4", "check-3", "cost")] == ["step 4", "step 3b", "cost"]


def test_counterpart_follows_the_role() -> None:
    """A number of another model stands beside the published one that plays its part, and is marked as such."""
    published = load(PUBLISHED)
    twin = dict(published.by_id["decode-rate-0.6b-gpu"], id="decode-rate-135m-cpu")
    doc = {**published.doc, "numbers": [twin], "models": []}
    run = type(published)(doc)

    other, same = counterpart(run, published, "decode-rate-135m-cpu")
    assert (other["id"], same) == ("decode-rate-0.6b-gpu", False)
    assert counterpart(published, published, "ttft-short")[1] is True


def test_predictions_are_answered_by_the_run() -> None:
    """Five or six questions, each with the run's own number for an answer."""
    run = load(PUBLISHED)
    questions = story.predictions_of(run, story.words_of(run))

    assert 5 <= len(questions) <= 6
    assert all(q["low"] <= q["answer"] <= q["high"] for q in questions)


def test_script_json_cannot_end_its_script() -> None:
    """No character that means anything to an HTML parser is left, and the value comes back whole."""
    text = str(script_json({"a": "</script><!--\u2028&"}))

    assert not set("<>&\u2028") & set(text)
    assert json.loads(text) == {"a": "</script><!--\u2028&"}


def test_buttons_carry_one_anchor_each() -> None:
    """Only the first button of a number has the id that links point to."""
    number = {"id": "a", "valid": True, "shown": '5 "s" <b>', "label": "A"}
    buttons = Buttons()

    assert 'id="n-a"' in buttons.number(number)
    assert "id=" not in buttons.number(number).replace("data-number", "")
    assert "&lt;b&gt;" in buttons.number(number)


def test_markdown_text_is_escaped() -> None:
    """Pipes, stars, brackets and tags are text."""
    assert markdown.text("a|b *c* <d>\n[e]") == "a\\|b \\*c\\* &lt;d&gt; \\[e\\]"
    assert markdown.fragment(" a  b ") == " a b "


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (35795.52, "35,795.5"),
        (0.0071517, "0.0071517"),
        (4671766528, "4,671,766,528"),
        (1.2e-7, "0.00000012"),
        (-3, "-3"),
    ],
)
def test_plain_numbers_have_no_exponent(value: float, expected: str) -> None:
    """Six digits, thousands separated, no powers of ten."""
    assert words.plain(value) == expected


def test_headline_in_a_log_is_plain(site: dict[str, Path]) -> None:
    """Without a terminal: no colour, the page's path, what is missing and why."""
    stream = io.StringIO()
    headline.print_run(site["run"], stream)
    text = stream.getvalue()

    assert "\x1b" not in text
    assert "page: reports/made/b1-cuda-00000000/lesson-stand-in/index.html" in text
    assert "stand-in weights" in text and "not measured: " in text


def test_headline_on_a_terminal_is_a_table(site: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """With a terminal: rich, and outside text is never taken for its markup."""

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    stream = Terminal()
    headline.print_run(site["run"], stream)

    assert "\x1b[" in stream.getvalue()


def test_index_compares_all_runs(site: dict[str, Path]) -> None:
    """Every run is a row that can be filtered, and its cells lead to its page."""
    index.write_index([PUBLISHED, site["run"]], site["reports"])
    text = (site["reports"] / "index.html").read_text()
    reader = Reader(text)
    rows = [attrs for tag, attrs in reader.tags if tag == "tr" and "data-machine" in attrs]

    assert [row["data-machine"] for row in rows] == 2 * ["made", "rtx4090"]  # what was measured; what the patterns say
    assert {row["data-origin"] for row in rows} == {"measured", "transcribed"}
    for target, anchor in re.findall(r'href="([^"#]+index\.html)#(n-[^"]+)"', text):
        assert anchor in Reader((site["reports"] / target).read_text()).ids()
    assert "<img" not in text
    assert "(transcribed from a published page)" in (site["reports"] / "index.md").read_text()


def test_index_of_one_run(tmp_path: Path) -> None:
    """One run alone is a comparison too."""
    index.write_index([PUBLISHED], tmp_path)

    assert (tmp_path / "figures" / "runs-comparison.svg").exists()


SWEEP = PUBLISHED.parents[2] / "h200" / "b11434-cuda-b8ae382b" / "sweep-stand-in"


@pytest.mark.parametrize(
    ("low", "value", "high", "level", "unit", "expected"),
    [
        (32597.9, 34000, 35663.7, 0.95, "tokens/s", "32,600 to 35,700 tokens/s"),
        (0.23326, 0.2351, 0.23650, 0.95, "fraction", "23.33 to 23.65 %"),
        (0.065, 0.07, 0.075, None, "s", "0.065 to 0.075 s"),
        (44.1276, 47.0, 50.2664, 0.95, "ratio", "44.1 to 50.3 ×"),
        (5.83, 100, 1612, 0.95, "tokens/s", "6 to 1,600 tokens/s"),
    ],
)
def test_an_interval_has_no_more_digits_than_its_number(
    low: float, value: float, high: float, level: float | None, unit: str, expected: str
) -> None:
    """Its ends are rounded where the number is; certain limits keep their half digit."""
    interval = {"low": low, "high": high, "level": level, "method": "m"}
    number = {"value": value, "unit": unit, "interval": interval}

    assert words.reach(number) == expected
    assert words.reach(number, with_unit=False) == expected.rsplit(" ", 1)[0]


def test_a_sweep_tells_only_its_own_steps() -> None:
    """Steps of another campaign are left out, their numbers are no gaps, and every setting has a table."""
    drawn = PUBLISHED.parents[3] / "reports" / Path(*SWEEP.parts[-3:]) / "figures"
    report = gather(SWEEP, drawn, PUBLISHED)

    assert [step.step for step in report.steps] == ["sweep", "cost"]
    assert len(report.headline) == 9 and len(report.predictions) == 6
    assert {len(grid.rows) for grid in report.grids} == {5, 6, 8, 9}
    assert all(len(cells) == len(grid.columns) - 1 for grid in report.grids for _, cells in grid.rows)
    assert not any("another model or device" in reason for reason, _ in report.missing)
    assert len(report.steps[0].paragraphs) == 3


def test_run_without_a_published_one_named() -> None:
    """The run whose claims the ledger checks stands beside it by itself."""
    drawn = PUBLISHED.parents[3] / "reports" / Path(*SWEEP.parts[-3:]) / "figures"
    report = gather(SWEEP, drawn, None)

    assert report.published is not None
    assert report.published.name == "rtx4090/b12110-cuda/lesson"
    assert gather(PUBLISHED, drawn, None).published is None


def test_flash_attention_is_one_line_where_tests_agree() -> None:
    """Seven tests that say the same are one setting; the one that cannot decide stands apart."""
    chosen = [c for c in settings.settings_of(load(SWEEP)) if c.question.startswith("Flash")]

    assert [c.value for c in chosen] == ["-fa on", "not decided: the intervals overlap"]
    assert "in 7 of 8 tests" in chosen[0].question


def test_what_the_machine_did_is_told() -> None:
    """Device and back-end used, memory, clock, power, temperature, throttling; remarks once, with their cases."""
    found = conditions.conditions_of(load(SWEEP))
    cells = dict(found.rows)["Decode against depth, 0.6B model"]
    row = dict(zip(found.columns, cells, strict=True))

    assert row["ran on"] == "GPU (cuda)" and row["GPU memory"].endswith("MiB")
    assert "power-cap" in row["held back by"]
    assert row["GPU temperature"].endswith("°C") and row["GPU power"].endswith("W")
    assert any("held back by power-cap" in remark for remark, _ in found.remarks)
    assert len({remark for remark, _ in found.remarks}) == len(found.remarks)


def test_conditions_without_telemetry() -> None:
    """A transcribed run has none, and a CPU run has no GPU's columns."""
    assert conditions.conditions_of(load(PUBLISHED)).rows == []
    cpu = {"own_cores": 1.9, "others_cores": 0.1, "mhz": {"min": 2000, "max": 2100, "median": 2050, "n": 3}}
    record = {"title": "t", "device": "cpu", "telemetry": {"processes": [{"cpu": cpu, "gpus": []}]}}

    assert {name: text for name, text in conditions.row(record).items() if text} == {
        "ran on": "CPU", "CPU clock": "2,000 to 2,100 MHz", "CPU cores, own and others'": "1.9, 0.1",
    }  # fmt: skip


def test_idling_is_no_throttling() -> None:
    """A clock that rests between tools held nothing back."""
    assert conditions.held_back([{"throttle": {"gpu-idle": 2}, "sm_mhz": {"n": 3}}]) == "nothing"
    assert conditions.held_back([{"throttle": {"thermal": 1}, "sm_mhz": {"n": 3}}] * 2) == "thermal in 2 of 6 samples"


def test_numbers_keep_their_punctuation() -> None:
    """What closes or opens a clause beside a number stays on its line."""
    number = {"id": "a", "valid": True, "shown": "5 s", "label": "A"}
    made_of = str(Buttons().sentence(["took (", number, "), then ", number, "."]))

    assert re.sub(r"<(?!/?span)[^>]+>", "", made_of) == (
        'took <span class="together">(5 s)</span>, then <span class="together">5 s.</span>'
    )


def test_packing_loses_nothing() -> None:
    """Shared texts are stored once; read back, every panel is what it was."""
    plain = panels.panels(load(PUBLISHED), PUBLISHED)
    packed = panels.pack(plain)
    texts_of = packed["texts"]

    assert len(set(texts_of)) == len(texts_of)
    for number_id, entry in plain["numbers"].items():
        small = packed["numbers"][number_id]
        assert all(texts_of[small[key]] == entry[key] for key in panels.PACKED)
        assert [texts_of[place] for _, _, place in small["inputs"]] == [e["place"] for e in entry["inputs"]]
        for at, place in zip(small["leaves"], entry["leaves"], strict=True):
            for raw, (where, line, start, length) in zip(
                plain["leaves"][place]["raw"], packed["leaves"][at]["raw"], strict=True
            ):
                assert texts_of[where] == raw["place"]
                assert texts_of[line][start : start + length] == raw["match"]


def test_a_period_is_short() -> None:
    """Days and minutes, one day said once."""
    start, end = "2026-11-29T17:04:36.461532Z", "2026-11-29T17:06:21.510857Z"

    assert period(start, end) == "2026-11-29, 17:04 to 17:06 UTC"
    assert period(start, "2026-11-30T00:01:00Z") == "2026-11-29, 17:04 to 2026-11-30, 00:01 UTC"
    assert period(None, None) == ""


def test_a_low_share_is_explained() -> None:
    """Where decode leaves most of the bandwidth unused, the page says what else costs time; where not, it does not."""
    lesson = SWEEP.parent / "lesson-stand-in"
    told = {run.name: story.steps_of(run, set(), story.words_of(run), []) for run in (load(lesson), load(PUBLISHED))}
    said = {name: str(step.sentences) for name, steps in told.items() for step in steps if step.step == "7"}

    assert "memory is not all that limits decode" in said[load(lesson).name]
    assert "memory is not all" not in said[load(PUBLISHED).name]
