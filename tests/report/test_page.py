"""The pages of an edition: their links, numbers, findings, odd names, and what they say about questions."""

import subprocess
import sys
from pathlib import Path
from statistics import fmean

import pytest

from pretexeval.primitives.errors import InputError
from report.columns import FACETS
from report.contents import EditionReader
from report.facet_scores import read_facet_scores
from report.findings import list_answers
from report.formats import FORMS, format_percent, format_points
from report.leaders import find_question_lead
from report.page import PAGES, write_index, write_report
from report.page_rows import read_contents, read_question_contents
from report.paper_tables import render_all_tables
from report.score_tables import render_facets
from tests.report.conftest import (
    ASKED,
    BANK,
    FRESH,
    ODD_HEAD,
    ODD_NAME,
    ODD_REASON,
    SETTING,
    attempt,
    change,
    fill_pairs,
    read_pages,
    share,
)
from tests.support.command import REPOSITORY
from tests.support.data_folder import DataFolder
from tests.support.parsed_page import Parsed, parse
from tests.support.stage_rows import Row
from tests.warehouse.conftest import EDITION
from warehouse.publishing import build_warehouse
from warehouse.query import open_warehouse, read_rows

ADDRESSES = ("href", "src", "action", "data", "poster", "srcset", "xlink:href")
PRETEXEVAL = f"{SETTING} and repeat = 0 and method = 'pretexeval'"
NAMES = ["Recall", ODD_NAME, "Silent"]


@pytest.fixture(scope="module")
def parsed(compared_texts: dict[str, str]) -> dict[str, Parsed]:
    return {name: parse(text) for name, text in compared_texts.items()}


@pytest.fixture(scope="module")
def page(parsed: dict[str, Parsed]) -> Parsed:
    return parsed["Results"]


@pytest.fixture(scope="module")
def validity(parsed: dict[str, Parsed]) -> Parsed:
    return parsed["Validity"]


def name_cells(table: list[list[str]]) -> list[dict[str, str]]:
    return [dict(zip(table[0], cells, strict=True)) for cells in table[1:]]


def test_pages_are_small_lead_to_every_section_and_to_no_address_outside(
    compared_texts: dict[str, str], parsed: dict[str, Parsed]
) -> None:
    own = {"", "data:,", "sort.js", "../index.html", "samples/index.html", f"../{FRESH}/samples/index.html"}
    for name, text in compared_texts.items():
        assert len(text.encode()) < 250_000
        assert [word for word in ("http", "url(", "@import") if word in text.lower()] == []
        page = parsed[name]
        for _, attributes in page.elements:
            addresses = {(attributes.get(key) or "").partition("#")[0] for key in ADDRESSES}
            assert addresses <= own | set(PAGES.values())
        ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
        assert len(ids) == len(set(ids))
        hrefs = [str(a["href"]) for a in page.find("a")]
        assert set(PAGES.values()) <= set(hrefs)
        if name != "Results":
            sections = [section["id"] for section in page.find("section")]
            assert [href[1:] for href in hrefs if href.startswith("#")] == sections
            assert len(sections) >= 6


def test_at_most_seven_sections_each_with_its_answer(page: Parsed, compared: Path) -> None:
    answers = list_answers(read_contents(compared, EDITION))
    assert [str(section["id"]) for section in page.find("section")] == ["leaderboard", *answers]
    assert len(answers) <= 7
    expected = f"Recall is ahead of both others, by 100.0 points of mastery over the nearest, {ODD_NAME}"
    assert answers["comparison"] == expected
    assert answers["forms"] == "No form of a statement is certainly harder than the plain one"
    assert all(answer in page.text for answer in answers.values())
    assert "Recall masters 100.0\u00a0% of 3 facts, " in page.text
    assert "Method pretexeval, scoring policy strict, repeat 0." in page.text


