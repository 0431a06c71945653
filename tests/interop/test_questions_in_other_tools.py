"""inspect_ai and lm-eval ask the questions of an exported edition, and agree with an evaluation."""

import json
from typing import Any

import pytest

from tests.interop.tool_site import STYLES, Site, read_inspect_metrics, read_lm_eval_metrics

pytestmark = pytest.mark.slow

# Twelve points have up to ten questions each; the base has too few facts for some of them.
N_QUESTIONS = 111
Graded = dict[str, tuple[str, str | None, bool]]
"""Question -> response, what was read from it, and whether it is right."""


def read_predictions(site: Site, model: str) -> Graded:
    rows = site.query(
        f"select question_id, response, prediction, is_correct from facet_details where model = '{model}'"
    )
    return {question_id: tuple(rest) for question_id, *rest in rows}


def read_scores(site: Site, model: str) -> tuple[dict[str, float], float]:
    """Return type -> share of right answers, and the share of points with all questions right."""
    ((share,),) = site.query(
        f"select mastered_rate from mastered_points where model = '{model}' "
        "and step = 4 and is_negated_included"
    )
    rows = site.query(
        f"select type, share_right from facet_accuracy where model = '{model}' and is_negated is null "
        "and facet is not null"
    )
    return dict(rows), share


@pytest.mark.parametrize("style", STYLES)
def test_inspect_agrees(site: Site, style: str) -> None:
    log = site.run_inspect(style, "multifaceteval")
    metrics, samples = read_inspect_metrics(log)
    graded: Graded = {}
    for sample in samples:
        score = sample["scores"]["right_answer"]
        graded[sample["id"]] = sample["output"]["completion"], score.get("answer"), score["value"] == "C"
    ours = read_predictions(site, style)
    assert len(ours) == N_QUESTIONS
    assert {is_right for *_, is_right in ours.values()} == {True, False}
    assert graded == ours
    types, mastered = read_scores(site, style)
    assert {name: metrics[f"type {name}"] for name in types} == pytest.approx(types)
    assert metrics["mastered_points"] == pytest.approx(mastered)
    assert site.read_imported("question_predictions", log) == {name: row[1] for name, row in ours.items()}


@pytest.mark.parametrize("style", STYLES)
def test_lm_eval_agrees(site: Site, style: str) -> None:
    folder = site.run_lm_eval(style, "questions")
    (log,) = folder.glob("samples_*.jsonl")
    graded: dict[str, tuple[str, bool, bool]] = {}
    for line in log.read_text(encoding="utf-8").split("\n")[:-1]:
        row: dict[str, Any] = json.loads(line)
        answer = row["resps"][0][0], not row["no_answer_rate"], row["accuracy"][-1]
        graded[row["doc"]["question_id"]] = answer
    ours = read_predictions(site, style)
    assert graded == {name: (text, said is not None, right) for name, (text, said, right) in ours.items()}
    metrics, (types, mastered) = read_lm_eval_metrics(folder), read_scores(site, style)
    assert {name: metrics[f"accuracy_{name}"] for name in types} == pytest.approx(types)
    assert metrics["mastered_points"] == pytest.approx(mastered)
    assert metrics["accuracy_stderr"] > 0
    assert site.read_imported("question_predictions", log) == {name: row[1] for name, row in ours.items()}
