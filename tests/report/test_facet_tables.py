"""The tables of facets on the console, and the scores that they are made from."""

from pathlib import Path

import pytest

from report.facet_scores import FACETS, FacetScores, Row, read_facet_scores, select_first_policy
from report.score_tables import render_facets
from tests.report.conftest import ASKED, ODD_NAME
from warehouse.query import read_rows


def read(root: Path, edition_id: str) -> list[FacetScores]:
    return read_facet_scores(lambda sql: read_rows(root, sql), edition_id)


def split(line: str) -> list[str]:
    """Return the cells of a line; cells are two or more spaces apart."""
    return [cell.strip() for cell in line.split("  ") if cell.strip()]


def test_lines_stand_by_setting_then_average(questioned: Path) -> None:
    scores = select_first_policy(read(questioned, ASKED))
    lines = render_facets(scores).splitlines()
    assert "scoring" not in lines[0]
    assert "failed" not in lines[0]
    right, erratic, agreeing, thinking, random = map(split, lines[2:])
    assert right[:2] == ["always_right", "answer_only"]
    assert right[2].startswith("100.0 [")
    assert right[6].startswith("100.0 [")
    assert right[9:] == ["0.0", "14", "131"]
    assert erratic[:2] == [ODD_NAME, "answer_only"]
    assert agreeing[:2] == ["agreeing", "answer_only"]
    assert thinking[:2] == [ODD_NAME, "chain_of_thought"]
    assert random == ["random answers", "25.0", "25.0", "6.7", "50.0", "26.7"]


def test_the_average_is_the_mean_of_the_facets_of_the_view(questioned: Path) -> None:
    (score,) = (s for s in read(questioned, ASKED) if s.setting == "chain_of_thought")
    rows = read_rows(
        questioned,
        f"select facet, accuracy from facet_accuracy where edition_id = '{ASKED}' and is_negated is null "
        "and setting = 'chain_of_thought'",
    )
    assert len(rows) == 4
    assert score.average == pytest.approx(sum(row["accuracy"] for row in rows) / 4)


def test_a_model_that_was_asked_one_facet_has_no_average() -> None:
    facet = {
        "setting": "answer_only",
        "model_id": "m",
        "model": "m",
        "scoring_policy": "strict",
        "accuracy": 0.5,
        "ci_low": 0.4,
        "ci_high": 0.6,
        "random_baseline": 0.25,
        "n_questions": 8,
        "unfinished_reasoning_rate": 0.0,
    }
    other = facet | {"model_id": "o", "model": "o", "unfinished_reasoning_rate": 0.125}

    def read_some(sql: str) -> list[Row]:
        if "from facet_accuracy" in sql:
            return [facet | {"facet": name} for name in FACETS] + [other | {"facet": "comparison"}]
        if "from average_facet_accuracy" in sql:
            unknown = dict.fromkeys(("average_accuracy", "ci_low", "ci_high"))
            return [facet | {"average_accuracy": 0.5}, other | unknown]
        return [] if "from mastered_points" in sql else [{"1": 1}]

    whole, part = read_facet_scores(read_some, "e")
    assert (whole.average, part.average, part.random_average) == (0.5, None, 0.25)
    lines = render_facets([whole, part]).splitlines()
    assert lines[-1].startswith("o (answer_only): the thought did not end in 12.5 % of comparison, so")
    assert lines[-1].endswith("Raise max_tokens of [questions].")
    assert split(lines[3])[2:7] == [
        "50.0 [40.0, 60.0]",
        *["- [-, -]"] * 4,
    ]
