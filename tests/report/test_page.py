"""The pages of an edition: their links, their numbers, the finding, and names that could break them."""

import subprocess
import sys
from pathlib import Path

import pytest

from pretexeval.primitives.errors import InputError
from report.findings import list_answers
from report.formats import FORMS, format_percent, format_points
from report.page import PAGES, write_index, write_report
from report.page_rows import read_contents
from tests.report.conftest import (
    EDITION,
    FRESH,
    ODD_HEAD,
    ODD_NAME,
    ODD_REASON,
    SETTING,
    attempt,
    change,
    fill_pairs,
    read_pages,
    recall,
    share,
)
from tests.support.command import REPOSITORY
from tests.support.data_folder import DataFolder, query_rows
from tests.support.parsed_page import Parsed, parse
from warehouse.publishing import build_warehouse

ADDRESSES = ("href", "src", "action", "data", "poster", "srcset", "xlink:href")


@pytest.fixture(scope="module")
def page(compared_texts: dict[str, str]) -> Parsed:
    return parse(compared_texts["Results"])


@pytest.fixture(scope="module")
def validity(compared_texts: dict[str, str]) -> Parsed:
    return parse(compared_texts["Validity"])


@pytest.fixture(scope="module")
def data(compared_texts: dict[str, str]) -> Parsed:
    return parse(compared_texts["Data"])


def test_pages_are_small_and_ask_for_no_address_outside(compared_texts: dict[str, str]) -> None:
    own = {"", "data:,", "sort.js", "../index.html", "samples/index.html", f"../{FRESH}/samples/index.html"}
    for text in compared_texts.values():
        assert len(text.encode()) < 250_000
        assert [word for word in ("http", "url(", "@import") if word in text.lower()] == []
        for _, attributes in parse(text).elements:
            addresses = {(attributes.get(name) or "").partition("#")[0] for name in ADDRESSES}
            assert addresses <= own | set(PAGES.values())


def test_the_pages_lead_to_each_other_and_to_every_section(compared_texts: dict[str, str]) -> None:
    for name, text in compared_texts.items():
        parsed = parse(text)
        ids = [attributes["id"] for _, attributes in parsed.elements if "id" in attributes]
        assert len(ids) == len(set(ids))
        hrefs = [str(a["href"]) for a in parsed.find("a")]
        assert set(PAGES.values()) <= set(hrefs)
        if name != "Results":
            sections = [section["id"] for section in parsed.find("section")]
            assert [href[1:] for href in hrefs if href.startswith("#")] == sections
            assert len(sections) >= 6


def test_at_most_seven_sections_each_with_its_answer(page: Parsed, compared: Path) -> None:
    contents = read_contents(compared, EDITION)
    answers = list_answers(contents)
    sections = [str(section["id"]) for section in page.find("section")]
    assert sections == ["leaderboard", *answers]
    assert len(answers) <= 7
    assert answers["comparison"].startswith("Recall is clearly ahead, by ")
    assert answers["forms"] == "No form of a statement is certainly harder than the plain one"
    assert all(answer in page.text for answer in answers.values())


def test_it_says_of_the_negatives_what_the_manifest_says(compared: Path, data: Parsed) -> None:
    exact = "each tail is false as often as it is true;"
    alike = "in 2 of 3 relations, false tails resemble their heads as much as true ones;"
    assert (
        f"{exact} {alike} in symptoms, names and tails alone tell up to 89.4\xa0% of the labels" in data.text
    )
    silent = parse(read_pages(write_report(compared, FRESH))["Data"]).text
    assert "as often as it is true" not in silent
    assert "resemble their heads as much" not in silent


def test_both_risks_of_each_relation_are_in_one_table(compared: Path, validity: Parsed) -> None:
    table = validity.table_with("Relation", "Tail frequency")
    (row,) = (dict(zip(table[0], cells, strict=True)) for cells in table if cells[0] == "symptoms")
    found = query_rows(
        compared,
        f"from shortcut_baselines where edition_id = '{EDITION}' and method = 'pretexeval' "
        "and relation = 'symptoms'",
    )
    of = {each["baseline"]: each for each in found}
    assert row["Word overlap"] == share(of["word_overlap"], "average_accuracy")
    assert row["Best shortcut"] == share(of["best"], "average_accuracy")
    assert row["Mastery of thebest shortcut"] == share(of["best"], "mastery")
    assert row["Namesat most"] == format_percent(0.894)
    assert row["Wrong twins"] == f"{format_percent(0.0102)}\n1 of 98"


