"""The browser of samples: its data and links, and, in a real browser, ways through it, texts and figures."""

import re
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest
from playwright.sync_api import Browser, Page

from report.browser import writer
from report.links import name_samples
from report.page import PAGES, write_report
from report.page_rows import read_contents
from tests.report.browser.conftest import ANSWERS, EDITION, HEAD, MODEL_NAME, WatchedPage
from tests.report.conftest import fill_pairs, read_pages
from tests.support.data_folder import DataFolder, erratic, expert, polarity
from tests.support.parsed_page import parse
from tests.warehouse.conftest import EDITION as TINY
from warehouse.publishing import build_warehouse
from warehouse.query import read_rows

SAMPLES = f"{EDITION}/samples/index.html"
# An expression: an object of functions, which call those of the page.
SCRIPT = Path(__file__).with_name("browsing.js").read_text(encoding="utf-8").strip()


def show(page: Page, address: str) -> None:
    """Open the address and wait for what it shows."""
    page.goto("about:blank")
    page.goto(address)
    page.locator(".samples, .detail, .empty").first.wait_for()


@pytest.mark.parametrize("source", ["file", "server"])
def test_three_clicks_lead_from_the_leaderboard_to_a_wrong_answer(
    chromium: Browser, addresses: dict[str, str], source: str
) -> None:
    with chromium.new_context() as context:
        watched = WatchedPage(context, addresses[source])
        page = watched.page
        page.goto(f"{addresses[source]}/{EDITION}/index.html")
        page.locator("#leaderboard tbody tr", has_text=MODEL_NAME).first.get_by_role("link").last.click()
        page.get_by_role("link", name="Wrong").click()
        page.locator(".samples a.text").first.click()
        page.locator(".detail .finding .verdict.wrong").wait_for()
        assert page.locator("pre.response").inner_text().strip() != ""
        first = page.locator(".detail h2").inner_text()
        page.keyboard.press("ArrowRight")
        page.get_by_text("2 of ", exact=False).first.wait_for()
        page.keyboard.press("ArrowLeft")
        page.get_by_text("1 of ", exact=False).first.wait_for()
        assert page.locator(".detail h2").inner_text() == first
        for _ in range(3):
            page.go_back()
        page.locator(".samples").wait_for()
        assert watched.problems == []


def test_a_model_without_answers_is_named_and_no_other_one_is_shown(samples: Page, pages: Path) -> None:
    samples.goto(f"{(pages / SAMPLES).as_uri()}#model=unknown-1")
    alert = samples.get_by_role("alert")
    alert.wait_for()
    assert "There are no answers of unknown-1 here." in alert.inner_text()
    assert samples.locator(".samples li").count() == 0
    alert.get_by_role("link", name=MODEL_NAME).click()
    samples.locator(".samples").wait_for()


def test_hostile_texts_are_shown_and_do_not_run(samples: Page, pages: Path) -> None:
    show(samples, f"{(pages / SAMPLES).as_uri()}#model=hostile")
    assert samples.evaluate("document.querySelectorAll('img, svg, main script').length") == 0
    seen = set()
    for place in range(8):
        samples.locator(".samples a.text").nth(place).click()
        samples.locator(".detail").wait_for()
        assert MODEL_NAME in samples.locator(".finding").inner_text()
        shown = samples.locator("pre.response").first.text_content() or ""
        seen |= {k for k, answer in enumerate(ANSWERS) if answer[:40] in shown}
        assert len(shown) < 40_000
        samples.go_back()
        samples.locator(".samples").wait_for()
    assert seen == {0, 1, 2, 3}
    of_head = urlencode({"model": "hostile", "head": HEAD}, quote_via=quote)
    show(samples, f"{(pages / SAMPLES).as_uri()}#{of_head}")
    assert samples.locator(".samples li").count() == 16
    assert HEAD in (samples.locator(".samples .fact bdi").first.text_content() or "")


