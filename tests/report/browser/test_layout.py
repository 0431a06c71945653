"""What readers of the page of an edition see at once, with three models and with twelve."""

import math
import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from report.page import write_pages
from tests.report.conftest import EDITION
from tests.support.chromium import WatchedPage, find_serious, keep_screenshot
from tests.support.data_folder import DataFolder, Rule
from tests.support.stage_rows import Row, digest
from warehouse.publishing import build_warehouse

CROWD = "crowd-seed1-00000009"
RELATIONS = [
    f"may_{verb}_{k}" for verb in ("treat", "prevent", "be_diagnosed_by", "follow") for k in range(4)
]
SIZES = [(1280, 800, "light"), (1280, 800, "dark"), (390, 844, "light"), (390, 844, "dark")]
N_SCREENS = 12


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
        for k in range(6):
            data.add_pair(relation, f"head {k}", f"tail {k}", f"tail {(k + 1) % 6}")
    data.write_edition(CROWD)
    for k in range(12):
        data.write_model(f"instruct-model-{k}-of-12")
        data.write_answers(CROWD, f"instruct-model-{k}-of-12", know_share(100 - 8 * k))
    build_warehouse(data.root)
    write_pages(data.root, [CROWD])
    return data.root / "report" / CROWD


def is_cut(page: Page) -> bool:
    """Return whether the page or its leaderboard is wider than the window."""
    widths = "(part) => part.scrollWidth > part.clientWidth"
    return bool(
        page.locator("html").evaluate(widths) or page.locator("#leaderboard .scroll").first.evaluate(widths)
    )


def find_bottom(page: Page, selector: str) -> float:
    box = page.locator(selector).first.bounding_box()
    assert box is not None
    return box["y"] + box["height"]


@pytest.mark.parametrize(("width", "height", "scheme"), SIZES)
def test_the_leaderboard_is_whole_above_the_fold(
    chromium: Browser, pages: Path, compared: Path, width: int, height: int, scheme: str
) -> None:
    write_pages(compared, [EDITION])
    with chromium.new_context(
        viewport={"width": width, "height": height},
        color_scheme=scheme,  # type: ignore[arg-type]
    ) as context:
        page = context.new_page()
        for file in (pages / "hostile-seed1-00000005", compared / "report" / EDITION):
            page.goto((file / "index.html").as_uri())
            assert find_bottom(page, "#leaderboard table") <= height
            assert not is_cut(page)
            assert page.locator("section:not(#leaderboard)").count() <= 7
            assert page.evaluate("document.documentElement.scrollHeight") <= N_SCREENS * 844


@pytest.mark.parametrize(("width", "height", "scheme"), SIZES)
def test_twelve_models_are_told_apart_on_few_screens(
    chromium: Browser, crowd: Path, width: int, height: int, scheme: str
) -> None:
    with chromium.new_context(
        viewport={"width": width, "height": height},
        color_scheme=scheme,  # type: ignore[arg-type]
    ) as context:
        watched = WatchedPage(context, crowd.as_uri())
        page = watched.page
        page.goto((crowd / "index.html").as_uri())
        keep_screenshot(page, f"crowd-{width}-{scheme}")
        assert find_bottom(page, "#leaderboard tbody tr:nth-child(5)") <= height
        assert not is_cut(page)
        assert page.locator("section:not(#leaderboard)").count() <= 7
        assert page.evaluate("document.documentElement.scrollHeight") <= N_SCREENS * 844
        colours = (
            page.locator("#leaderboard table")
            .first.locator(".swatch")
            .evaluate_all("swatches => swatches.map((swatch) => getComputedStyle(swatch).backgroundColor)")
        )
        assert len(set(colours)) == len(colours) == 12
        distances = [measure_distance(colours[i], colours[j]) for i in range(12) for j in range(i)]
        assert min(distances) > 40
        # All models are in one map of the relations, and in one map of the forms.
        assert page.locator("#relations .map thead .swatch").count() == 12
        assert page.locator("#relations .map tbody tr").count() == len(RELATIONS)
        assert page.locator("svg").count() == 0
        assert find_serious(page) == []
        assert watched.problems == []


def measure_distance(one: str, other: str) -> float:
    """Return the distance of two colours as computed styles name them, from 0 to 441."""
    first, second = ([int(text) for text in re.findall(r"\d+", colour)[:3]] for colour in (one, other))
    return math.dist(first, second)


def test_a_click_on_a_head_sorts_the_map(chromium: Browser, crowd: Path) -> None:
    with chromium.new_context() as context:
        page = context.new_page()
        page.goto((crowd / "index.html").as_uri())
        heads, names = page.locator("#relations .map thead button"), page.locator("#relations .map tbody th")
        heads.first.click()
        assert names.all_inner_texts() == sorted(name.replace("_", " ") for name in RELATIONS)
        heads.nth(6).click()
        shares = [
            int(text) for text in page.locator("#relations .map tbody td:nth-child(7)").all_inner_texts()
        ]
        assert shares == sorted(shares, reverse=True)
        assert len(set(shares)) > 2
        assert page.locator("#relations .map [aria-sort]").get_attribute("aria-sort") == "descending"


def test_two_clicks_lead_from_the_map_to_a_wrong_answer(chromium: Browser, crowd: Path) -> None:
    with chromium.new_context() as context:
        page = context.new_page()
        page.goto((crowd / "index.html").as_uri())
        page.locator("#relations .map tbody tr").last.locator("a").last.click()
        page.locator(".samples a.text").first.click()
        page.locator(".detail .finding .verdict.wrong").wait_for()
