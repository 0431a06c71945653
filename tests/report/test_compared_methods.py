"""The papers' tables of a real warehouse: pairs of methods, and means of the models."""

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from report.paper_tables import render_paper_tables
from tests.report.conftest import EDITION
from tests.support.data_folder import query_rows
from tests.support.stage_rows import Row
from warehouse.query import run_query

RUN = f"edition_id = '{EDITION}' and scoring_policy = 'strict' and repeat = 0"


def ask(root: Path) -> Callable[[str], tuple[list[str], list[tuple[Any, ...]]]]:
    return lambda sql: run_query(root, sql)


@pytest.fixture(scope="module")
def answers(compared: Path) -> dict[tuple[str, str, str], dict[int, Row]]:
    """Return (model, method, triplet) -> place of the sample -> its row."""
    sql = (
        "select model_id, p.method, p.triplet_id, sample_index, is_correct from prediction_details as p "
        f"inner join samples using (edition_id, sample_id) where {RUN} order by model_id, sample_id"
    )
    found: dict[tuple[str, str, str], dict[int, Row]] = defaultdict(dict)
    for row in query_rows(compared, sql):
        found[row["model_id"], row["method"], row["triplet_id"]][row["sample_index"]] = row
    return found


@pytest.mark.parametrize("method", ["direct", "prototype", "llmeval"])
def test_methods_are_compared_on_what_both_grade(
    compared: Path, answers: dict[tuple[str, str, str], dict[int, Row]], method: str
) -> None:
    """One answer by `direct` is compared with each of eight; half of one triplet's samples are missing."""
    pairs = [
        (row["is_correct"], answers["erratic", method, triplet][0 if method == "direct" else k]["is_correct"])
        for (model, of_method, triplet), samples in answers.items()
        if (model, of_method) == ("erratic", "pretexeval")
        for k, row in samples.items()
    ]
    (row,) = query_rows(
        compared,
        f"from method_comparison where {RUN} and model_id = 'erratic' and method = '{method}'",
    )
    n = len(pairs)
    score, other = (sum(column) / n for column in zip(*pairs, strict=True))
    assert row["n_samples"] == n
    assert (row["average_accuracy"], row["other_average_accuracy"]) == pytest.approx((score, other))
    assert row["difference"] == pytest.approx(score - other)
    assert row["difference_ci_low"] < row["difference"] < row["difference_ci_high"]
    expected = 1 - (score - 0.5) / (other - 0.5) if other > 0.5 else None
    assert row["relative_loss"] == (expected if expected is None else pytest.approx(expected))


def test_the_difference_is_that_of_the_ablation_where_both_have_it(compared: Path) -> None:
    (row,) = query_rows(
        compared, f"from method_comparison where {RUN} and model_id = 'recall' and method = 'prototype'"
    )
    (ablated,) = query_rows(
        compared,
        f"from component_ablation where {RUN} and model_id = 'recall' and component = 'without_rephrasing'",
    )
    names = ("difference", "difference_ci_low", "difference_ci_high")
    swapped = ("difference", "difference_ci_high", "difference_ci_low")
    assert [row[name] for name in names] == pytest.approx([-ablated[name] for name in swapped])


def test_tables_show_the_paired_difference_and_the_mean_of_the_models(compared: Path) -> None:
    text = render_paper_tables(ask(compared), EDITION)
    losses, curve = (part for part in text.split("\n\n") if part.startswith(("PretexEval minus", "Joint")))
    assert losses.splitlines()[1].split() == ["model", "direct", "llmeval", "prototype"]
    means = [line for line in curve.splitlines() if line.startswith("mean of models, pretexeval")]
    expected = query_rows(
        compared,
        f"select 100 * avg(joint_accuracy) as mean from joint_accuracy_curve where {RUN} "
        "and method = 'pretexeval' group by n order by n",
    )
    assert means[0].split()[4:] == [f"{row['mean']:.1f}" for row in expected]
