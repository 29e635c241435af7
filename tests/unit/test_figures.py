"""Figures: drawn only from numbers that exist, the same bytes each time, safe with any text."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from page_runs import HOSTILE, PUBLISHED, made

from tokentrail.figures import FIGURES, NotDrawn, sweeps
from tokentrail.figures.data import RunData, load
from tokentrail.figures.draw import draw_all
from tokentrail.figures.lines import draw_lines
from tokentrail.figures.palette import COLOURS, DARK
from tokentrail.figures.samples_strip import title_of
from tokentrail.figures.save import finish_svg
from tokentrail.figures.style import canvas, error_note, shorten
from tokentrail.report.story import TEMPLATES
from tokentrail.report.svg import inline

LESSON = ["request-timeline", "ms-per-token", "prefill-decode", "gpu-cpu", "batching", "bandwidth-share"]
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All figures of a made run with samples and hostile names."""
    folder = tmp_path_factory.mktemp("hostile")
    draw_all(made(folder / "results", hostile=True), folder / "figures", list(FIGURES))
    return folder / "figures"


def about(folder: Path, name: str) -> dict:
    return json.loads((folder / f"{name}.json").read_text())


def test_published_run_has_the_lessons_figures(tmp_path: Path) -> None:
    """The published run gives every figure of the lesson but the strip of samples, which its source lacks."""
    draw_all(PUBLISHED, tmp_path, [*LESSON, "samples-strip"])

    assert {name: about(tmp_path, name)["drawn"] for name in LESSON} == dict.fromkeys(LESSON, True)
    assert (
        about(tmp_path, "samples-strip")["reason"] == "the source keeps no single repetitions, only means and spreads"
    )
    assert not (tmp_path / "samples-strip.svg").exists()


def test_titles_hold_the_runs_own_numbers(tmp_path: Path) -> None:
    """A title states the finding with the text that numbers.json shows."""
    shown = {n["id"]: n["shown"] for n in json.loads((PUBLISHED / "numbers.json").read_text())["numbers"]}
    draw_all(PUBLISHED, tmp_path, LESSON)

    assert shown["prefill-decode-ratio-0.6b-gpu"] in about(tmp_path, "prefill-decode")["title"]
    assert shown["prefill-gpu-over-cpu"] in about(tmp_path, "gpu-cpu")["title"]
    assert shown["batching-gain-32"] in about(tmp_path, "batching")["title"]
    assert shown["decode-bandwidth-8b-gpu"] in about(tmp_path, "bandwidth-share")["title"]