def test_the_prompt_is_the_one_that_was_sent(hostile: Path, samples: Page) -> None:
    rows = read_rows(
        hostile,
        "select model_id, method, sample_id, prompt from prediction_details "
        "inner join responses using (model_id, prompt_key, repeat) where scoring_policy = 'strict'",
    )
    expected = {(row["model_id"], row["method"], row["sample_id"]): row["prompt"] for row in rows}
    assert len(expected) > 300
    found = samples.evaluate(f"{SCRIPT}.readPrompts")
    assert {(model, method, sample): prompt for model, method, sample, prompt in found} == expected


def test_search_and_order_are_those_of_sql(hostile: Path, samples: Page) -> None:
    words = ["chest PAIN", "alert(3)", "first rewording", "fever"]
    found, hardest = samples.evaluate(f"{SCRIPT}.searchAndOrder", words)
    rows = read_rows(
        hostile,
        "with pairs as (select pair_id, string_agg(head || '|' || tail, '|') as names from triplets "
        "where split = 'test' group by pair_id), "
        "judged as (select sample_id, count(*) filter (is_correct) as n_right from prediction_details "
        "where scoring_policy = 'strict' and method = 'pretexeval' group by sample_id) "
        "select sample_id, n_right, lower(concat_ws('|', names, text, response)) as searched "
        "from prediction_details inner join pairs using (pair_id) inner join judged using (sample_id) "
        "where model_id = 'hostile' and method = 'pretexeval' and scoring_policy = 'strict'",
    )
    for text, ids in zip(words, found, strict=True):
        assert sorted(ids) == sorted(r["sample_id"] for r in rows if text.lower() in r["searched"])
    assert len(found[1]) > 0
    n_right = {row["sample_id"]: row["n_right"] for row in rows}
    assert [n_right[sample_id] for sample_id in hardest] == sorted(n_right.values())


def test_every_share_on_a_page_is_that_of_the_samples_behind_it(samples: Page, pages: Path) -> None:
    links = []
    for name in PAGES.values():
        samples.goto((pages / EDITION / name).as_uri())
        links += samples.locator("td.number a").evaluate_all(
            "links => links.map((a) => [a.getAttribute('href'), a.firstChild.textContent, a.title])"
        )
    shown = [
        (cut(address), float(text.removesuffix("\u00a0%")))
        for address, text, title in links
        if text.endswith("%") and not title and not is_weighted(address)
    ]
    samples.goto((pages / EDITION / "samples" / "index.html").as_uri())
    samples.locator(".samples").wait_for()
    shares = samples.evaluate(f"{SCRIPT}.computeShares", [fragment for fragment, _ in shown])
    wrong = [
        (fragment, percent, share)
        for (fragment, percent), share in zip(shown, shares, strict=True)
        if share is None or abs(percent - 100 * share) > 0.0501
    ]
    assert wrong == []
    assert len(shown) > 300
    # The age of a fact may hold any characters.
    assert any(re.search(r"age=2021(\+|%20)%3Cb%3E", fragment) for fragment, _ in shown)


def test_links_that_compare_select_as_many_facts_as_they_count(hostile: Path, samples: Page) -> None:
    figures = []
    for row in read_rows(hostile, "from model_comparison where mastery is not null"):
        against = {"against": row["other_model_id"], "there": "missed"}
        figures.append((name_samples(row, fact="mastered", **against), row["n_mastered_alone"]))
    counted = samples.evaluate(f"{SCRIPT}.countFacts", [fragment for fragment, _ in figures])
    assert any(n for _, n in figures)
    assert list(zip([fragment for fragment, _ in figures], counted, strict=True)) == figures


def test_pairs_that_are_not_complete_are_not_missed(hostile: Path) -> None:
    missed = read_contents(hostile, EDITION).views["missed"]
    assert {row["is_complete"] for row in missed} == {True}


def is_weighted(address: str) -> bool:
    """Return whether the share is a mean over facets, or one that corrects for models that agree."""
    is_of_questions = "method=questions" in address and "fact=" not in address and "outcome=" not in address
    return is_of_questions and ("facet=" not in address or "facet=rectification" in address)


