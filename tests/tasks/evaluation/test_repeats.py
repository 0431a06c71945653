"""A model that samples is asked every prompt several times; the view has the means and the spread."""

import statistics
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from pydantic import ValidationError

from pretexeval.config.engines import ModelConfig
from pretexeval.primitives.hashing import hash_text
from report.page import write_report
from tasks.evaluation.evaluation import Evaluation
from tasks.evaluation.subject import Subject
from tests.support.evaluations import ask_model, finish, list_prompts
from tests.support.parsed_page import parse
from warehouse.publishing import build_warehouse
from warehouse.query import read_rows

N_REPEATS = 3
SAMPLED = {"repeats": N_REPEATS, "temperature": 0.8, "seed": 5}


def repeat(evaluation: Evaluation, name: str, n_answered: int = N_REPEATS) -> Evaluation:
    """Return the evaluation of a model that answers at random: `erratic` in each repeat, `steady` once."""
    texts = sorted({prompt.text for prompt in list_prompts(evaluation)})
    rows = [
        (text, int(hash_text(text, str(k if name == "erratic" else 0)), 16) % 4 > 0, k)
        for text in texts
        for k in range(n_answered)
    ]
    recording = evaluation.root / f"{name}.parquet"
    frame = pl.DataFrame(rows, ["prompt", "response", "repeat"], orient="row")
    frame.with_columns(pl.col("response").replace_strict({True: "True", False: "False"})).write_parquet(
        recording
    )
    model = ModelConfig.model_validate(
        {"name": name, "engine": "recorded", "model": str(recording), **SAMPLED}
    )
    return replace(evaluation, model=model, subject=Subject(n_repeats=N_REPEATS))


def test_means_and_spread_of_repeats(evaluation: Evaluation) -> None:
    for name in ("erratic", "steady"):
        repeated = repeat(evaluation, name)
        report = ask_model(repeated)
        assert report.n_samples == N_REPEATS * len(list_prompts(evaluation))
        finish(repeated, report)
    build_warehouse(evaluation.root)
    erratic, steady = read_rows(evaluation.root, "from repeat_spread order by model")
    single = read_rows(evaluation.root, "from leaderboard order by model, repeat")
    for row, of_model in ((erratic, single[:N_REPEATS]), (steady, single[N_REPEATS:])):
        assert [each["repeat"] for each in of_model] == list(range(N_REPEATS))
        for measure in ("average_accuracy", "mastery"):
            scores = [each[measure] for each in of_model]
            assert row[measure] == pytest.approx(statistics.fmean(scores))
            assert row[f"{measure}_sd"] == pytest.approx(statistics.stdev(scores), abs=1e-12)
    assert erratic["average_accuracy_sd"] > 0
    assert erratic["same_answer_rate"] == pytest.approx(count_same(evaluation.root, "erratic"))
    assert steady["same_answer_rate"] == 1
    # Asking again does not make the interval narrower if the answers are the same.
    names = (
        "average_accuracy_ci_low",
        "average_accuracy_ci_high",
        "average_accuracy_fixed_base_ci_low",
        "average_accuracy_fixed_base_ci_high",
        "mastery_ci_low",
        "mastery_ci_high",
    )
    assert [steady[name] for name in names] == pytest.approx([single[N_REPEATS][name] for name in names])

    page = parse(write_report(evaluation.root, evaluation.edition_id).read_text(encoding="utf-8"))
    shown = page.table_with("Model", "Repeats")[1:]
    assert {(row[0], row[1], row[5]) for row in shown} >= {("steady", "3", "0.00")}


def count_same(root: Path, name: str) -> float:
    rows = read_rows(
        root,
        f"select sample_id, prediction from predictions join models using (model_id) where name = '{name}'",
    )
    answers: dict[str, set[bool]] = {}
    for row in rows:
        answers.setdefault(row["sample_id"], set()).add(row["prediction"])
    return statistics.fmean(len(found) == 1 for found in answers.values())


def test_more_repeats_ask_only_the_further_ones(evaluation: Evaluation) -> None:
    repeated = repeat(evaluation, "erratic")
    once = replace(repeated, subject=Subject())
    first, further = ask_model(once), ask_model(repeated)
    assert (first.n_asked, further.n_asked) == (first.n_samples, (N_REPEATS - 1) * first.n_samples)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"temperature": 0.0}, "temperature above 0"),
        ({"seed": None}, "needs a seed"),
        ({"engine": "imported"}, "imported"),
    ],
)
def test_repeats_need_a_model_that_samples(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        ModelConfig.model_validate({"name": "m", "model": "m", **SAMPLED, **changes})
    endpoint = {"engine": "openai", "base_url": "http://127.0.0.1:9/v1", "leave_out": ["temperature"]}
    asked = ModelConfig.model_validate({"name": "m", "model": "m", "repeats": 2, **endpoint})
    assert asked.repeats == 2