def test_the_leaderboard_has_the_numbers_of_the_view(compared: Path, page: Parsed) -> None:
    first, more = (
        page.table_with("#", "Model", "Mastery"),
        page.table_with("Model", "Joint accuracyby triplet"),
    )
    expected = query_rows(compared, f"from leaderboard where {SETTING} and method = 'pretexeval'")
    # No prompt failed, so there is no column for failures.
    assert "Failed" not in more[0]
    by_model = {row[1]: row for row in first[1:]}
    assert len(by_model) == len(expected) == 3
    for row in expected:
        rank, _, mastery, above, average = by_model[row["model"]]
        assert rank == str(row["rank"])
        assert mastery == share(row, "mastery")
        assert above == change(row, "mastery_above_shortcut")
        assert average == share(row, "average_accuracy")
        (cells,) = (dict(zip(more[0], cells, strict=True)) for cells in more if cells[0] == row["model"])
        assert cells["Joint accuracyby triplet"] == share(row, "joint_accuracy")
        assert cells["No answer"] == format_percent(row["no_answer_rate"])
        assert cells["True amongthe answers"] == format_percent(row["true_rate"])
        assert [cells["n samples"], cells["n pairs"]] == [str(row["n_samples"]), str(row["n_complete_pairs"])]


def test_the_maps_have_a_cell_per_model_and_part(compared: Path, page: Parsed) -> None:
    names = ["Recall", ODD_NAME, "Silent"]
    relations, forms = page.table_with("Relation", *names), page.table_with("Form", *names)
    masteries = query_rows(
        compared, f"from accuracy_by_relation where {SETTING} and repeat = 0 and method = 'pretexeval'"
    )
    for row in masteries:
        (cells,) = (cells for cells in relations if cells[0] == row["relation"])
        value = "–" if row["mastery"] is None else str(round(100 * row["mastery"]))
        assert cells[1 + names.index(row["model"])] == value
    effects = query_rows(
        compared, f"from form_effects where {SETTING} and repeat = 0 and method = 'pretexeval'"
    )
    for row in effects:
        found = [cells for cells in forms if cells[0] == FORMS[row["transformation"]]]
        assert [cells[1 + names.index(row["model"])] for cells in found] == (
            [] if row["transformation"] == "none" else [format_points(row["difference"])]
        )


def test_relations_are_those_of_the_setting_of_the_figures(compared: Path, page: Parsed) -> None:
    rows = page.table_with("Relation", "Model")[1:]
    expected = query_rows(
        compared, f"from accuracy_by_relation where {SETTING} and repeat = 0 and method = 'pretexeval'"
    )
    assert sorted(row[:3] for row in rows) == sorted(
        [row["relation"], row["model"], share(row, "average_accuracy")] for row in expected
    )


def test_the_finding_names_the_first_model(page: Parsed) -> None:
    assert "Recall masters 100.0\u00a0% of 3 facts, " in page.text
    assert "Method pretexeval, scoring policy strict, repeat 0." in page.text
    assert [row[1] for row in page.table_with("#", "Model")[1:]] == ["Recall", ODD_NAME, "Silent"]


def test_names_are_escaped(compared_texts: dict[str, str], page: Parsed, data: Parsed) -> None:
    assert [text.count("<script") for text in compared_texts.values()] == [1, 0, 0]
    assert not any("<b>disease" in text for text in compared_texts.values())
    assert ODD_NAME in page.text
    assert ODD_HEAD in [row[0] for table in data.tables for row in table]


def test_the_same_warehouse_gives_the_same_bytes(compared: Path, compared_texts: dict[str, str]) -> None:
    again = "import sys; from pathlib import Path; from report.page import write_report; "
    again += "write_report(Path(sys.argv[1]), sys.argv[2])"
    subprocess.run([sys.executable, "-c", again, str(compared), EDITION], cwd=REPOSITORY, check=True)
    build_warehouse(compared)
    assert read_pages(compared / "report" / EDITION / "index.html") == compared_texts


