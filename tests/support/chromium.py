"""A real browser for tests of pages: Debian's Chromium (ci/apt.txt), driven by Playwright."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

CHROMIUM = shutil.which("chromium")
TIMEOUT_MS = 30_000
SCREENSHOTS = "PRETEXEVAL_SCREENSHOTS"
"""The variable with the folder in which tests leave a picture of each page; without it, none are made."""


@contextmanager
def start_chromium() -> Iterator[Browser]:
    """Run the browser; skip the test on a machine without it."""
    if CHROMIUM is None:
        pytest.skip("there is no chromium on this machine: install the packages of ci/apt.txt")
    with sync_playwright() as driver:
        # Root, as in a container, has no sandbox.
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


def find_serious(page: Page) -> list[str]:
    """Return what axe finds to be serious or critical on the page."""
    # Without preload, axe does not fetch style sheets, which the policy of the sample browser forbids.
    found = Axe().run(page, options={"preload": False, "resultTypes": ["violations"]}).response["violations"]
    return [
        f"{rule['id']}: {rule['nodes'][0]['html'][:200]}"
        for rule in found
        if rule["impact"] in ("serious", "critical")
    ]


def keep_screenshot(page: Page, name: str) -> None:
    """Write a picture of the whole page, if somebody wants to look at it."""
    if folder := os.environ.get(SCREENSHOTS):
        page.screenshot(path=Path(folder) / f"{name}.png", full_page=True)


class WatchedPage:
    """A page of the browser that notes every error of its console, and every foreign address."""

    def __init__(self, context: BrowserContext, start: str) -> None:
        """Watch a new page of the context; `start` is how the addresses that it may load begin."""
        self.page: Page = context.new_page()
        self.page.set_default_timeout(TIMEOUT_MS)
        self.problems: list[str] = []
        self.page.on("console", lambda message: self._note(message.type, message.text))
        self.page.on("pageerror", lambda error: self._note("error", str(error)))
        self.page.on("dialog", lambda dialog: self._note("error", f"dialog: {dialog.message}"))
        self.page.on(
            "request",
            lambda request: (
                None
                if request.url.startswith((start, "data:", "blob:"))
                else self._note("error", f"request: {request.url}")
            ),
        )

    def _note(self, kind: str, text: str) -> None:
        if kind in ("error", "warning"):
            self.problems.append(f"{kind}: {text}")