def test_failed_prompts_have_a_column_in_every_table_about_samples(pages: Path) -> None:
    texts = read_pages(pages / EDITION / "index.html")
    page, validity = parse(texts["Results"]), parse(texts["Validity"])
    tables = [
        page.table_with("Model", "No answer"),
        page.table_with("Relation", "Model"),
        page.table_with("Model", "Form"),
        validity.table_with("Model", "Method"),
        validity.table_with("Model", "Scoring"),
        validity.table_with("Model", "n = 1"),
        validity.table_with("Model", "Facts"),
    ]
    for head, *rows in tables:
        assert any(row[head.index("Failed")] not in ("0.0\u00a0%", "–") for row in rows)
        assert "Unfinished" not in head


def cut(address: str) -> str:
    return address.partition("#")[2]


def list_data(data: DataFolder) -> dict[str, int]:
    """Publish and write the page; return the time of each of its folders of data."""
    build_warehouse(data.root)
    write_report(data.root, TINY)
    folder = data.root / "report" / TINY / "samples"
    return {path.name: path.stat().st_mtime_ns for path in folder.glob("data/*")}


@pytest.mark.long
def test_only_changed_data_is_written_and_that_of_the_page_before_stays(tmp_path: Path) -> None:
    data = fill_pairs(DataFolder(tmp_path / "data"))
    data.write_edition(TINY)
    for name, rule in (("changing", erratic), ("same", polarity)):
        data.write_model(name)
        data.write_answers(TINY, name, rule)
    first = list_data(data)
    assert list_data(data) == first
    data.write_answers(TINY, "changing", expert)
    second = list_data(data)
    assert first.items() <= second.items()
    # The outcomes and the replies of one model.
    assert len(second) - len(first) == 2
    assert len(list_data(data)) == len(first)


@pytest.mark.long
def test_of_many_facts_those_come_first_that_a_model_was_asked_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = fill_pairs(DataFolder(tmp_path / "data"))
    data.write_model("expert")
    data.write_answers(TINY, "expert", expert)
    for number in range(4):
        data.add_pair("symptoms", f"Disease {number}", "Cough", "Itch")
    data.write_edition(TINY)
    build_warehouse(data.root)
    folder = data.root / "report" / TINY / "samples"

    def show(n_groups: int) -> tuple[str, str]:
        """Return the page that shows so many facts, and its data."""
        monkeypatch.setattr(writer, "MAX_GROUPS", n_groups)
        write_report(data.root, TINY)
        page = (folder / "index.html").read_text(encoding="utf-8")
        return page, "".join(path.read_text(encoding="utf-8") for path in folder.glob("data/*/*.js"))

    page, shown = show(4)
    assert "4 of 8 facts are here" in page
    assert "Influenza" in shown
    assert "Disease" not in shown
    page, shown = show(8)
    assert "facts are here" not in page
    assert "Disease 3" in shown


def test_a_link_names_what_its_row_is_about() -> None:
    of_questions = {"setting": "answer_only", "facets": ["comparison", "verification"]}
    rows: dict[str, dict[str, object]] = {
        "model=a%26b": {"model_id": "a&b", "scoring_policy": "strict", "repeat": 0},
        "method=direct&policy=excluded": {"method": "direct", "scoring_policy": "excluded"},
        "setting=answer_only&facet=comparison&method=questions": {
            "setting": "answer_only",
            "facet": "comparison",
        },
        "form=none%2Cinv": {"transformations": ["none", "inv"], "mastery": 0.5},
        "negative=other": {"grouping_by": "negative", "group_name": "not in the base"},
        "age=2021": {"grouping_by": "release", "group_name": "2021"},
        "taught=pool": {"grouping_by": "taught", "group_name": "pool"},
        "setting=answer_only&method=questions&form=MCQ%2CTFQ&polarity=affirmed": {
            "facet": "verification",
            "is_negated_included": False,
        }
        | of_questions,
    }
    assert [name_samples(row) for row in rows.values()] == list(rows)