def test_it_says_of_the_negatives_what_the_manifest_says(compared: Path, parsed: dict[str, Parsed]) -> None:
    exact = "each tail is false as often as it is true;"
    alike = "relations in which false tails resemble their heads as much as true ones: 2 of 3;"
    names = "in symptoms, names and tails alone tell up to 89.4\xa0% of the labels"
    assert f"{exact} {alike} {names}" in parsed["Data"].text
    silent = parse(read_pages(write_report(compared, FRESH))["Data"]).text
    assert "as often as it is true" not in silent
    assert "resemble their heads as much" not in silent
    rows = name_cells(parsed["Validity"].table_with("Relation", "Tail frequency"))
    (row,) = (row for row in rows if row["Relation"] == "symptoms")
    where = f"edition_id = '{EDITION}' and method = 'pretexeval' and relation = 'symptoms'"
    of = {each["baseline"]: each for each in read_rows(compared, f"from shortcut_baselines where {where}")}
    expected = {
        "Word overlap": share(of["word_overlap"], "average_accuracy"),
        "Best shortcut": share(of["best"], "average_accuracy"),
        "Mastery of thebest shortcut": share(of["best"], "mastery"),
        "Namesat most": format_percent(0.894),
        "Wrong twins": f"{format_percent(0.0102)}\n1 of 98",
    }
    assert row.items() >= expected.items()


def name_rank(row: Row) -> str:
    low, high = row["rank_low"], row["rank_high"]
    return str(low) if low == high else f"{low}–{high}"


def test_the_leaderboard_has_the_numbers_of_the_view(compared: Path, page: Parsed) -> None:
    board = read_rows(compared, f"from leaderboard where {PRETEXEVAL} order by rank, model")
    # No prompt failed, so there is no column for failures.
    more = page.table_with("Model", "No answer")
    assert "Failed" not in more[0]
    assert [row["model"] for row in board] == NAMES
    scores = ("mastery", "mastery_above_shortcut", "average_accuracy")
    assert page.table_with("#", "Model", "Mastery")[1:] == [
        [
            name_rank(row),
            row["model"],
            *(change(row, s) if "above" in s else share(row, s) for s in scores),
            format_percent(row["no_answer_rate"]),
            str(row["n_complete_pairs"]),
        ]
        for row in board
    ]
    found = {row["Model"]: (row["n samples"], row["n pairs"]) for row in name_cells(more)}
    assert found == {row["model"]: (str(row["n_samples"]), str(row["n_complete_pairs"])) for row in board}


def test_the_maps_and_the_table_of_relations_have_the_numbers_of_the_views(
    compared: Path, page: Parsed
) -> None:
    maps = [page.table_with("Relation", *NAMES), page.table_with("Form", *NAMES)]
    relations, forms = (
        {row[0]: dict(zip(NAMES, row[1:], strict=False)) for row in each[1:]} for each in maps
    )
    masteries = read_rows(compared, f"from accuracy_by_relation where {PRETEXEVAL}")
    for row in masteries:
        value = "–" if row["mastery"] is None else str(round(100 * row["mastery"]))
        assert relations[row["relation"]][row["model"]] == value
    effects = read_rows(compared, f"from form_effects where {PRETEXEVAL} and transformation <> 'none'")
    assert {(FORMS[row["transformation"]], row["model"]) for row in effects} == {
        (form, name) for form, cells in forms.items() for name in cells
    }
    titles = [str(link.get("title")) for link in page.find("a")]
    for row in effects:
        assert forms[FORMS[row["transformation"]]][row["model"]] == format_points(row["difference"])
        counted = f"; average accuracy {format_percent(row['average_accuracy'])} of {row['n_pairs']} pairs"
        assert any(title.endswith(counted) for title in titles)
    # Other models, relations, forms and other editions: every figure says on how many pairs it is.
    figures = [title for title in titles if " interval" in title or title.startswith("average accuracy ")]
    assert len(figures) > len(effects)
    assert [title for title in figures if not title.endswith(" pairs")] == []


def test_names_are_escaped(compared_texts: dict[str, str], parsed: dict[str, Parsed]) -> None:
    assert [text.count("<script") for text in compared_texts.values()] == [1, 0, 0]
    assert not any("<b>disease" in text for text in compared_texts.values())
    assert ODD_NAME in parsed["Results"].text
    assert ODD_HEAD in [row[0] for table in parsed["Data"].tables for row in table]


def test_the_same_warehouse_gives_the_same_bytes(compared: Path, compared_texts: dict[str, str]) -> None:
    again = "import sys; from pathlib import Path; from report.page import write_report; "
    again += "write_report(Path(sys.argv[1]), sys.argv[2])"
    subprocess.run([sys.executable, "-c", again, str(compared), EDITION], cwd=REPOSITORY, check=True)
    assert read_pages(compared / "report" / EDITION / "index.html") == compared_texts


