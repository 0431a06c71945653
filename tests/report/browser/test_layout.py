"""The pages in a real browser: whole on a phone and in the dark, without errors or barriers."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from report.page import PAGES, write_pages
from tests.report.browser.conftest import EDITION as HOSTILE
from tests.report.browser.conftest import WatchedPage, find_serious, keep_screenshot
from tests.report.conftest import FRESH
from tests.support.data_folder import DataFolder, Rule
from tests.support.stage_rows import Row, digest
from tests.warehouse.conftest import EDITION
from warehouse.publishing import build_warehouse

pytestmark = pytest.mark.long

CROWD = "crowd-seed1-00000009"
RELATIONS = [
    f"may_{verb}_{k}" for verb in ("treat", "prevent", "be_diagnosed_by", "follow") for k in range(4)
]
EVERY_SIZE = pytest.mark.parametrize(
    ("width", "height", "scheme"),
    [(1280, 800, "light"), (1280, 800, "dark"), (390, 844, "light"), (390, 844, "dark")],
)
FILES = ("index.html", *(f"{EDITION}/{name}" for name in PAGES.values()))
VIEWS = ("", "outcome=wrong&model=hostile", "method=questions", "q=disease%203")


def know_share(percent: int) -> Rule:
    """Return a model that knows this share of the facts, fewer in later relations, and errs on the others."""

    def answer(sample: Row) -> bool | None:
        draw = int(digest(sample["relation"], sample["head"]), 16) % 100
        knows = draw < percent - 3 * RELATIONS.index(sample["relation"])
        return bool(sample["label"]) if knows else bool(sample["label"] != sample["is_positive"])

    return answer


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the pages of an edition with twelve models and sixteen relations."""
    data = DataFolder(tmp_path_factory.mktemp("crowd") / "data")
    for relation in RELATIONS:
        data.add_pairs(relation, 6)
    data.write_edition(CROWD)
    for k in range(12):
        data.write_model(f"instruct-model-{k}-of-12")
        data.write_answers(CROWD, f"instruct-model-{k}-of-12", know_share(100 - 8 * k))
    build_warehouse(data.root)
    write_pages(data.root, [CROWD])
    return data.root / "report" / CROWD


@pytest.fixture(scope="module")
def written(compared: Path) -> Path:
    write_pages(compared, [EDITION, FRESH])
    return compared / "report"


@contextmanager
def watch(chromium: Browser, start: str, width: int, height: int, scheme: str) -> Iterator[Page]:
    """Open a page of this size, and check in the end that it had no errors."""
    size = {"width": width, "height": height}
    with chromium.new_context(viewport=size, color_scheme=scheme) as context:  # type: ignore[arg-type]
        watched = WatchedPage(context, start)
        yield watched.page
        assert watched.problems == []


def find_bottom(page: Page, selector: str) -> float:
    box = page.locator(selector).first.bounding_box()
    assert box is not None
    return box["y"] + box["height"]


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1280, "light")])
def test_no_page_has_a_serious_barrier(
    chromium: Browser, written: Path, addresses: dict[str, str], width: int, scheme: str
) -> None:
    barriers = []
    with watch(chromium, written.as_uri(), width, 900, scheme) as page:
        for name in FILES:
            page.goto((written / name).as_uri())
            # Before everything is unfolded: axe takes half a minute for a thousand rows.
            barriers += [f"{name}: {barrier}" for barrier in find_serious(page)]
            page.evaluate("document.querySelectorAll('details').forEach((part) => (part.open = true))")
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            keep_screenshot(page, f"{name.replace('/', '-').removesuffix('.html')}-{width}-{scheme}")
    for source, base in addresses.items():
        with watch(chromium, base, width, 900, scheme) as page:
            for name in ("index.html", f"{HOSTILE}/index.html"):
                page.goto(f"{base}/{name}")
            barriers += find_serious(page)
            for view in VIEWS:
                page.goto("about:blank")
                page.goto(f"{base}/{HOSTILE}/samples/index.html#{view}")
                page.locator(".samples, .detail, .empty").first.wait_for()
                assert page.evaluate("document.documentElement.scrollWidth") <= width
                keep_screenshot(page, f"samples-{view[:9]}-{width}-{scheme}-{source}")
            barriers += find_serious(page)
            page.locator(".samples a.text").first.click()
            page.locator(".detail").wait_for()
            barriers += find_serious(page)
    assert barriers == []


@EVERY_SIZE
def test_pages_are_whole_with_the_leaderboard_above_the_fold(
    chromium: Browser, pages: Path, written: Path, crowd: Path, width: int, height: int, scheme: str
) -> None:
    of_twelve = "#leaderboard tbody tr:nth-child(5)"
    folders = {
        pages / HOSTILE: "#leaderboard table",
        written / EDITION: "#leaderboard table",
        crowd: of_twelve,
    }
    for folder, shown in folders.items():
        with watch(chromium, folder.as_uri(), width, height, scheme) as page:
            page.goto((folder / "index.html").as_uri())
            keep_screenshot(page, f"{folder.name}-{width}-{scheme}")
            assert find_bottom(page, shown) <= height
            # Neither the page nor its leaderboard is wider than the window.
            for part in ("html", "#leaderboard .scroll"):
                widths = "(part) => part.scrollWidth > part.clientWidth"
                assert not page.locator(part).first.evaluate(widths)
            assert page.locator("section:not(#leaderboard)").count() <= 7
            assert page.evaluate("document.documentElement.scrollHeight") <= 12 * 844


def test_the_list_of_editions_is_whole_on_a_phone(chromium: Browser, written: Path) -> None:
    with watch(chromium, written.as_uri(), 360, 740, "light") as page:
        page.goto((written / "index.html").as_uri())
        keep_screenshot(page, "editions-360")
        tables = page.locator(".scroll:has(.index)")
        assert tables.count() >= 1
        # Nothing is cut: neither the page nor a table of editions scrolls to the side.
        for part in (page.locator("html"), *tables.all()):
            assert not part.evaluate("(part) => part.scrollWidth > part.clientWidth")


def test_a_click_on_a_head_sorts_the_map_and_two_lead_to_a_wrong_answer(
    chromium: Browser, crowd: Path
) -> None:
    with watch(chromium, (crowd.parent).as_uri(), 1280, 900, "light") as page:
        page.goto((crowd / "index.html").as_uri())
        heads, names = page.locator("#relations .map thead button"), page.locator("#relations .map tbody th")
        heads.first.click()
        assert names.all_inner_texts() == sorted(name.replace("_", " ") for name in RELATIONS)
        heads.nth(6).click()
        cells = page.locator("#relations .map tbody td:nth-child(7)")
        shares = [int(text) for text in cells.all_inner_texts()]
        assert shares == sorted(shares, reverse=True)
        assert len(set(shares)) > 2
        assert page.locator("#relations .map [aria-sort]").get_attribute("aria-sort") == "descending"
        page.locator("#relations .map tbody tr").last.locator("a").last.click()
        page.locator(".samples a.text").first.click()
        page.locator(".detail .finding .verdict.wrong").wait_for()


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
        page.locator("#browser p a").click()
        page.locator("#leaderboard").wait_for()
