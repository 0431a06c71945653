"""Failed prompts in the views: never scored, counted apart from no answer; too many give no score."""

from pathlib import Path

import pytest

from pretexeval.storage.records import write_record
from tests.support import simulated_models
from tests.support.data_folder import DataFolder
from tests.support.stage_rows import Row, digest
from tests.warehouse.conftest import EDITION, fill_pairs
from warehouse.catalogue import VIEWS
from warehouse.publishing import build_warehouse

POLICIES = ("strict", "coin-flip", "excluded")
REASON = "HTTP 400: content_filter"
# View -> the sum of n_errors over the rows of a model with three failed prompts, under none, inv and dn.
N_ERRORS = {
    "average_accuracy": 3,
    "joint_accuracy": 2 * 3,
    "joint_accuracy_curve": 8 * 3,
    "accuracy_by_relation": 3,
    "accuracy_by_transformation": 3,
    "accuracy_by_polarity": 3,
    "accuracy_by_negative": 3,
    "accuracy_by_age": 3,
    "transformation_ablation": 2 * (1 + 2 + 3 + 3),
    "leaderboard": 3,
    "weighted_accuracy": 2 * 3,
    "known_mastery": 3,
    "component_ablation": 3 + 1,
    "model_comparison": 3,
    "probability_calibration": 3,
}
# These views list a model whether or not it counts as evaluated.
UNSCORED = ("prediction_details", "token_usage", "cost", "served_models", "not_evaluated")


def fail_three(sample: Row) -> str | None:
    """Fail three samples about influenza and fever."""
    is_chosen = sample["head"] == "Influenza" and sample["transformation"] in ("none", "inv", "dn")
    return REASON if is_chosen and sample["is_positive"] else None


def silent_on_itch(sample: Row) -> bool | None:
    """Answer right, except to the 16 samples about itch: 8 of Influenza and 8 of Scabies."""
    return None if sample["tail"] == "Itch" else simulated_models.expert(sample)


@pytest.fixture
def data(tmp_path: Path) -> DataFolder:
    small = fill_pairs(DataFolder(tmp_path / "data"))
    small.write_edition(EDITION)
    return small


def test_failed_prompts_are_never_scored(data: DataFolder) -> None:
    data.write_model("m")
    data.write_answers(
        EDITION,
        "m",
        silent_on_itch,
        policies=POLICIES,
        fail=fail_three,
        max_error_rate=0.05,
    )
    build_warehouse(data.root)
    by_policy = {row["scoring_policy"]: row for row in data.query("from leaderboard")}
    assert set(by_policy) == set(POLICIES)
    for row in by_policy.values():
        assert (row["n_errors"], row["error_rate"]) == (3, 3 / 64)
        assert row["no_answer_rate"] == 16 / 61
        assert row["n_samples"] == (45 if row["scoring_policy"] == "excluded" else 61)
    strict, excluded = by_policy["strict"], by_policy["excluded"]
    assert strict["average_accuracy"] == 45 / 61
    assert excluded["average_accuracy"] == 1.0
    # The pair with the failed prompts is not complete. Of the three others, that about itch is not mastered.
    assert (strict["n_complete_pairs"], strict["mastery"]) == (3, 2 / 3)
    # Half of the pairs are left out, so those that are left are the model's own selection.
    assert (excluded["n_complete_pairs"], excluded["pair_left_out_rate"], excluded["mastery"]) == (
        2,
        0.5,
        None,
    )
    failed = data.query("from prediction_details where is_failed and scoring_policy = 'strict'")
    assert [(row["is_correct"], row["has_answer"], row["error"]) for row in failed] == [
        (None, False, REASON)
    ] * 3


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> DataFolder:
    """Publish two models with three failed prompts each, and one with too many."""
    heads = ("Influenza", "Scabies", "Angina pectoris", "Scurvy", "Migraine")
    ages = dict.fromkeys(heads, "new")
    small = fill_pairs(DataFolder(tmp_path_factory.mktemp("answered") / "data", ages=ages, releases=("1",)))
    small.write_edition(EDITION)
    for name in ("one", "two"):
        known = [{"relation": "symptoms", "head": "Influenza"}]
        small.write_model(name, known)
        rule = simulated_models.expert if name == "one" else simulated_models.erratic
        small.write_answers(EDITION, name, rule, fail=fail_three, max_error_rate=0.05)
    small.write_model("bad")
    small.write_answers(EDITION, "bad", simulated_models.expert, fail=fail_three)
    build_warehouse(small.root)
    return small