def test_an_edition_that_nobody_has_answered(tmp_path: Path) -> None:
    small = fill_pairs(DataFolder(tmp_path))
    small.write_edition(EDITION)
    build_warehouse(tmp_path)
    before = parse(write_index(tmp_path).read_text(encoding="utf-8"))
    assert before.tables[0][1][0] == EDITION
    assert before.find("a") == []
    texts = read_pages(write_report(tmp_path, EDITION))
    assert "No model has answered this edition yet." in parse(texts["Results"]).text
    assert parse(texts["Results"]).find("section") == []
    assert parse(texts["Validity"]).table_with("Shortcut")[1][0] == "always true"
    path = write_index(tmp_path)
    after = parse(path.read_text(encoding="utf-8"))
    assert {link["href"] for link in after.find("a")} == {f"{EDITION}/index.html"}
    assert (path.parent / str(after.find("a")[0]["href"])).is_file()
    with pytest.raises(InputError, match=f"'other'.*it contains: {EDITION}"):
        write_report(tmp_path, "other")
    (tmp_path / "warehouse.duckdb").write_bytes(b"not a database" * 1000)
    with pytest.raises(InputError, match=r"warehouse\.duckdb: cannot be read"):
        write_report(tmp_path, EDITION)


def test_methods_stand_in_the_papers_order_and_components_with_their_differences(
    compared: Path, validity: Parsed
) -> None:
    rows = [r for r in validity.table_with("Model", "Method", "Average accuracy")[1:] if r[0] == "Recall"]
    assert [row[1] for row in rows] == ["direct", "llmeval", "prototype", "pretexeval"]
    # Scurvy has five of eight samples under every method, and one under direct.
    assert [row[8] for row in rows] == ["8", "6", "6", "6"]
    rows = [r for r in validity.table_with("Model", "Component")[1:] if r[0] == ODD_NAME]
    found = read_rows(
        compared, f"from ablations where component is not null and model_id = 'erratic' and {SETTING}"
    )
    assert [row[1] for row in rows] == ["full", "without transformations", "without rephrasing"]
    differences = ("difference", "joint_difference", "mastery_difference")
    assert [[row[2], row[3], row[5], row[7]] for row in rows] == [
        [share(row, "average_accuracy"), *(change(row, name) for name in differences)] for row in found
    ]
    assert rows[0][3] == "–"
    assert "\n" in rows[1][3]


def test_the_better_of_two_models_comes_first(compared: Path, page: Parsed) -> None:
    rows = page.table_with("Model", "Against")[1:]
    assert [row[:2] for row in rows] == [["Recall", ODD_NAME], ["Recall", "Silent"], [ODD_NAME, "Silent"]]
    # The id erratic sorts before recall, so the page swaps the sides of the row.
    where = f"method = 'pretexeval' and model_id = 'erratic' and other_model_id = 'recall' and {SETTING}"
    (row,) = read_rows(compared, f"from model_comparison where {where}")
    assert row["difference"] < 0
    assert rows[0][2] == change(row, "difference", is_swapped=True)
    assert rows[0][6:8] == [str(row["n_other_mastered_alone"]), str(row["n_mastered_alone"])] != ["0", "0"]
    assert rows[0][8:10] == [f"{row[name]:.3f}" for name in ("mastery_holm_p_value", "mcnemar_p")]


def test_probabilities_are_shown_only_for_models_that_have_them(validity: Parsed) -> None:
    ((model, accuracy, *scores),) = validity.table_with("Model", "Average accuracy", "AUROC")[1:]
    # The model always prefers the right answer: 0.9 for the true samples, 0.2 for the false ones.
    assert (model, accuracy.split("\n")[0]) == ("Recall", "100.0\u00a0%")
    assert scores[:3] == ["1.000", "0.150", "0.025"]


def test_a_fall_on_fresh_text_is_shown_from_both_sides(compared: Path, page: Parsed) -> None:
    other = parse((compared / "report" / FRESH / "index.html").read_text(encoding="utf-8"))
    here, there = (
        next(r for r in p.table_with("Model", "Other edition")[1:] if r[0] == "Recall") for p in (page, other)
    )
    (row,) = read_rows(compared, f"from edition_drift where model_id = 'recall' and {SETTING}")
    assert (row["difference"], row["average_accuracy"]) == (0.5, 1.0)
    assert here[5] == change(row, "difference")
    assert there[5] == change(row, "difference", is_swapped=True)
    assert here[3:5] == there[4:2:-1]
    # It answered the fresh edition alone, without one of the relations.
    (line,) = name_cells(other.table_with("Other edition"))
    assert {name for name, cell in line.items() if cell == "–"} == {"Limited"}
    relations = name_cells(other.table_with("Relation", "Limited"))
    assert {row["Relation"]: row["Limited"] for row in relations} == {"symptoms": "100", "drugs": "–"}


