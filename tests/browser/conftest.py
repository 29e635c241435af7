"""A real Chromium, pages rendered from the published run and from a hostile made one, and a watch over both."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "unit"))

from page_runs import PUBLISHED, made, reported

from tokentrail.report.index import write_index

FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip


def chromium() -> str:
    """The browser to use: CHROMIUM, or the system's; the tests fail, in one sentence, without one."""
    names = ("/usr/bin/chromium", "chromium", "chromium-browser", "google-chrome")
    found = os.environ.get("CHROMIUM") or next((path for path in map(shutil.which, names) if path), None)
    if not found:
        pytest.fail(
            "no Chromium for the browser tests: apt install chromium, or set CHROMIUM to its path", pytrace=False
        )
    return found


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One headless browser for all tests."""
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        yield running
        running.close()


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Pages by name: published, made (measured, with samples), hostile, index; and the runs' folders."""
    root = tmp_path_factory.mktemp("site")
    run, hostile = made(root / "results"), made(root / "hostile", hostile=True)
    sweep = PUBLISHED.parents[2] / "h200" / "b11434-cuda-b8ae382b" / "sweep-stand-in"
    reports = root / "reports"
    pages = {
        "published": reported(PUBLISHED, reports) / "index.html",
        "made": reported(run, reports) / "index.html",
        "hostile": reported(hostile, root / "hostile-reports") / "index.html",
        "sweep": reported(sweep, reports) / "index.html",
        "index": reports / "index.html",
    }
    write_index([PUBLISHED, run], reports)
    return {
        **pages,
        "published-run": PUBLISHED,
        "made-run": run,
        "sweep-run": sweep,
        "hostile-run": hostile,
        "shots": root / "shots",
    }


class Watch:
    """Opens pages in fresh contexts and remembers whatever a page said, asked for, or broke."""

    def __init__(self, browser: Browser) -> None:
        self.browser = browser
        self.contexts: list[BrowserContext] = []
        self.faults: list[str] = []

    def open(self, path: Path, anchor: str = "", **context: object) -> Page:
        """A page from disk; requests that leave the disk are refused and kept as faults."""
        made_context = self.browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **context})
        self.contexts.append(made_context)
        page = made_context.new_page()
        page.on("console", lambda message: self.faults.append(f"console {message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        page.route("**/*", self._request)
        page.goto(path.as_uri() + anchor)
        return page

    def _request(self, route, request) -> None:
        if request.url.startswith(("file:", "data:")):
            route.continue_()
        else:
            self.faults.append(f"request: {request.url}")
            route.abort()


@pytest.fixture
def watch(browser: Browser) -> Iterator[Watch]:
    """A watch that fails the test if any page of it had a fault."""
    watching = Watch(browser)
    yield watching
    for context in watching.contexts:
        context.close()
    assert watching.faults == []
