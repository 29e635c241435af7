"""The page over all runs in a real browser: filter, sort, and the way into a run's page."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import expect


def machines(page) -> list[str]:
    """Machines of the visible rows, top to bottom."""
    return page.evaluate(
        "[...document.querySelectorAll('#runs tbody tr')].filter((r) => !r.hidden).map((r) => r.dataset.machine)"
    )


def test_patterns_follow_the_filter(site: dict[str, Path], watch) -> None:
    """What the lesson predicts stands beside what each run does; a filter hides its rows too, by keyboard alone."""
    page = watch.open(site["index"])
    table = page.locator(".patterns-table")
    expect(table).to_contain_text("holds")
    page.locator("select[data-key=machine]").focus()
    page.keyboard.type("rtx4090")

    assert table.locator("tbody tr:visible").count() == 1
    page.locator("th button").first.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#runs thead th").first).to_have_attribute("aria-sort", "ascending")


def test_filter(site: dict[str, Path], watch) -> None:
    """Choosing an origin keeps its runs and says how many."""
    page = watch.open(site["index"])
    page.locator("select[data-key=origin]").select_option("measured")

    assert machines(page) == ["made"]
    expect(page.locator("#count")).to_have_text("1 of 2 runs")


def test_sort(site: dict[str, Path], watch) -> None:
    """A heading sorts by value, up then down, and tells screen readers."""
    page = watch.open(site["index"])
    head = page.locator("th", has_text="Prefill, small model")
    head.locator("button").click()
    assert machines(page) == ["rtx4090", "made"]
    head.locator("button").click()

    assert machines(page) == ["made", "rtx4090"]
    expect(head).to_have_attribute("aria-sort", "descending")


def test_a_cell_leads_to_the_trail(site: dict[str, Path], watch) -> None:
    """A number of the table opens the run's page with that number's panel."""
    page = watch.open(site["index"])
    page.locator("tr[data-machine=rtx4090] td a").first.click()

    expect(page.locator("#panel .big")).to_have_text("35,796 tokens/s")


def test_without_script_the_table_is_there(site: dict[str, Path], watch) -> None:
    """No JavaScript: all rows, plain headings, no dead controls."""
    page = watch.open(site["index"], java_script_enabled=False)

    assert page.locator("#runs tbody tr:visible").count() == 2
    assert page.locator(".needs-script:visible").count() == 0
    expect(page.locator("#runs thead")).to_contain_text("Prefill, small model")
