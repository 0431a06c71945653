"""The browser of samples in a real browser: ways through it, hostile texts, and its figures against SQL."""

from pathlib import Path
from urllib.parse import quote, urlencode

import pytest
from playwright.sync_api import Browser, Page

from tests.report.browser.conftest import ANSWERS, EDITION, HEAD, MODEL_NAME
from tests.support.chromium import WatchedPage
from tests.support.data_folder import query_rows

SAMPLES = f"{EDITION}/samples/index.html"


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
    rows = query_rows(
        hostile,
        "select model_id, method, sample_id, prompt from prediction_details "
        "inner join responses using (model_id, prompt_key, repeat) where scoring_policy = 'strict'",
    )
    expected = {(row["model_id"], row["method"], row["sample_id"]): row["prompt"] for row in rows}
    assert len(expected) > 300
    found = samples.evaluate(
        """async () => {
            const prompts = [];
            for (const collection of collections.values()) {
                if (collection.isQuestions) continue;
                await collection.place();
                for (const run of collection.runs.filter((run) => run.scoring_policy === "strict"))
                    for (let item = 0; item < collection.nItems; item++) {
                        const sample = await readSample(collection, run, item);
                        const prompt = await readPrompt(sample, sample.reply);
                        prompts.push([run.model_id, collection.name, sample.id, prompt]);
                    }
            }
            return prompts;
        }"""
    )
    assert {(model, method, sample): prompt for model, method, sample, prompt in found} == expected


def test_search_and_order_are_those_of_sql(hostile: Path, samples: Page) -> None:
    words = ["chest PAIN", "alert(3)", "first rewording", "fever"]
    found, hardest = samples.evaluate(
        """async (words) => {
            const collection = collections.values().next().value;
            const run = chooseRun(collection, { model: "hostile" });
            const { items } = await select(collection, run, {});
            const name = async (item) => (await readSample(collection, run, item)).id;
            const mixed = await order(collection, run, items, "mixed");
            const found = [];
            const ignore = () => null;
            for (const text of words) found.push(await searchItems(collection, run, mixed, text, ignore));
            const list = (all) => Promise.all(all.map(name));
            const hardest = await order(collection, run, items, "hardest");
            return [await Promise.all(found.map(list)), await list(hardest)];
        }""",
        words,
    )
    rows = query_rows(
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
