"""A real browser, which may fetch nothing and must not complain."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
ARTEFACTS = Path(__file__).parents[2] / "artifacts" / "report"


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        running = driver.chromium.launch(
            executable_path=CHROMIUM, headless=True, args=["--no-sandbox"]
        )
        yield running
        running.close()


@pytest.fixture
def opened(browser):
    """Open a page: `with opened(path) as page`. At the end, no request and no complaint."""

    @contextmanager
    def open_page(path: Path, width: int = 1280, height: int = 900, **options) -> Iterator:
        # Without motion a place on the screen stays where it was measured.
        context = browser.new_context(
            viewport={"width": width, "height": height}, reduced_motion="reduce", **options
        )
        page = context.new_page()
        said: list[str] = []
        fetched: list[str] = []
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda request: fetched.append(request.url))
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-drawn]")
        yield page
        context.close()
        assert said == []
        assert fetched == [path.as_uri(), "data:,"] or fetched == [path.as_uri()]

    return open_page


@pytest.fixture
def keep():
    """Keep a screenshot under artifacts/report."""

    def screenshot(page, name: str, *, full: bool = True) -> None:
        ARTEFACTS.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=ARTEFACTS / f"{name}.png", full_page=full)

    return screenshot
