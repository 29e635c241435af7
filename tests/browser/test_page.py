"""The page in a real browser: every number opens its trail, by mouse, key and link; nothing leaves the disk."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

PAGES = ["published", "made", "hostile", "sweep"]


def numbers(site: dict[str, Path], name: str) -> dict[str, dict]:
    """The run's numbers by id."""
    doc = json.loads((site[f"{name}-run"] / "numbers.json").read_text())
    return {number["id"]: number for number in doc["numbers"]}


def unfold(page: Page) -> None:
    """Open every folded part, so that all numbers can be pressed."""
    page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")


@pytest.mark.parametrize("name", PAGES)
def test_every_number_opens_its_own_trail(site: dict[str, Path], watch, name: str) -> None:
    """Pressing any number shows its label, its text and its formula as numbers.json has them."""
    wanted = numbers(site, name)
    page = watch.open(site[name])
    unfold(page)
    seen = page.evaluate(
        """() => [...new Set([...document.querySelectorAll('#all-numbers button.number')])].map((button) => {
            button.click();
            const panel = document.getElementById('panel');
            const found = {
                id: button.dataset.number, open: panel.open, button: button.textContent,
                label: document.getElementById('panel-title').textContent,
                shown: panel.querySelector('.big').textContent, text: panel.textContent, hash: location.hash,
            };
            panel.close();
            return found;
        })"""
    )

    assert [entry["id"] for entry in seen] == list(wanted)
    for entry in seen:
        number = wanted[entry["id"]]
        assert entry["open"] and entry["hash"] == f"#n-{entry['id']}"
        assert (entry["label"], entry["shown"], entry["button"]) == (number["label"], number["shown"], number["shown"])
        assert number["formula"]["words"] in entry["text"]
        for constant in number["constants"]:
            assert constant["source"] in entry["text"]


def test_the_raw_line_is_marked(site: dict[str, Path], watch) -> None:
    """The trail of a published rate shows the table's line with the value highlighted."""
    page = watch.open(site["published"], "#n-decode-bandwidth-share-8b-gpu")

    expect(page.locator("#panel mark").first).to_have_text("163.99")
    expect(page.locator("#panel")).to_contain_text("1,008,000,000,000 B/s")
    expect(page.locator("#panel")).to_contain_text("llama-bench -m Qwen3-8B-Q4_K_M.gguf")


def test_samples_are_drawn_with_the_cold_ones_apart(site: dict[str, Path], watch) -> None:
    """A measured rate shows its repetitions in order, cold ones as rings."""
    page = watch.open(site["made"], "#n-prefill-rate-0.6b-gpu-steady")

    assert page.locator("#panel .strip circle").count() == 15
    assert page.locator("#panel .strip circle[fill=none]").count() == 3
    assert "15 samples" in page.locator("#panel .strip").get_attribute("aria-label")


def test_inputs_lead_deeper(site: dict[str, Path], watch) -> None:
    """A ratio's inputs are doors too."""
    page = watch.open(site["published"], "#n-prefill-decode-ratio-0.6b-gpu")
    page.locator("#panel-body .like-link").first.click()

    expect(page.locator("#panel-title")).to_have_text("Prefill rate, 0.6B on GPU")
    assert page.evaluate("location.hash") == "#n-prefill-rate-0.6b-gpu"


def test_keyboard_alone(site: dict[str, Path], watch) -> None:
    """Tab reaches a number, Enter opens it, Escape closes it, and focus is back where it was."""
    page = watch.open(site["published"])
    for _ in range(80):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('.headline .number')"):
            break
    chosen = page.evaluate("document.activeElement.dataset.number")
    assert chosen

    page.keyboard.press("Enter")
    expect(page.locator("#panel")).to_be_visible()
    for _ in range(12):
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement === document.body || !!document.activeElement.closest('#panel')")
    page.keyboard.press("Escape")
    expect(page.locator("#panel")).to_be_hidden()
    assert page.evaluate("document.activeElement.dataset.number") == chosen


def test_a_shared_link_opens_the_panel(site: dict[str, Path], watch) -> None:
    """An anchor opens its number, also when the number stands in a folded table; closing clears the address."""
    page = watch.open(site["published"], "#n-kv-bytes-per-position-8b")

    expect(page.locator("#panel .big")).to_have_text("147,456 bytes")
    page.locator("#panel-close").click()
    assert page.evaluate("location.hash") == ""


def test_unknown_anchor_opens_nothing(site: dict[str, Path], watch) -> None:
    """A link to a number that is not there leaves the page as it is."""
    page = watch.open(site["published"], "#n-no-such-number")

    expect(page.locator("#panel")).to_be_hidden()