def test_an_edition_that_nobody_has_answered(unanswered: Path) -> None:
    before = parse(write_index(unanswered).read_text(encoding="utf-8"))
    assert before.tables[0][1][0] == EDITION
    assert before.find("a") == []
    texts = read_pages(write_report(unanswered, EDITION))
    assert "No model has answered this edition yet." in parse(texts["Results"]).text
    assert parse(texts["Results"]).find("section") == []
    assert parse(texts["Validity"]).table_with("Shortcut")[1][0] == "always true"
    path = write_index(unanswered)
    after = parse(path.read_text(encoding="utf-8"))
    assert [link["href"] for link in after.find("a")] == [f"{EDITION}/index.html"]
    assert (path.parent / str(after.find("a")[0]["href"])).is_file()
    with pytest.raises(InputError, match=f"'other'.*it contains: {EDITION}"):
        write_report(unanswered, "other")


def test_a_damaged_warehouse(tmp_path: Path) -> None:
    (tmp_path / "warehouse.duckdb").write_bytes(b"not a database" * 1000)
    with pytest.raises(InputError, match=r"warehouse\.duckdb: cannot be read"):
        write_report(tmp_path, EDITION)


def test_methods_stand_in_the_papers_order_with_their_numbers(compared: Path, validity: Parsed) -> None:
    rows = [r for r in validity.table_with("Model", "Method", "Average accuracy")[1:] if r[0] == "Recall"]
    assert [row[1] for row in rows] == ["direct", "llmeval", "prototype", "pretexeval"]
    found = query_rows(compared, f"from leaderboard where model_id = 'recall' and {SETTING}")
    expected = {row["method"]: row for row in found}
    for row in rows:
        assert row[2] == share(expected[row[1]], "average_accuracy")
        assert row[4] == share(expected[row[1]], "joint_accuracy")
    # Scurvy has five of eight samples under every method, and one under direct.
    assert [row[8] for row in rows] == ["8", "6", "6", "6"]


def test_components_with_their_differences(compared: Path, validity: Parsed) -> None:
    rows = [r for r in validity.table_with("Model", "Component")[1:] if r[0] == ODD_NAME]
    expected = query_rows(
        compared, f"from ablations where component is not null and model_id = 'erratic' and {SETTING}"
    )
    assert [row[1] for row in rows] == ["full", "without transformations", "without rephrasing"]
    for row, view_row in zip(rows, expected, strict=True):
        assert row[2] == share(view_row, "average_accuracy")
        assert [row[3], row[5], row[7]] == [
            change(view_row, name) for name in ("difference", "joint_difference", "mastery_difference")
        ]
    assert rows[0][3] == "–"
    assert "\n" in rows[1][3]


def test_the_better_of_two_models_comes_first(compared: Path, page: Parsed) -> None:
    rows = page.table_with("Model", "against")[1:]
    assert [row[:2] for row in rows] == [["Recall", ODD_NAME], ["Recall", "Silent"], [ODD_NAME, "Silent"]]
    # The id erratic sorts before recall, so the page swaps the sides of the row.
    (view_row,) = query_rows(
        compared,
        "from model_comparison where method = 'pretexeval' and model_id = 'erratic' "
        f"and other_model_id = 'recall' and {SETTING}",
    )
    assert view_row["difference"] < 0
    assert rows[0][2] == change(view_row, "difference", is_swapped=True)
    assert rows[0][6] == f"{view_row['n_other_mastered_alone']}, {view_row['n_mastered_alone']}" != "0, 0"
    assert rows[0][7] == f"{view_row['mcnemar_p']:.3f}"


def test_probabilities_are_shown_only_for_models_that_have_them(validity: Parsed) -> None:
    rows = validity.table_with("Model", "Average accuracy", "AUROC")[1:]
    assert [row[0] for row in rows] == ["Recall"]
    # The model always prefers the right answer: 0.9 for the true samples, 0.2 for the false ones.
    assert rows[0][1].startswith("100.0\u00a0%\n")
    assert rows[0][2:5] == ["1.000", "0.150", "0.025"]


