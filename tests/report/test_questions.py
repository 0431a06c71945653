"""What a page and the console say about questions, in editions with samples and with questions alone."""

from pathlib import Path

import pytest

from report.facet_scores import FACETS, Row, read_facet_scores, select_first_policy
from report.formats import format_percent
from report.leaders import join_names
from report.page import write_index, write_report
from report.score_tables import render_facets
from tests.report.conftest import ASKED, BANK, ODD_NAME
from tests.support.data_folder import query_rows
from tests.support.parsed_page import Parsed, parse
from warehouse.query import read_rows

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
        by_facet = {found["facet"]: found for found in facets}
        for name, cell in zip(table[0][2:6], row[2:6], strict=True):
            assert cell.split("\n")[0] == format_percent(by_facet[name.lower()]["accuracy"])
            mark = (
                f"{name.lower()} (random: {format_percent(by_facet[name.lower()]['random_baseline'], 0)}): "
            )
            said = f"{mark}accuracy, {row[1]} {format_percent(by_facet[name.lower()]['accuracy'])} (95 %"
            assert any(text.startswith(said) for text in asked.texts)
        (mastered,) = query_rows(
            questioned,
            f"from mastered_points {where} and is_paper_order and step = 4 and not is_negated_included",
        )
        assert row[7].split("\n")[0] == format_percent(mastered["mastered_rate"])
        assert row[-1] == str(mastered["n_points"])


def test_one_point_shows_every_question_and_what_models_said(questioned: Path, asked: Parsed) -> None:
    rows = asked.table_with("Type", "Question", "Right answer", "What models said")[1:]
    assert len(rows) == 10
    assert all("always_right, answer only" in row[3] for row in rows)
    assert all(f"{ODD_NAME}, chain of thought" in row[3] for row in rows)
    assert sum(row[1].count("Offered answer") for row in rows) == 4
    bank = parse(write_report(questioned, BANK).read_text(encoding="utf-8"))
    assert len(bank.table_with("Type", "Question")[1:]) == 10


def test_the_headline_calls_a_model_ahead_only_where_the_paired_interval_says_so(
    questioned: Path, asked: Parsed
) -> None:
    where = f"where {WHERE} and setting = 'answer_only' and other_setting = 'answer_only'"
    rows = query_rows(
        questioned,
        f"from mastered_points_comparison {where} and not is_negated_included "
        "and 'always_right' in (model_id, other_model_id) qualify step = max(step) over ()",
    )
    assert all(row["difference_ci_low"] * row["difference_ci_high"] > 0 for row in rows)
    assert f"It is ahead of all {len(rows)} other models" in asked.text
    facets = query_rows(
        questioned,
        f"from facet_comparison {where} and model_id in ('always_right', 'erratic') "
        "and other_model_id in ('always_right', 'erratic')",
    )
    texts: dict[str, list[str]] = {"is ahead in": [], "is not distinguishable from it in": []}
    for row in facets:
        is_level = row["difference_ci_low"] <= 0 <= row["difference_ci_high"]
        texts["is not distinguishable from it in" if is_level else "is ahead in"].append(row["facet"])
    said = join_names([f"{text} {join_names(names)}" for text, names in texts.items() if names])
    assert f"Compared with {ODD_NAME} by facets, it {said}." in asked.text
    assert "not distinguishable" in said


def test_the_list_of_editions_names_the_highest_mean_in_questions(questioned: Path) -> None:
    editions, table = parse(write_index(questioned).read_text(encoding="utf-8")).tables
    assert {row[0]: row[-3:-1] for row in editions[1:]} == {ASKED: ["balanced", "reviewed"], BANK: ["–", "–"]}
    assert table[0][:3] == ["Edition", "Highest mean", "Setting"]
    expected = [[ASKED, "always_right", "answer only"], [BANK, ODD_NAME, "answer only"]]
    assert sorted(row[:3] for row in table[1:]) == sorted(expected)


def split(line: str) -> list[str]:
    """Return the cells of a line; cells are two or more spaces apart."""
    return [cell.strip() for cell in line.split("  ") if cell.strip()]


def test_lines_on_the_console_stand_by_setting_then_average(questioned: Path) -> None:
    scores = select_first_policy(read_facet_scores(lambda sql: read_rows(questioned, sql), ASKED))
    for score in scores:
        facets = query_rows(
            questioned,
            f"from facet_accuracy where {WHERE} and is_negated is null and setting = '{score.setting}' "
            f"and model_id = '{score.model_id}' and facet is not null",
        )
        assert score.average == pytest.approx(sum(row["accuracy"] for row in facets) / len(FACETS))
    right, erratic, agreeing, thinking, random = map(split, render_facets(scores).splitlines()[2:])
    assert right[:2] == ["always_right", "answer_only"]
    assert right[2].startswith("100.0 [")
    assert right[9:] == ["0.0", "14", "131"]
    assert (erratic[0], agreeing[0]) == (ODD_NAME, "agreeing")
    assert thinking[:2] == [ODD_NAME, "chain_of_thought"]
    assert random == ["random answers", "25.0", "25.0", "6.7", "50.0", "26.7"]


def test_a_model_that_was_asked_one_facet_has_no_average() -> None:
    facet = {
        "setting": "answer_only",
        "model_id": "m",
        "model": "m",
        "scoring_policy": "strict",
        "facet": "comparison",
        "accuracy": 0.5,
        "accuracy_ci_low": 0.4,
        "accuracy_ci_high": 0.6,
        "random_baseline": 0.25,
        "n_questions": 8,
        "unfinished_reasoning_rate": 0.125,
    }

    def read_some(sql: str) -> list[Row]:
        if "facet is null" in sql:
            return [facet | dict.fromkeys(("accuracy", "accuracy_ci_low", "accuracy_ci_high"))]
        if "from facet_accuracy" in sql:
            return [facet]
        return [] if "from mastered_points" in sql else [{"1": 1}]

    (part,) = read_facet_scores(read_some, "e")
    assert part.average is None
    lines = render_facets([part]).splitlines()
    assert split(lines[2])[2] == "50.0 [40.0, 60.0]"
    assert lines[-1].startswith("m (answer_only): the thought did not end in 12.5 % of comparison, so")