def test_copy_gives_the_whole_trail(site: dict[str, Path], watch) -> None:
    """The copied text has value, formula, raw line, command and machine."""
    page = watch.open(site["published"], "#n-decode-rate-8b-gpu", permissions=["clipboard-read", "clipboard-write"])
    page.locator("#panel-copy").click()
    expect(page.locator("#panel-status")).to_have_text("Copied")
    text = page.evaluate("navigator.clipboard.readText()")

    for part in ("164.0 tokens/s", "163.99", "llama-bench -m", "NVIDIA GeForce RTX 4090", "rtx4090/b12110-cuda/lesson"):
        assert part in text


def test_predict_then_measure(site: dict[str, Path], watch) -> None:
    """The answer is hidden until a guess is locked in, says how far off it was, and is kept over a reload."""
    page = watch.open(site["published"])
    question = page.locator(".question").first
    expect(question.locator(".answer")).to_be_hidden()
    question.locator("input[type=number]").fill("10")
    question.locator("button[type=submit]").click()

    expect(question.locator(".answer")).to_be_visible()
    expect(question.locator(".verdict")).to_have_text("You said 10 times: off by a factor of 5.6.")
    expect(question.locator(".answer .number")).to_have_text("55.76 ×")
    page.reload()
    expect(page.locator(".question.locked")).to_have_count(1)
    expect(page.locator("#progress")).to_contain_text("1 of 6")
    page.locator("#again").click()
    expect(page.locator(".question.locked")).to_have_count(0)


def test_slider_and_field_move_together(site: dict[str, Path], watch) -> None:
    """The slider runs over powers, the field holds its value."""
    page = watch.open(site["published"])
    question = page.locator(".question").first
    question.locator("input[type=range]").fill("1000")

    assert question.locator("input[type=number]").input_value() == "500"


def test_nothing_is_locked_without_a_guess(site: dict[str, Path], watch) -> None:
    """An empty field does not give the answer away."""
    page = watch.open(site["published"])
    page.locator(".question button[type=submit]").first.click()

    expect(page.locator(".question.locked")).to_have_count(0)


def test_without_script_numbers_and_figures_are_there(site: dict[str, Path], watch) -> None:
    """No JavaScript: the story's numbers, the figures, and in the folded table each number's formula."""
    page = watch.open(site["published"], java_script_enabled=False)

    expect(page.locator(".headline .number").first).to_have_text("35,796 tokens/s")
    assert page.locator("figure svg").count() >= 6
    assert page.locator(".needs-script:visible").count() == 0
    page.locator("#all summary").click()
    expect(page.locator("#all-numbers")).to_contain_text("decode rate times weights streamed per token")
    expect(page.locator(".question .answer .number").first).to_be_visible()


def test_finding_a_number(site: dict[str, Path], watch) -> None:
    """The search keeps the rows that hold the words."""
    page = watch.open(site["published"])
    unfold(page)
    page.locator("#find").fill("pod-cost")

    assert page.locator("#all-numbers tbody tr:visible").count() == 4


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", [*PAGES, "index"])
def test_axe_finds_nothing_serious(site: dict[str, Path], watch, name: str, scheme: str) -> None:
    """No serious or critical fault, with everything unfolded, then with a panel open."""
    page = watch.open(site[name], color_scheme=scheme, bypass_csp=True)
    unfold(page)
    results = [Axe().run(page)]
    if name != "index":
        page.evaluate("document.querySelector('.headline .number').click()")
        results.append(Axe().run(page))
    bad = [v for r in results for v in r.response["violations"] if v["impact"] in ("serious", "critical")]

    assert [(v["id"], v["nodes"][0]["html"][:200], v["nodes"][0]["failureSummary"][:300]) for v in bad] == []


