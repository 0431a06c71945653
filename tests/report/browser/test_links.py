"""Every share on a page is that of the samples to which its link leads."""

import re
from pathlib import Path

from playwright.sync_api import Page

from report.browser.links import link_both, name_samples
from report.page import PAGES
from tests.report.browser.conftest import EDITION
from tests.report.conftest import read_pages
from tests.support.data_folder import query_rows
from tests.support.parsed_page import parse

# How many facts a link selects.
COUNT = """async (fragments) => {
    const counts = [];
    for (const fragment of fragments) {
        const view = Object.fromEntries(new URLSearchParams(fragment));
        const collection = collections.get(view.method) ?? collections.values().next().value;
        await collection.place();
        const { items } = await select(collection, chooseRun(collection, view), view);
        counts.push(new Set(items.map((item) => collection.findGroup(item))).size);
    }
    return counts;
}"""
COMPUTE = """async (fragments) => {
    const sum = (numbers) => Object.values(numbers).reduce((a, b) => a + b, 0);
    const shares = [];
    for (const fragment of fragments) {
        const view = Object.fromEntries(new URLSearchParams(fragment));
        const { outcome, fact, triplet, said, ...rest } = view;
        const collection = collections.get(view.method) ?? collections.values().next().value;
        await collection.place();
        const run = chooseRun(collection, view);
        const among = async (extra) => select(collection, run, { ...rest, ...extra });
        const all = (await among({})).nOfOutcome;
        const { mastered, missed } = (await among({})).nOfFact;
        if (outcome === "failed") shares.push(all.failed / all[""]);
        else if (outcome) shares.push(all[outcome] / (all[""] - all.failed));
        else if (fact) shares.push(mastered / (mastered + missed));
        else if (triplet) {
            const [right, wrong] = [await among({ triplet: "right" }), await among({ triplet: "wrong" })];
            const found = await among({ triplet: triplet === "wrong" ? "right" : triplet });
            shares.push(found.items.length / (right.items.length + wrong.items.length));
        } else if (said) {
            const [yes, no] = [await among({ said: "true" }), await among({ said: "false" })];
            shares.push(yes.items.length / (yes.items.length + no.items.length));
        }
        else {
            const { codes } = await collection.loadStates(run);
            const graded = (await among({})).items.filter((item) => codes[item] & GRADED);
            shares.push(graded.filter((item) => codes[item] & CORRECT).length / graded.length);
        }
    }
    return shares;
}"""


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
    shares = samples.evaluate(COMPUTE, [fragment for fragment, _ in shown])
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
    for row in query_rows(hostile, "from model_comparison where mastery is not null"):
        against = {"against": row["other_model_id"], "there": "missed"}
        figures.append((name_samples(row, fact="mastered", **against), row["n_mastered_alone"]))
    for row in query_rows(hostile, "from facets_transformations_agreement"):
        for name, by_facets, by_transformations in (
            ("n_both", "mastered", "mastered"),
            ("n_facets_only", "missed", "mastered"),
            ("n_transformations_only", "mastered", "missed"),
            ("n_neither", "missed", "missed"),
        ):
            figures.append((cut(link_both(row, by_facets, by_transformations)), row[name]))
    counted = samples.evaluate(COUNT, [fragment for fragment, _ in figures])
    assert any(n for _, n in figures)
    assert list(zip([fragment for fragment, _ in figures], counted, strict=True)) == figures


def is_weighted(address: str) -> bool:
    """Return whether the share is a mean over facets, or one that corrects for models that agree."""
    is_of_questions = "method=questions" in address and "fact=" not in address and "outcome=" not in address
    return is_of_questions and ("facet=" not in address or "facet=rectification" in address)


def test_failed_prompts_have_a_column_in_every_table_about_samples(pages: Path) -> None:
    texts = read_pages(pages / EDITION / "index.html")
    page, validity = parse(texts["Results"]), parse(texts["Validity"])
    tables = [
        page.table_with("Model", "Joint accuracyby triplet"),
        page.table_with("Relation", "Model"),
        page.table_with("Model", "Form"),
        validity.table_with("Model", "Method"),
        validity.table_with("Model", "Scoring policy"),
        validity.table_with("Model", "n = 1"),
        validity.table_with("Model", "Facts"),
    ]
    for head, *rows in tables:
        assert any(row[head.index("Failed")] not in ("0.0\u00a0%", "–") for row in rows)
        assert "of it reasoningunfinished" not in head


def cut(address: str) -> str:
    return address.partition("#")[2]
