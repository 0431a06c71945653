"""Evaluations that ask each pair until its first wrong answer."""

from collections import Counter
from dataclasses import replace

import polars as pl
import pytest
from pydantic import ValidationError

from pretexeval.config.file import Config
from pretexeval.config.tables import ScoringConfig
from pretexeval.primitives.hashing import hash_text
from report.page import write_report
from schemas.transformations import TRANSFORMATIONS
from tasks.evaluation import enough
from tasks.evaluation.enough import list_looks, order_cells, weigh_items
from tasks.evaluation.evaluation import Evaluation
from tasks.evaluation.missing_answers import AskingReport
from tasks.evaluation.run_record import is_complete
from tasks.evaluation.schedule import describe_job
from tests.support.evaluations import ask_model, finish
from tests.tasks.evaluation.conftest import Serve
from warehouse.publishing import build_warehouse
from warehouse.query import read_rows

ENOUGH = ScoringConfig(ask="enough")


def answer_some(prompt: str) -> str:
    """Return True or False by the hash of the text alone, mostly True."""
    return " True" if int(hash_text(prompt), 16) % 8 else " False"


def read_predictions(evaluation: Evaluation) -> pl.DataFrame:
    folder = evaluation.root / evaluation.folder
    requests = pl.read_parquet(folder / "requests/*.parquet").select("item_id", "weight")
    samples = pl.read_parquet(evaluation.root / "editions" / evaluation.edition_id / "samples/*.parquet")
    return (
        pl.read_parquet(folder / "predictions/*.parquet")
        .join(requests, on="item_id")
        .join(samples.rename({"sample_id": "item_id"}), on="item_id")
    )


def master(predictions: pl.DataFrame) -> dict[str, bool]:
    return dict(predictions.group_by("pair_id").agg(pl.col("is_correct").all()).rows())


def test_mastery_is_that_of_all_samples_and_scores_count_samples_by_their_weight(serve: Serve) -> None:
    """One model is asked everything, and one that gives the same answers is asked enough."""
    everything = serve("all", answer_some)
    finish(everything, ask_model(everything))
    less = replace(serve("enough", answer_some), scoring=ENOUGH)
    report = ask_model(less)
    finish(less, report)
    assert is_complete(less)
    all_rows, rows = read_predictions(everything), read_predictions(less)
    assert master(rows) == master(all_rows)
    assert report.n_samples == report.n_asked == rows.height < 0.75 * all_rows.height
    assert report.n_not_needed == all_rows.height - rows.height
    # What counts in averages is one sample of each triplet, or all of a pair.
    counted = rows.filter(pl.col("weight") > 0)
    assert counted.group_by("triplet_id").agg(pl.col("weight").sum())["weight"].unique().to_list() == [8]
    require_scores(less, report, rows)
    rest = replace(less, scoring=ScoringConfig())
    assert not is_complete(rest)
    assert ask_model(rest).n_asked == all_rows.height - rows.height
    # Stored answers are used, so that nothing is asked.
    assert ask_model(replace(everything, scoring=ENOUGH)).n_asked == 0


def require_scores(less: Evaluation, report: AskingReport, rows: pl.DataFrame) -> None:
    """Check the warehouse and the page: the mastery of both models, and averages by the weights."""
    root = less.root
    build_warehouse(root)
    of_all, some = read_rows(root, "from leaderboard order by model")
    for name in ("mastery", "mastery_ci_low", "mastery_ci_high", "n_complete_pairs", "n_pairs"):
        assert some[name] == of_all[name], name
    right = sum(rows.filter("is_correct")["weight"].to_list()) / sum(rows["weight"].to_list())
    assert some["average_accuracy"] == pytest.approx(right)
    assert some["average_accuracy_ci_low"] < of_all["average_accuracy"] < some["average_accuracy_ci_high"]
    in_full = rows.filter(pl.col("weight") == 1)
    assert some["n_triplets"] == in_full["triplet_id"].n_unique()
    triplets = in_full.group_by("triplet_id").agg(pl.col("is_correct").all())["is_correct"]
    assert some["joint_accuracy"] == pytest.approx(triplets.mean())
    assert some["n_samples"] == rows.filter(pl.col("weight") > 0).height
    for sql in (
        "select n_not_needed as n from runs where n_not_needed > 0",
        "select sum(n_not_needed)::int as n from pair_details where model = 'enough'",
    ):
        assert read_rows(root, sql) == [{"n": report.n_not_needed}]
    scores = read_rows(
        root,
        "select group_name, mastery, n_complete_pairs from scores where grouping_by = 'relation' "
        "order by group_name, model",
    )
    assert scores[::2] == scores[1::2]
    of_models = "from differences where comparison = 'models' and relation is null and measure = "
    (difference,) = read_rows(root, f"{of_models} 'mastery'")
    assert (difference["difference"], difference["n_pairs"]) == (0, of_all["n_complete_pairs"])
    (difference,) = read_rows(root, f"{of_models} 'average_accuracy'")
    assert (difference["difference"], difference["score"]) == (0, pytest.approx(right))
    assert difference["n_observations"] == some["n_samples"]
    counts = f"{report.n_samples:,} of {report.n_samples + report.n_not_needed:,} samples"
    text = write_report(root, less.edition_id).read_text(encoding="utf-8")
    assert f"{counts}, which is enough for mastery" in text


