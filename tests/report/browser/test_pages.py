"""The pages in a real browser without the help of scripts: editions, one edition, a preview."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from commands.preflight.fact_preview import preview_edition, render_page
from pretexeval.config.file import Config
from report.page import PAGES, write_pages
from tests.report.conftest import EDITION, FRESH
from tests.support.chromium import WatchedPage, find_serious, keep_screenshot
from tests.support.command import make_rows, write_base

FILES = ("index.html", *(f"{EDITION}/{name}" for name in PAGES.values()), "preview.html")


@pytest.fixture(scope="session")
def written(compared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder with all pages: those of two editions, and of a preview."""
    folder = compared / "report"
    write_pages(compared, [EDITION, FRESH])
    own = tmp_path_factory.mktemp("preview")
    base = write_base(own / "own.tsv", make_rows("may_treat", "may_prevent"))
    config = Config.model_validate(
        {
            "knowledge": {"name": "own", "format": "table", "path": base},
            "models": [{"name": "m", "engine": "openai", "model": "m", "base_url": "http://127.0.0.1:9/v1"}],
            "storage": {"root": own / "data"},
        }
    )
    preview = preview_edition(config, 1)
    (folder / "preview.html").write_text(render_page(preview), encoding="utf-8")
    return folder


def unfold(page: Page) -> None:
    """Show everything on the page that can be unfolded."""
    page.evaluate("document.querySelectorAll('details').forEach((part) => (part.open = true))")


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1280, "light")])
def test_no_page_has_an_error_or_a_serious_barrier(
    chromium: Browser, written: Path, width: int, scheme: str
) -> None:
    with chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme) as context:  # type: ignore[arg-type]
        watched = WatchedPage(context, written.as_uri())
        barriers = []
        for name in FILES:
            watched.page.goto((written / name).as_uri())
            # Before everything is unfolded: axe takes half a minute for a thousand rows.
            barriers += [f"{name}: {barrier}" for barrier in find_serious(watched.page)]
            unfold(watched.page)
            assert watched.page.evaluate("document.documentElement.scrollWidth") <= width
            keep_screenshot(watched.page, f"{name.replace('/', '-').removesuffix('.html')}-{width}-{scheme}")
        assert barriers == []
        assert watched.problems == []


def test_everything_but_the_samples_can_be_read_without_scripts(chromium: Browser, written: Path) -> None:
    with chromium.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        page.goto((written / "index.html").as_uri())
        page.get_by_role("link", name=EDITION).first.click()
        page.locator("summary", has_text="All figures by relation").click()
        assert page.get_by_role("region", name="Accuracy by relation table").is_visible()
        page.locator("#leaderboard tbody a").first.click()
        # Playwright finds no text within noscript.
        assert "This page needs scripts" in page.locator("#browser p").inner_text()
        files = page.locator("#browser li a").evaluate_all(
            "links => links.map((link) => link.getAttribute('href'))"
        )
        assert len(files) == 3
        assert all((written / EDITION / "samples" / name).is_file() for name in files)
        page.locator("#browser p a").click()
        page.locator("#leaderboard").wait_for()
