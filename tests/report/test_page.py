"""The page of an edition: its links, its numbers, its finding, and names that could break it."""

import subprocess
import sys
from pathlib import Path

import pytest

from pretexeval.primitives.errors import InputError
from report.formats import format_percent, format_points
from report.page import write_index, write_report
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
    share,
)
from tests.support.command import REPOSITORY
from tests.support.data_folder import DataFolder, query_rows
from tests.support.parsed_page import Parsed, parse
from warehouse.publishing import build_warehouse

ADDRESSES = ("href", "src", "action", "data", "poster", "srcset", "xlink:href")


@pytest.fixture(scope="module")
def page(compared_text: str) -> Parsed:
    return parse(compared_text)


def test_the_page_is_small_and_asks_for_no_address_outside(compared_text: str, page: Parsed) -> None:
    lowered = compared_text.lower()
    assert len(compared_text.encode()) < 450_000
    assert [word for word in ("http", "url(", "@import") if word in lowered] == []
    assert page.find("script") == []
    own = {"", "data:,", "../index.html", "samples/index.html", f"../{FRESH}/samples/index.html"}
    for _, attributes in page.elements:
        addresses = {(attributes.get(name) or "").partition("#")[0] for name in ADDRESSES}
        assert addresses <= own


def test_the_navigation_names_every_section_and_every_id_is_unique(page: Parsed) -> None:
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    links = [href for a in page.find("a") if (href := a["href"]) and href.startswith("#")]
    assert [link[1:] for link in links] == [section["id"] for section in page.find("section")]
    assert len(links) >= 9


def test_it_says_of_the_negatives_what_the_manifest_says(compared: Path, page: Parsed) -> None:
    exact = "each tail is false as often as it is true;"
    alike = "in 2 of 3 relations, false tails resemble their heads as much as true ones;"
    assert (
        f"{exact} {alike} in symptoms, names and tails alone tell up to 89.4\xa0% of the labels" in page.text
    )
    silent = parse(write_report(compared, FRESH).read_text()).text
    assert "as often as it is true" not in silent
    assert "resemble their heads as much" not in silent


def test_both_risks_of_each_relation_are_in_one_table(compared: Path, page: Parsed) -> None:
    table = page.table_with("Relation", "Tail frequency")
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
    table = page.table_with("Model", "Mastery(joint, by pair)")
    expected = query_rows(compared, f"from leaderboard where {SETTING} and method = 'pretexeval'")
    # No prompt failed, so there is no column for failures.
    assert "Failed" not in table[0]
    by_model = {row[0]: row for row in table[1:]}
    assert len(by_model) == len(expected) == 3
    for row in expected:
        cells = by_model[row["model"]]
        assert cells[1] == share(row, "mastery")
        assert cells[2].split("\n")[0] == format_points(row["mastery_above_shortcut"])
        assert cells[4] == share(row, "average_accuracy")
        assert cells[7] == format_percent(row["no_answer_rate"])
        assert cells[8] == format_percent(row["true_rate"])
        assert [cells[9], cells[11]] == [str(row["n_samples"]), str(row["n_complete_pairs"])]


def test_relations_are_those_of_the_setting_of_the_figures(compared: Path, page: Parsed) -> None:
    rows = page.table_with("Relation", "Model")[1:]
    expected = query_rows(
        compared, f"from accuracy_by_relation where {SETTING} and repeat = 0 and method = 'pretexeval'"
    )
    assert sorted(row[:3] for row in rows) == sorted(
        [row["relation"], row["model"], share(row, "average_accuracy")] for row in expected
    )


def test_the_finding_names_the_first_model(page: Parsed) -> None:
    assert "Recall masters 100.0\u00a0% of 3 facts" in page.text
    assert "method pretexeval under scoring policy strict, repeat 0" in page.text
    ranking = page.table_with("Model", "Mastery(joint, by pair)")
    assert [row[0] for row in ranking[1:]] == ["Recall", ODD_NAME, "Silent"]


def test_names_are_escaped(compared_text: str, page: Parsed) -> None:
    assert "<script" not in compared_text
    assert "<b>disease" not in compared_text
    assert ODD_NAME in page.text
    assert ODD_HEAD in [row[0] for table in page.tables for row in table]