def test_same_input_same_bytes(tmp_path: Path) -> None:
    """Drawing twice gives the same SVG and PNG, byte for byte."""
    for folder in ("one", "two"):
        draw_all(PUBLISHED, tmp_path / folder, ["gpu-cpu", "batching"])

    for name in ("gpu-cpu.svg", "gpu-cpu.png", "batching.svg", "batching.png"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_a_figure_that_lost_its_numbers_is_removed(tmp_path: Path) -> None:
    """An older drawing does not stay beside the note that there is none."""
    (tmp_path / "depth.svg").write_text("old")
    (tmp_path / "depth.png").write_text("old")
    draw_all(PUBLISHED, tmp_path, ["depth"])

    assert sorted(path.name for path in tmp_path.iterdir()) == ["depth.json"]


def test_svg_is_named_and_its_ids_are_its_own(drawn: Path) -> None:
    """Every SVG is an image with title and description, and no two share an id."""
    seen: set[str] = set()
    for path in sorted(drawn.glob("*.svg")):
        root = ElementTree.parse(path).getroot()
        ids = [node.get("id") for node in root.iter() if node.get("id")]
        used = re.findall(r'(?:url\(|href=")#([^)"]+)', path.read_text())

        assert root.get("role") == "img"
        assert root.find(f"{SVG}title").text == about(drawn, path.stem)["title"]
        assert root.find(f"{SVG}desc").text == about(drawn, path.stem)["description"]
        assert len(ids) == len(set(ids)) and not seen & set(ids)
        assert set(used) <= set(ids)
        seen |= set(ids)


def test_hostile_names_stay_text(drawn: Path) -> None:
    """A model's name that is markup, formula and reversed text is drawn as text, and shortened."""
    text = (drawn / "prefill-decode.svg").read_text()

    assert "<img" not in text and "</script>" not in text
    assert "&lt;/script&gt;" in text
    assert HOSTILE not in text


def test_stand_ins_are_stamped(drawn: Path) -> None:
    """Every drawn figure of a stand-in run says so in the picture itself."""
    for path in drawn.glob("*.svg"):
        assert "stand-in weights" in path.read_text(), path.name


def test_cold_samples_are_drawn_apart(drawn: Path) -> None:
    """The strip names both kinds and gives the mean beside the steady value in its title."""
    assert "cold" in (drawn / "samples-strip.svg").read_text()
    assert "as the tool prints it" in about(drawn, "samples-strip")["title"]


def test_inlined_figures_follow_the_page(drawn: Path) -> None:
    """Inlined, a figure has no colours of its own and no fixed size."""
    text = inline(drawn / "gpu-cpu.svg")

    assert text.startswith("<svg") and "<?xml" not in text
    assert "var(--c-gpu)" in text and "var(--c-cpu)" in text
    assert not re.search(r"#[0-9a-f]{6}", text)
    assert "width=" not in text.split(">", 1)[0]


def contrast(one: str, two: str) -> float:
    """WCAG 2 contrast ratio of two colours."""

    def light(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        r, g, b = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    bright, dark = sorted((light(one), light(two)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("palette", [COLOURS, DARK], ids=["light", "dark"])
def test_colours_that_carry_text_are_readable(palette: dict[str, str]) -> None:
    """Every colour used for words has 4.5:1 on a figure's paper and on the page around it."""
    around = "#f7f6f2" if palette is COLOURS else "#14171b"
    assert f"--page:{around}" in (TEMPLATES / "page.css").read_text()
    for name in ("prefill", "decode", "gpu", "cpu", "published", "warm", "limit", "ink", "soft"):
        assert min(contrast(palette[name], paper) for paper in (palette["paper"], around)) >= 4.5, name


def test_a_missing_number_is_named_with_its_reason() -> None:
    """NotDrawn carries the reason that numbers.json gives."""
    number = {"id": "a", "valid": False, "value": 1, "reasons": [{"code": "x", "message": "too fast"}], "label": "A"}
    doc = {"numbers": [number], "not_measured": [{"id": "b", "label": "B", "reason": "no GPU"}]}
    run = RunData(doc)

    with pytest.raises(NotDrawn, match="A: too fast"):
        run.need("a")
    with pytest.raises(NotDrawn, match="B: no GPU"):
        run.need("b")
    with pytest.raises(NotDrawn, match="this run has no c"):
        run.need("c")


def test_steady_view_comes_first() -> None:
    """Where both views exist the steady one is drawn; an invalid one is not."""
    base = {"valid": True, "value": 1.0, "reasons": []}
    both = [{**base, "id": "r"}, {**base, "id": "r-steady"}]
    broken = [{**base, "id": "r"}, {**base, "id": "r-steady", "valid": False}]

    assert RunData({"numbers": both}).best("r")["id"] == "r-steady"
    assert RunData({"numbers": broken}).best("r")["id"] == "r"


def test_sweeps_draw_what_they_find() -> None:
    """A line of one point, and lines over different settings, are drawn without a guess between."""
    number = {"value": 2.0, "shown": "2 tokens/s", "view": "steady", "interval": {"low": 1, "high": 3, "method": "m"}}
    figure, (ax,) = canvas(None, "Title", [2.0])
    draw_lines(ax, {"a": [(1, number)], "b": [(1, number), (8, number)]}, COLOURS["decode"], "tokens/s", log=True)

    assert [label.get_text() for label in ax.get_xticklabels()] == ["1", "8"]
    assert figure.get_size_inches()[0] == pytest.approx(5.6)


def test_error_bars_say_what_they_mean() -> None:
    """Each kind of interval is named once, with its level."""
    boot = {"interval": {"low": 1, "high": 2, "level": 0.95, "method": "bootstrap"}}

    assert error_note([boot, boot, {"interval": None}]) == "Error bars: 95 % interval, bootstrap."
    carried = {"interval": {"low": 1, "high": 2, "level": 0.95, "method": "carried from bootstrap; Student t"}}
    assert error_note([boot, carried]) == "Error bars: 95 % interval, bootstrap and Student t."
    assert error_note([{}]) == ""


def test_methods_that_differ_in_a_count_are_told_once() -> None:
    """`of 4 or 5 processes`, not the whole method twice."""
    intervals = [{"interval": {"level": 0.95, "method": f"t of {n} processes"}} for n in (5, 4, 5)]
    assert error_note(intervals) == "Error bars: 95 % interval, t of 4 or 5 processes."


def test_the_samples_title_is_true_of_a_faster_first_process() -> None:
    """Warm samples are not called faster where the first process was."""
    rates = {"prefill-rate-a-cpu": 506.7, "prefill-rate-a-cpu-steady": 489.0}
    numbers = [{"id": i, "value": v, "valid": True, "shown": f"{v} tokens/s"} for i, v in rates.items()]
    title = title_of(RunData({"numbers": numbers}))
    assert title == "Prefill: 506.7 tokens/s in the first process, 489.0 tokens/s over all of them"


def test_long_names_are_cut() -> None:
    """A name keeps to its room."""
    assert shorten("a" * 40, 10) == "aaaaaaaaa…"
    assert shorten(" two\n words ") == "two words"


def test_svg_title_is_escaped() -> None:
    """Title and description are text, whatever they hold."""
    text = finish_svg('<svg width="1"><g id="a"/></svg>', "n", "<b>", "x & y")

    assert '<title id="n-title">&lt;b&gt;</title>' in text and "x &amp; y" in text and 'id="n-a"' in text


def test_made_run_loads_in_plan_order(tmp_path: Path) -> None:
    """Records come as the plan lists them, not by file name."""
    run = load(made(tmp_path))

    assert [r["case"] for r in run.records][:2] == ["serve-small", "request-short"]


def test_a_mixed_run_names_its_stand_ins() -> None:
    """Where only one of two models is a stand-in, the stamp says which."""
    models = [{"label": "a", "name": "Real", "weights": "wheel"}, {"label": "b", "name": "Made", "weights": "stand-in"}]
    run = RunData({"weights": "stand-in", "origin": "measured", "models": models, "numbers": []})

    assert run.stamps == ["stand-in weights for Made: real shapes, random values"]
    assert (run.stand_in("a"), run.stand_in("b"), run.stand_in("unknown")) == (False, True, True)


SWEEP = PUBLISHED.parents[2] / "h200/b11434-cuda-b8ae382b/sweep-stand-in"


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The figures of the sweep on the H200."""
    folder = tmp_path_factory.mktemp("swept")
    draw_all(SWEEP, folder, ["batching", "depth", "step-time", "sweep-batching", "ubatch", "flash-attention"])
    return folder


def test_a_sweep_has_its_figures(swept: Path) -> None:
    """Depth, batch sizes, physical batch, flash attention and time over bytes; not the lesson's few batch sizes."""
    drawn_or_not = {path.stem: json.loads(path.read_text())["drawn"] for path in swept.glob("*.json")}

    assert drawn_or_not.pop("batching") is False
    assert all(drawn_or_not.values()) and len(drawn_or_not) == 5


def test_time_over_bytes_says_what_is_fixed(swept: Path) -> None:
    """Title and words hold the line's two numbers and the data sheet's, and a point of each model."""
    shown = {n["id"]: n["shown"] for n in json.loads((SWEEP / "numbers.json").read_text())["numbers"]}
    found = about(swept, "step-time")

    assert shown["step-fixed-cost-gpu-steady"] in found["title"]
    assert shown["effective-bandwidth-gpu-steady"] in found["title"]
    for number_id in ("spec-bandwidth", "decode-step-time-8b-gpu-d32768-steady", "decode-step-time-0.6b-gpu-d0-steady"):
        assert shown[number_id] in found["description"]


def test_a_line_needs_three_tests(tmp_path: Path) -> None:
    """The lesson's two decode tests give no straight line, and the note says so."""
    draw_all(PUBLISHED, tmp_path, ["step-time"])

    assert "straight line" in about(tmp_path, "step-time")["reason"]


def test_the_knee_is_where_each_still_has_half() -> None:
    """The most users of whom none is more than twice as slow as one alone; the larger one where rates are ragged."""
    values = {"2": 1.2, "8": 2.1, "16": 1.9, "2-8b": 2.5}
    numbers = [number(f"slowdown-per-user-{users}", value) for users, value in values.items()]

    assert sweeps.knees(of(numbers)) == {"": 16, "-8b": 1}


@pytest.mark.parametrize("place", ["-fa-{}-d0", "-d0-fa{}", "-fa{}"])
def test_flash_attention_is_paired_wherever_the_setting_stands(place: str) -> None:
    """A tag before the depth and a setting after it are the same comparison."""
    names = ("on", "off") if "fa-" in place else ("1", "0")
    numbers = [number("decode-rate-8b-gpu" + place.format(name), i) for i, name in enumerate(names, 1)]
    ((half, name, on, off),) = sweeps.flash_attention(of(numbers))

    assert (half, on["value"], off["value"]) == ("decode", 1, 2)
    assert name.startswith("decode, 8B")


def number(number_id: str, value: float) -> dict:
    """A number with as much as the figures ask of it."""
    return {"id": number_id, "value": value, "valid": True, "shown": str(value), "view": "exact", "interval": None}


def of(numbers: list[dict]) -> RunData:
    """A run of just these numbers."""
    return RunData({"numbers": numbers, "models": [], "weights": "hub", "origin": "measured", "not_measured": []})