def test_a_precision_ends_an_evaluation_after_a_look_and_the_rest_is_asked_for_a_narrower_one(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(enough, "FIRST_LOOK", 5)
    wide = replace(serve("m", answer_some), scoring=ScoringConfig(ask="enough", precision=0.3))
    report = ask_model(wide)
    finish(wide, report)
    assert is_complete(wide)
    n_pairs = read_predictions(wide)["pair_id"].n_unique()
    narrow = replace(wide, scoring=ScoringConfig(ask="enough", precision=0.01))
    assert not is_complete(narrow)
    further = ask_model(narrow)
    finish(narrow, further)
    assert is_complete(narrow)
    assert n_pairs < read_predictions(narrow)["pair_id"].n_unique()
    assert report.n_asked + further.n_asked == further.n_samples
    assert list_looks(1000, has_precision=False) == [1.0]


def test_no_prompt_is_asked_twice_after_several_looks_even_if_it_fails(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(enough, "FIRST_LOOK", 3)
    asked, advances = Counter[str](), list[int]()

    def fail_some(prompt: str) -> str | None:
        asked[prompt] += 1
        return None if int(hash_text(prompt), 16) % 10 == 5 else answer_some(prompt)

    evaluation = replace(serve("m", fail_some), scoring=ScoringConfig(ask="enough", precision=0.01))
    report = ask_model(evaluation, on_progress=advances.append)
    assert report.n_errors > 0
    assert set(asked.values()) == {1}
    assert sum(advances) == report.n_samples + report.n_not_needed
    assert min(advances) >= 0


def test_what_does_not_go_together_is_refused() -> None:
    sampled: dict[str, object] = {"repeats": 2, "temperature": 1, "seed": 1}
    refused: tuple[tuple[dict[str, object], dict[str, object], str], ...] = (
        ({"ask": "enough", "policies": ["strict", "excluded"]}, {}, "policies"),
        ({"precision": 0.02}, {}, "precision is allowed only"),
        ({"ask": "enough"}, {"workers": 2}, "workers is not allowed"),
        ({"ask": "enough"}, sampled, "repeats is not allowed"),
    )
    for scoring, more, message in refused:
        models = [{"name": "m", "model": "org/m", "max_tokens": 8, **more}]
        with pytest.raises(ValidationError, match=message):
            Config.model_validate({"scoring": scoring, "models": models})


def test_forms_are_balanced_and_one_pair_in_ten_is_asked_in_full() -> None:
    forms = [(form.name, form.is_negated) for form in TRANSFORMATIONS]
    rows = [
        (f"pair {n}", "pretexeval", name, "T" if sign != is_negated else "F", f"{n} {sign} {name}")
        for n in range(2000)
        for sign in (True, False)
        for name, is_negated in forms
    ]
    items = pl.DataFrame(rows, ["unit_id", "group", "form", "answer", "item_id"], orient="row")
    weighed = weigh_items(items)
    assert weighed["weight"].value_counts().sort("weight")["weight"].to_list() == [0, 1, 8]
    in_full = weighed.filter(pl.col("weight") == 1)["unit_id"].n_unique()
    assert 150 < in_full < 250
    counts = weighed.filter(pl.col("weight") == 8).group_by("cell").len()["len"].to_list()
    assert len(counts) == 16
    assert max(counts) - min(counts) <= 8
    assert (
        weigh_items(items.sample(fraction=1, shuffle=True, seed=1))
        .sort("item_id")
        .equals(weighed.sort("item_id"))
    )


def test_cells_that_decide_most_pairs_come_first() -> None:
    # Cell 3 is wrong in pairs 0 to 5, cell 1 in 4 to 8, and cell 2 in 0 to 4, which cell 3 has decided.
    wrong = {3: range(6), 1: range(4, 9), 2: range(5), 0: ()}
    rows = [(str(pair), "g", cell, 1, pair not in wrong[cell]) for pair in range(12) for cell in range(4)]
    judged = pl.DataFrame(rows, ["unit_id", "group", "cell", "weight", "is_right"], orient="row")
    assert order_cells(judged)["g"][:2] == [3, 1]


def test_prompts_are_not_divided_among_cards(evaluation: Evaluation) -> None:
    asked = [replace(evaluation, scoring=scoring) for scoring in (ScoringConfig(), ENOUGH)]
    assert [describe_job(each, 10**6, None).n_shards for each in asked] == [None, 1]
