"""What a page and the console say about questions, in editions with samples and with questions alone."""

from pathlib import Path
from statistics import fmean

import pytest

from report.columns import FACETS
from report.contents import EditionReader
from report.facet_scores import Row, read_facet_scores
from report.formats import format_percent
from report.leaders import find_question_lead
from report.page import write_index, write_report
from report.page_rows import read_question_contents
from report.score_tables import render_facets
from tests.report.conftest import ASKED, BANK, ODD_NAME, read_pages
from tests.support.data_folder import query_rows
from tests.support.parsed_page import Parsed, parse
from warehouse.query import open_warehouse, read_rows

WHERE = f"edition_id = '{ASKED}' and scoring_policy = 'strict'"


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
        where = f"where {WHERE} and model_id = 'erratic' and setting = '{setting}'"
        facets = query_rows(questioned, f"from facet_accuracy {where} and is_negated is null")
        shares = {found["facet"]: format_percent(found["accuracy"]) for found in facets}
        (mastered,) = query_rows(
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
        parse(texts["Results"])
        .table_with("#", "Model", "Setting", "Mastered points")[1][1]
        .startswith(ODD_NAME)
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
    assert right[9:] == ["0.0", "14", "131"]
    assert (erratic[0], agreeing[0]) == (ODD_NAME, "agreeing")
    assert thinking[:2] == [ODD_NAME, "chain_of_thought"]
    assert random == ["random answers", "25.0", "25.0", "6.7", "50.0", "26.7"]


def test_a_model_that_was_asked_one_facet_has_no_average() -> None:
    rates = ("no_answer_rate", "unfinished_reasoning_rate", "refused_rate", "error_rate", "mastered_rate")
    ends = ("", "_ci_low", "_ci_high", "_random", "_unfinished_reasoning_rate", "_refused_rate")
    row: Row = dict.fromkeys([f"{name}{end}" for name in (*FACETS, "average") for end in ends])
    row |= {"setting": "answer_only", "model_id": "m", "model": "m", "scoring_policy": "strict"}
    row |= dict.fromkeys(rates, 0.0) | {"n_questions": 8, "n_points": 0, "mastered_negated_rate": None}
    row |= {"comparison": 0.5, "comparison_ci_low": 0.4, "comparison_ci_high": 0.6, "comparison_random": 0.25}
    lines = render_facets([row | {"comparison_unfinished_reasoning_rate": 0.125}]).splitlines()
    assert split(lines[0])[:4] == ["model", "setting", "comparison % [95 % CI]", "average % [95 % CI]"]
    assert split(lines[2])[2:4] == ["50.0 [40.0, 60.0]", "-"]
    assert lines[-1].startswith("m (answer_only): the thought did not end in 12.5 % of comparison, so")