def test_the_same_warehouse_gives_the_same_bytes(compared: Path, compared_text: str) -> None:
    again = "import sys; from pathlib import Path; from report.page import write_report; "
    again += "write_report(Path(sys.argv[1]), sys.argv[2])"
    subprocess.run([sys.executable, "-c", again, str(compared), EDITION], cwd=REPOSITORY, check=True)
    build_warehouse(compared)
    path = compared / "report" / EDITION / "index.html"
    assert path.read_text(encoding="utf-8") == compared_text


def test_an_edition_that_nobody_has_answered(unanswered: Path) -> None:
    before = parse(write_index(unanswered).read_text(encoding="utf-8"))
    assert before.tables[0][1][0] == EDITION
    assert before.find("a") == []
    page = parse(write_report(unanswered, EDITION).read_text(encoding="utf-8"))
    assert "No model has answered this edition yet." in page.text
    assert page.table_with("Shortcut")[1][0] == "always true"
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


def test_methods_stand_in_the_papers_order_with_their_numbers(compared: Path, page: Parsed) -> None:
    rows = [r for r in page.table_with("Model", "Method", "Average accuracy")[1:] if r[0] == "Recall"]
    assert [row[1] for row in rows] == ["direct", "llmeval", "prototype", "pretexeval"]
    found = query_rows(compared, f"from leaderboard where model_id = 'recall' and {SETTING}")
    expected = {row["method"]: row for row in found}
    for row in rows:
        assert row[2] == share(expected[row[1]], "average_accuracy")
        assert row[4] == share(expected[row[1]], "joint_accuracy")
    # Scurvy has five of eight samples under every method, and one under direct.
    assert [row[8] for row in rows] == ["8", "6", "6", "6"]


def test_components_with_their_differences(compared: Path, page: Parsed) -> None:
    rows = [r for r in page.table_with("Model", "Component")[1:] if r[0] == ODD_NAME]
    expected = query_rows(compared, f"from component_ablation where model_id = 'erratic' and {SETTING}")
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


def test_probabilities_are_shown_only_for_models_that_have_them(page: Parsed) -> None:
    rows = page.table_with("Model", "Average accuracy", "AUROC")[1:]
    assert [row[0] for row in rows] == ["Recall"]
    # The model always prefers the right answer: 0.9 for the true samples, 0.2 for the false ones.
    assert rows[0][1].startswith("100.0\u00a0%\n")
    assert rows[0][2:5] == ["1.000", "0.150", "0.025"]
    (diagram,) = [label for label in page.labels if label.startswith("Reliability diagram")]
    assert "said to be true with 20.0\u00a0%: 0.0\u00a0% are (of 29 samples)" in diagram


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
    text = parse(write_report(data.root, EDITION).read_text(encoding="utf-8")).text
    interval = f"(95\xa0% interval: 0.0\xa0% to {format_percent(0.5)})"
    assert f"An estimated {format_percent(rate)} of the accepted texts are wrong {interval}." in text
    assert (f"This is more than 3.0\xa0%{said}" in text) is (said is not None)
    assert ("at most 4 words of its statement" in text) is (limit == 4)
    assert "0.50 nats less surprising than in the plain statement" in text
    assert f"{format_percent(0.05)} of the 80 wordings sound stilted" in text


def test_sample_quality_and_grades(compared: Path, page: Parsed) -> None:
    rows = page.table_with("Method", "Rephraser", "n samples")[1:]
    assert [row[0] for row in rows] == ["direct", "llmeval", "prototype", "pretexeval"]
    assert rows[3][2:] == ["58", "100.0\u00a0%", "0.0\u00a0%", "0.0\u00a0%", "1.00", "8", "2"]
    reasons = page.table_with("Reason")[1:]
    assert [row[:4] for row in reasons] == [
        [ODD_REASON, "writer", "2", "16"],
        ["polarity", "writer", "1", "16"],
    ]
    grades = page.table_with("Method", "Reliability")[1:]
    (view_row,) = query_rows(compared, "from human_review where method = 'pretexeval'")
    assert grades[1][:2] == ["pretexeval", f"2.67\nα {view_row['reliability_agreement']:.2f}"]
    assert grades[1][2:] == ["2.00", "1.00", "6", "2", "3"]