@pytest.mark.parametrize(
    ("limit", "rate", "said"),
    [(None, 0.25, ", and the gate did not limit new words."), (None, 0.01, None), (4, 0.25, ".")],
)
def test_share_of_wrong_texts_and_the_limit_on_new_words(
    tmp_path: Path, limit: int | None, rate: float, said: str | None
) -> None:
    data = fill_pairs(DataFolder(tmp_path))
    attempts = [attempt(sample, 1) | {"rephraser": "reviewed"} for sample in data.samples("pretexeval")]
    wrong_texts: Row = {"max_new_words": limit, "wrong_rate": rate, "low": 0.0, "high": 0.5}
    data.write_edition(EDITION, attempts=attempts, wrong_texts=wrong_texts)
    build_warehouse(tmp_path)
    text = parse(read_pages(write_report(tmp_path, EDITION))["Data"]).text
    interval = f"(95\xa0% interval: 0.0\xa0% to {format_percent(0.5)})"
    assert f"An estimated {format_percent(rate)} of the accepted texts are wrong {interval}." in text
    assert (f"This is more than 3.0\xa0%{said}" in text) is (said is not None)
    assert ("at most 4 words of its statement" in text) is (limit == 4)


def test_sample_quality_and_grades(compared: Path, parsed: dict[str, Parsed]) -> None:
    data = parsed["Data"]
    rows = data.table_with("Method", "Rephraser", "n samples")[1:]
    assert [row[0] for row in rows] == ["direct", "llmeval", "prototype", "pretexeval"]
    assert rows[3][2:] == ["58", "100.0\u00a0%", "0.0\u00a0%", "0.0\u00a0%", "1.00", "8", "2"]
    assert [row[:4] for row in data.table_with("Reason")[1:]] == [
        [ODD_REASON, "writer", "2", "16"],
        ["polarity", "writer", "1", "16"],
    ]
    grades = data.table_with("Method", "Reliability")[1:]
    (row,) = read_rows(compared, "from human_review where method = 'pretexeval'")
    assert grades[1][:2] == ["pretexeval", f"2.67\nα {row['reliability_agreement']:.2f}"]
    assert grades[1][2].startswith("2.00")
    assert grades[1][3].startswith("2.33")
    assert grades[1][4:] == ["6", "2", "3"]


OF_ASKED = f"edition_id = '{ASKED}' and scoring_policy = 'strict'"


@pytest.fixture(scope="module")
def asked(questioned: Path) -> Parsed:
    return parse(write_report(questioned, ASKED).read_text(encoding="utf-8"))


def test_the_table_of_facets_has_the_numbers_of_the_view(questioned: Path, asked: Parsed) -> None:
    table = asked.table_with("Model", "Setting", "Comparison")
    assert [row[:2] for row in table[1:]] == [
        ["always_right", "answer only"],
        [ODD_NAME, "answer only"],
        ["agreeing", "answer only"],
        [ODD_NAME, "chain of thought"],
        ["random answers", ""],
    ]
    assert table[-1][2:7] == [format_percent(share) for share in (0.25, 0.25, 1 / 15, 0.5, 0.8 / 3)]
    for row, setting in ((table[2], "answer_only"), (table[4], "chain_of_thought")):
        where = f"where {OF_ASKED} and model_id = 'erratic' and setting = '{setting}'"
        facets = read_rows(questioned, f"from facet_accuracy {where} and is_negated is null")
        shares = {found["facet"]: format_percent(found["accuracy"]) for found in facets}
        (mastered,) = read_rows(
            questioned, f"from mastered_points {where} and step = 4 and not is_negated_included"
        )
        of_facets = [found["accuracy"] for found in facets if found["facet"]]
        expected = [*(shares[name.lower()] for name in table[0][2:6]), format_percent(fmean(of_facets))]
        assert [cell.split("\n")[0] for cell in row[2:7]] == expected
        assert row[7].split("\n")[0] == format_percent(mastered["mastered_rate"])