@pytest.mark.parametrize("view", N_ERRORS)
def test_every_view_counts_the_failed_prompts(view: str, answered: DataFolder) -> None:
    rows = answered.query(f"from {view} where model_id = 'one'")
    assert sum(row["n_errors"] for row in rows) == N_ERRORS[view]
    assert max(row["error_rate"] for row in rows) >= 3 / 64


def test_model_with_too_many_failed_prompts_has_no_score(answered: DataFolder) -> None:
    for view in VIEWS:
        columns = {row["column_name"] for row in answered.query(f"describe {view}")}
        if view not in UNSCORED and "model_id" in columns:
            models = {row["model_id"] for row in answered.query(f"select model_id from {view}")}
            assert "bad" not in models, view
            assert "one" in models or view not in N_ERRORS, view
    (row,) = answered.query("from not_evaluated")
    assert (row["edition_id"], row["model"], row["model_id"]) == (EDITION, "Bad", "bad")
    assert (row["n_samples"], row["n_errors"], row["error_rate"]) == (64, 3, 3 / 64)
    assert row["reason"] == (
        f"3 of 64 samples failed (4.7 %), more than max_error_rate = 0.01 allows; most often: {REASON}"
    )


def write_failure(data: DataFolder, name: str, model_id: str | None) -> None:
    record = {
        "edition_id": EDITION,
        "model": name,
        "model_id": model_id,
        "reason": f"{name} is down",
        "failed_at": "2026-11-21T12:00:00+00:00",
    }
    write_record(data.root / "failures" / EDITION / f"{name}.json", record)


def test_failure_before_any_score_is_listed(data: DataFolder) -> None:
    data.write_model("expert")
    data.write_answers(EDITION, "expert", simulated_models.expert)
    data.write_model("bad")
    data.write_answers(EDITION, "bad", simulated_models.expert, fail=fail_three)
    write_failure(data, "Down", "down-1")
    write_failure(data, "v1.5", None)
    # Its evaluation is complete; only a later attempt failed.
    write_failure(data, "Expert", "expert")
    write_failure(data, "Bad", "bad")
    build_warehouse(data.root)
    rows = data.query("select model, model_id, n_errors, reason from not_evaluated")
    assert [tuple(row.values()) for row in rows] == [
        ("Bad", "bad", 3, "Bad is down"),
        ("Down", "down-1", None, "Down is down"),
        ("v1.5", None, None, "v1.5 is down"),
    ]
    assert data.query("select model_id from leaderboard") == [{"model_id": "expert"}]


def test_repeats_of_a_sample_count_one_by_one(data: DataFolder) -> None:
    data.write_model("m")
    samples = [r for r in data.samples("pretexeval") if r["split"] == "test"]
    asked = [
        sample
        | {
            "model_id": "m",
            "prompt_key": digest(sample["text"], n=32),
            "repeat": repeat,
            "n_demonstrations_dropped": 0,
            "prompt_style": "completion",
            "sampling": "{}",
            "scoring_policy": policy,
            "prediction": None if repeat else sample["label"],
            "is_correct": None if repeat else True,
            "error": REASON if repeat else None,
        }
        for sample in samples
        for repeat in (0, 1)
        for policy in ("strict", "excluded")
    ]
    data.write_run(EDITION, "m", [], asked[::2], asked)
    build_warehouse(data.root)
    assert data.query("select n_samples, n_errors from not_evaluated") == [{"n_samples": 128, "n_errors": 64}]