@pytest.mark.parametrize("width", [360, 390, 768, 1280])
@pytest.mark.parametrize("name", [*PAGES, "index"])
def test_no_sideways_scrolling(site: dict[str, Path], watch, name: str, width: int) -> None:
    """The page is never wider than the screen, unfolded and with a panel open."""
    page = watch.open(site[name], viewport={"width": width, "height": 800})
    unfold(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    if name != "index":
        page.evaluate("document.querySelector('.headline .number').click()")
        box = page.locator("#panel").bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= width + 0.5
        assert page.evaluate("(b => b.scrollWidth - b.clientWidth)(document.getElementById('panel-body'))") <= 0


def test_hostile_text_does_nothing(site: dict[str, Path], watch) -> None:
    """No script ran, no element came in, and the text is there to be read, on the page and in a panel."""
    page = watch.open(site["hostile"])
    unfold(page)
    page.evaluate("document.querySelector('#all-numbers button.number').click()")

    assert page.title() != "broken"
    assert page.locator("img").count() == 0
    assert page.evaluate("document.querySelectorAll('script').length") == 2
    expect(page.locator("h1")).to_contain_text("<img src=x onerror=")


@pytest.mark.parametrize("name", PAGES)
def test_page_is_small(site: dict[str, Path], name: str) -> None:
    """Under 2 MB, the sweep with its hundreds of numbers too."""
    assert site[name].stat().st_size < 2_000_000


def test_a_sweep_shows_its_own_steps(site: dict[str, Path], watch) -> None:
    """No empty step of another campaign; why decode is slow is said; every setting's table is there."""
    page = watch.open(site["sweep"])
    headings = page.locator("main h2").all_text_contents()

    assert "Beyond the lesson" in headings and not any("Time one short question" in text for text in headings)
    expect(page.locator("#step-sweep")).to_contain_text("pass whatever it reads")
    assert page.locator("#step-sweep figure").count() == 5
    assert page.locator("#step-sweep table.grid").count() == 6
    expect(page.locator("#step-sweep")).to_contain_text("-fa on")


def test_the_machine_during_each_case(site: dict[str, Path], watch) -> None:
    """Device, memory, clock, power, temperature and what held it back stand there, a row a case."""
    page = watch.open(site["sweep"])
    table = page.locator("table.conditions")

    assert table.locator("tbody tr").count() == len(list((site["sweep-run"] / "records").glob("*.json")))
    for text in ("GPU (cuda)", "MiB", "MHz", "°C", "power-cap in"):
        expect(table).to_contain_text(text)


def test_a_guess_in_milliseconds(site: dict[str, Path], watch) -> None:
    """A question of another unit is judged in it."""
    page = watch.open(site["sweep"])
    question = page.locator(".question[data-unit=ms]")
    question.locator("input[type=number]").fill("0.09")
    question.locator("button[type=submit]").click()

    expect(question.locator(".verdict")).to_have_text("You said 0.09 ms: off by a factor of 10.")


@pytest.mark.parametrize("name", PAGES)
def test_ready_within_a_second(site: dict[str, Path], watch, name: str) -> None:
    """From opening the file to an answered click: under one second, best of three."""
    times = []
    for _ in range(3):
        page = watch.open(site["index"])
        start = time.perf_counter()
        page.goto(site[name].as_uri())
        page.evaluate("document.querySelector('.headline .number').click()")
        expect(page.locator("#panel")).to_be_visible()
        times.append(time.perf_counter() - start)

    assert min(times) < 1.0, times


def test_print_is_light_and_whole(site: dict[str, Path], watch) -> None:
    """On paper there is no panel, no form, and the story's numbers."""
    page = watch.open(site["published"], color_scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")

    expect(page.locator(".headline .number").first).to_be_visible()
    assert page.locator(".question form:visible").count() == 0
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


def test_wide_tables_fit_on_paper(site: dict[str, Path], watch) -> None:
    """Printed, no table of the sweep runs off the page."""
    page = watch.open(site["sweep"], viewport={"width": 760, "height": 1000})
    page.emulate_media(media="print")

    assert page.evaluate("document.documentElement.scrollWidth") <= 760


def test_figures_have_names(site: dict[str, Path], watch) -> None:
    """Each inlined figure is an image with a name and a description that a screen reader finds."""
    page = watch.open(site["made"])
    names = page.evaluate(
        """() => [...document.querySelectorAll('figure svg')].map((svg) => [svg.getAttribute('role'),
            ...svg.getAttribute('aria-labelledby').split(' ').map((id) => document.getElementById(id).textContent)]
            .join('|'))"""
    )

    assert len(names) >= 7
    assert all(name.startswith("img|") and all(part.strip() for part in name.split("|")) for name in names)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_screenshots(site: dict[str, Path], watch, width: int, scheme: str) -> None:
    """The page can be painted whole at both widths and in both schemes; figures have size."""
    page = watch.open(site["made"], viewport={"width": width, "height": 900}, color_scheme=scheme)
    site["shots"].mkdir(exist_ok=True)
    target = site["shots"] / f"made-{width}-{scheme}.png"
    page.screenshot(path=target, full_page=True)
    boxes = [figure.bounding_box() for figure in page.locator("figure svg").all()]

    assert target.stat().st_size > 100_000
    assert all(box["width"] > 280 and box["height"] > 120 for box in boxes)