def test_one_point_shows_every_question_and_what_models_said(questioned: Path) -> None:
    data = parse(read_pages(write_report(questioned, ASKED))["Data"])
    rows = data.table_with("Type", "Question", "Right answer", "What models said")[1:]
    assert len(rows) == 10
    assert all("always_right, answer only" in row[3] for row in rows)
    assert all(f"{ODD_NAME}, chain of thought" in row[3] for row in rows)
    assert sum(row[1].count("Offered answer") for row in rows) == 4
    texts = read_pages(write_report(questioned, BANK))
    assert len(parse(texts["Data"]).table_with("Type", "Question")[1:]) == 10
    assert (
        parse(texts["Results"]).table_with("Model", "Setting", "Mastered points")[1][0].startswith(ODD_NAME)
    )


def test_a_model_is_ahead_in_questions_from_either_side_of_a_comparison(questioned: Path) -> None:
    with open_warehouse(questioned) as connection:
        contents = read_question_contents(EditionReader(connection, ASKED))
    assert contents is not None
    lead = find_question_lead(contents)
    assert lead is not None
    assert (lead.first, lead.level, lead.behind) == ("always_right", (), ("erratic", "agreeing"))


def test_the_list_of_editions_names_the_highest_mean_in_questions(questioned: Path) -> None:
    editions, _, table = parse(write_index(questioned).read_text(encoding="utf-8")).tables
    assert {row[0] for row in editions[1:]} == {ASKED, BANK}
    assert table[0][:2] == ["Edition", "Highest mean"]
    expected = [[ASKED, "always_right"], [BANK, ODD_NAME]]
    assert sorted(row[:2] for row in table[1:]) == sorted(expected)


def split(line: str) -> list[str]:
    """Return the cells of a line; cells are two or more spaces apart."""
    return [cell.strip() for cell in line.split("  ") if cell.strip()]


def test_lines_on_the_console_stand_by_setting_then_average(questioned: Path) -> None:
    scores = read_facet_scores(lambda sql: read_rows(questioned, sql), ASKED)
    right, erratic, agreeing, thinking, random = map(split, render_facets(scores).splitlines()[2:])
    assert right[:2] == ["always_right", "answer_only"]
    assert right[2].startswith("100.0 [")
    (counted,) = read_rows(
        questioned,
        f"from mastered_points where edition_id = '{ASKED}' and setting = 'answer_only' and step = 4 "
        "and model_id = 'always_right' and is_negated_included and scoring_policy = 'strict'",
    )
    # Points without a negated question do not count with them.
    assert counted["n_points"] < 14
    assert right[9:] == ["0.0", "14", str(counted["n_points"]), "131"]
    assert (erratic[0], agreeing[0]) == (ODD_NAME, "agreeing")
    assert thinking[:2] == [ODD_NAME, "chain_of_thought"]
    assert random == ["random answers", "25.0", "25.0", "6.7", "50.0", "26.7"]
    # The table of the paper has these columns up to the average.
    _, _, paper = render_all_tables(questioned, ASKED).partition("\n\nFacets: accuracy\n")
    lines = [line[:7] for line in (right, erratic, agreeing, thinking, random)]
    assert [split(line) for line in paper.splitlines()[2:]] == lines


def test_a_model_that_was_asked_one_facet_has_no_average() -> None:
    rates = ("no_answer_rate", "unfinished_reasoning_rate", "refused_rate", "error_rate", "mastered_rate")
    ends = ("", "_ci_low", "_ci_high", "_random", "_unfinished_reasoning_rate", "_refused_rate")
    row: Row = dict.fromkeys([f"{name}{end}" for name in (*FACETS, "average") for end in ends])
    row |= {"setting": "answer_only", "model_id": "m", "model": "m", "scoring_policy": "strict"}
    row |= dict.fromkeys(rates, 0.0) | {"n_questions": 8, "n_points": 0}
    row |= {"n_negated_points": 0, "mastered_negated_rate": None}
    row |= {"comparison": 0.5, "comparison_ci_low": 0.4, "comparison_ci_high": 0.6, "comparison_random": 0.25}
    lines = render_facets([row | {"comparison_unfinished_reasoning_rate": 0.125}]).splitlines()
    assert split(lines[0])[:4] == ["model", "setting", "comparison % [95 % CI]", "average % [95 % CI]"]
    assert split(lines[2])[2:4] == ["50.0 [40.0, 60.0]", "-"]
    assert lines[-1].startswith("m (answer_only): the thought did not end in 12.5 % of comparison, so")