def test_a_fall_on_fresh_text_is_shown_from_both_sides(compared: Path, page: Parsed) -> None:
    other = parse((compared / "report" / FRESH / "index.html").read_text(encoding="utf-8"))
    here, there = (
        next(r for r in p.table_with("Model", "Other edition")[1:] if r[0] == "Recall") for p in (page, other)
    )
    (view_row,) = query_rows(
        compared,
        f"from edition_drift where model_id = 'recall' and {SETTING}",
    )
    assert (view_row["difference"], view_row["average_accuracy"]) == (0.5, 1.0)
    assert here[5] == change(view_row, "difference")
    assert there[5] == change(view_row, "difference", is_swapped=True)
    assert here[3:5] == there[4:2:-1]


def test_a_model_that_an_edition_or_a_relation_lacks_has_a_dash(tmp_path: Path) -> None:
    old = fill_pairs(DataFolder(tmp_path / "data"))
    fresh = fill_pairs(DataFolder(old.root, wording="fresh "))
    small = DataFolder(old.root, pairs=fresh.pairs[:3], wording="fresh ")
    old.write_edition(EDITION)
    fresh.write_edition(FRESH)
    for name, answered in (("early", fresh), ("added", fresh), ("limited", small)):
        old.write_model(name)
        answered.write_answers(FRESH, name, recall)
    old.write_answers(EDITION, "early", recall)
    build_warehouse(old.root)
    page = parse(read_pages(write_report(old.root, FRESH))["Results"])
    (head, line) = page.table_with("Other edition")
    dashed = {name for name, cell in zip(head, line, strict=True) if cell == "–"}
    assert dashed == {"Added", "Limited"}


@pytest.mark.parametrize(
    ("limit", "rate", "said"),
    [(None, 0.25, ", and the gate did not limit new words."), (None, 0.01, None), (4, 0.25, ".")],
)
def test_share_of_wrong_texts_and_the_limit_on_new_words(
    tmp_path: Path, limit: int | None, rate: float, said: str | None
) -> None:
    data = fill_pairs(DataFolder(tmp_path / "data"))
    attempts = [attempt(sample, 1) | {"rephraser": "reviewed"} for sample in data.samples("pretexeval")]
    wrong_texts = {"max_new_words": limit, "wrong_rate": rate, "low": 0.0, "high": 0.5}
    data.write_edition(EDITION, attempts=attempts, wrong_texts=wrong_texts)
    build_warehouse(data.root)
    text = parse(read_pages(write_report(data.root, EDITION))["Data"]).text
    interval = f"(95\xa0% interval: 0.0\xa0% to {format_percent(0.5)})"
    assert f"An estimated {format_percent(rate)} of the accepted texts are wrong {interval}." in text
    assert (f"This is more than 3.0\xa0%{said}" in text) is (said is not None)
    assert ("at most 4 words of its statement" in text) is (limit == 4)
    assert "0.50 nats less surprising than in the plain statement" in text
    assert f"{format_percent(0.05)} of the 80 wordings sound stilted" in text


def test_sample_quality_and_grades(compared: Path, data: Parsed) -> None:
    rows = data.table_with("Method", "Rephraser", "n samples")[1:]
    assert [row[0] for row in rows] == ["direct", "llmeval", "prototype", "pretexeval"]
    assert rows[3][2:] == ["58", "100.0\u00a0%", "0.0\u00a0%", "0.0\u00a0%", "1.00", "8", "2"]
    reasons = data.table_with("Reason")[1:]
    assert [row[:4] for row in reasons] == [
        [ODD_REASON, "writer", "2", "16"],
        ["polarity", "writer", "1", "16"],
    ]
    grades = data.table_with("Method", "Reliability")[1:]
    (view_row,) = query_rows(compared, "from human_review where method = 'pretexeval'")
    assert grades[1][:2] == ["pretexeval", f"2.67\nα {view_row['reliability_agreement']:.2f}"]
    assert grades[1][2:] == ["2.00", "1.00", "6", "2", "3"]
