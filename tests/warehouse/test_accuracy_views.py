"""Every view of the accuracy on samples, row by row, against a computation from the Parquet files."""

from collections import Counter
from collections.abc import Callable
from itertools import product
from math import comb, tanh
from statistics import fmean
from typing import Any

import pytest
from scipy.stats import binom, binomtest, norm

from schemas.columns import SCORING_POLICIES
from schemas.transformations import NAMES
from tests.support.data_folder import DataFolder
from tests.support.expected_views import (
    expected_difference,
    expected_scores,
    find_difference_error,
    group,
    limit_difference,
    match,
    observe_joint,
    observe_pairs,
    observe_triplets,
    pair_up,
    pick,
    read_predictions,
    select,
)
from tests.support.stage_rows import Row
from tests.warehouse.conftest import EDITION, KNOWN, METHODS, POLICIES, REASON, RULES
from warehouse.catalogue import VIEWS
from warehouse.publishing import build_warehouse

N_MODELS = len(RULES) + 1
PATHS = {
    "pretexeval": (["none"], ["none", "inv"], ["none", "inv", "dn", "inv_dn"], list(NAMES)),
    "pretexttrans": (["none"], ["none", "dn"], ["none", "inv", "dn", "inv_dn"], list(NAMES)),
}
ABLATION = [(name, step, forms) for name, path in PATHS.items() for step, forms in enumerate(path, 1)]
COMPONENTS = {
    "full": ("pretexeval", NAMES),
    "without_transformations": ("pretexeval", ("none",)),
    "without_rephrasing": ("prototype", NAMES),
}
PRETEXEVAL = "method = 'pretexeval' and scoring_policy = 'strict'"
POWER = float((norm.ppf(0.975) + norm.ppf(0.8)) / norm.ppf(0.975) / 2)
Settings = dict[tuple[object, ...], list[Row]]
"""Model, method, policy and repeat -> the predictions."""
Belongs = Callable[[Row, Row], bool]
MEASURES = ("average_accuracy", "joint_accuracy", "mastery")
DIFFERENCES = ("difference", "joint_difference", "mastery_difference")


def name_setting(row: Row) -> tuple[object, ...]:
    return tuple(row[key] for key in ("model_id", "method", "scoring_policy", "repeat"))


@pytest.fixture(scope="module")
def predictions(published: DataFolder) -> list[Row]:
    return read_predictions(published.root, EDITION)


@pytest.fixture(scope="module")
def settings(predictions: list[Row]) -> Settings:
    evaluated = (row for row in predictions if row["model_id"] != "bad")
    return {name: rows for name, rows in group(evaluated, name_setting).items() if isinstance(name, tuple)}


def assert_scores(row: Row, samples: list[Row], k: int) -> None:
    """Compare all scores of the row with those of its samples, of which a complete triplet has k."""
    expected = {name: v for name, v in expected_scores(samples, k).items() if name in row}
    assert {"average_accuracy", "average_accuracy_ci_low"} <= expected.keys()
    assert pick(row, expected) == pytest.approx(expected), row


def by(column: str) -> Belongs:
    return lambda row, sample: row[column] == sample[column]


# View -> whether a sample is one of those that its row is about, and the number of its rows by method.
PARTS: dict[str, tuple[Belongs, tuple[int, ...]]] = {
    "leaderboard": (lambda *_: True, (1, 1, 1, 1)),
    "accuracy_by_relation": (by("relation"), (2, 2, 2, 2)),
    "form_effects": (by("transformation"), (8, 8, 1, 0)),
    "ablations": (
        lambda row, sample: sample["transformation"] in row["transformations"],
        (len(ABLATION), len(ABLATION), 0, 0),
    ),
}


@pytest.mark.parametrize("view", PARTS)
def test_every_row_has_the_scores_of_its_samples(
    published: DataFolder, settings: Settings, view: str
) -> None:
    belongs, numbers = PARTS[view]
    rows = [row for row in published.query(f"from {view}") if not row.get("component")]
    assert Counter(row["method"] for row in rows) == {
        method: N_MODELS * len(POLICIES) * n for method, n in zip(METHODS, numbers, strict=True) if n
    }
    for row in rows:
        own = [sample for sample in settings[name_setting(row)] if belongs(row, sample)]
        assert {"n_samples", "n_pairs"} <= row.keys()
        n_forms = 1 if row["method"] == "direct" else 8
        assert_scores(row, own, len(row["transformations"]) if "transformations" in row else n_forms)


def test_the_sums_of_the_views_are_the_scores_that_the_intervals_belong_to(published: DataFolder) -> None:
    own = {measure: measure for measure in MEASURES}
    parts: tuple[tuple[str, str, dict[str, str]], ...] = (
        ("leaderboard", "grouping_by = 'edition'", own),
        ("accuracy_by_relation", "grouping_by = 'relation' and group_name = relation", own),
        (
            "joint_accuracy_curve",
            "grouping_by = 'choices' and group_position = n",
            {"joint_accuracy": "average_accuracy"},
        ),
    )
    key = "edition_id, model_id, method, scoring_policy, repeat"
    for view, condition, measures in parts:
        for measure, score in measures.items():
            sql = f"select {key}, added.{measure} as added, scores.{score} as scored from {view} as added"
            rows = published.query(f"{sql} inner join scores using ({key}) where {condition}")
            known = [row for row in rows if row["added"] is not None]
            assert len(known) > len(rows) / 2
            expected = pytest.approx([row["scored"] for row in known], abs=1e-12)
            assert [row["added"] for row in known] == expected


def test_the_columns_that_only_some_of_these_views_have(published: DataFolder, settings: Settings) -> None:
    board = published.query("from leaderboard")
    scores = {"mastery_ci_high", "joint_accuracy_ci_low", "true_rate", "consistency", "error_rate"}
    assert scores < board[0].keys()
    for row in board:
        if row["average_accuracy"] is not None:
            assert row["gain_over_random"] == row["average_accuracy"] - 0.5
    # A detectable difference is one of two models (model_comparison).
    assert not any("detectable" in name for name in board[0])
    ranks = {row["model_id"]: row["rank"] for row in published.query(f"from leaderboard where {PRETEXEVAL}")}
    assert (ranks["expert"], ranks["silent"]) == (1, max(ranks.values()))
    assert ranks["always_true"] == ranks["polarity"]
    ranked = published.query(f"from leaderboard where {PRETEXEVAL} order by rank")
    ordered: list[Any] = [(row["mastery"], row["average_accuracy"]) for row in ranked]
    assert ordered == sorted(ordered, reverse=True)
    assert ordered != sorted(ordered, key=lambda row: row[::-1], reverse=True)
    ablations = published.query(
        "select distinct ablation, step, transformations from ablations where component is null order by all"
    )
    assert [tuple(row.values()) for row in ablations] == ABLATION
    for model_id in ("always_true", "polarity", "erratic"):
        curve = published.query(
            f"from joint_accuracy_curve where {PRETEXEVAL} and model_id = '{model_id}' order by n"
        )
        assert [(row["n"], row["n_triplets"]) for row in curve] == [(n, 8) for n in range(1, 9)]
        whole = [o for o in observe_triplets(settings[model_id, "pretexeval", "strict", 0]) if o.n == 8]
        # All right are so many of the choices of n samples of a triplet.
        shares = [fmean(comb(o.gained, n) / comb(8, n) for o in whole) for n in range(1, 9)]
        assert [row["joint_accuracy"] for row in curve] == pytest.approx(shares)


def test_components_of_the_method_and_what_they_are_worth(published: DataFolder, settings: Settings) -> None:
    rows = published.query("from ablations where ablation = 'components'")
    assert len(rows) == N_MODELS * len(POLICIES) * len(COMPONENTS)
    for row in rows:
        method, forms = COMPONENTS[row["component"]]
        samples = settings[row["model_id"], method, row["scoring_policy"], 0]
        assert row["k"] == len(forms)
        parts = [sample for sample in samples if sample["transformation"] in forms]
        assert_scores(row, parts, len(forms))
        if row["scoring_policy"] != "strict" or row["model_id"] not in ("druggist", "erratic"):
            continue
        if row["component"] == "full":
            assert {row[name] for name in DIFFERENCES} == {None}
            continue
        own = {(r["triplet_id"], r["transformation"]): r for r in samples}
        asked = settings[row["model_id"], "pretexeval", "strict", 0]
        against = [own[r["triplet_id"], r["transformation"] if len(forms) > 1 else "none"] for r in asked]
        expected = expected_difference(pair_up(against, asked)) | {"n_shared_pairs": 5}
        for name, observe in (("joint_difference", observe_joint), ("mastery_difference", observe_pairs)):
            there, here = (
                {(o.pair, o.tails): o.gained for o in observe(side, k)}
                for side, k in ((asked, 8), (parts, len(forms)))
            )
            expected[name] = fmean(here[key] - there[key] for key in there)
        assert pick(row, expected) == pytest.approx(expected, abs=1e-7)
        assert all(row[f"{name}_ci_low"] < row[name] < row[f"{name}_ci_high"] for name in DIFFERENCES)


def test_groups_of_facts(published: DataFolder, settings: Settings) -> None:
    rows = published.query("from accuracy_by_group where method = 'pretexeval'")
    groups = {
        "fact": ("true fact", "false twin"),
        "head commonness": ("once", "2 to 4 times"),
        "negative": ("not in the base", "asserted"),
        "release": ("2021", "2019B", "new"),
        "tail commonness": ("once",),
        "taught": ("pool", "other", "nothing"),
    }
    assert {(row["grouping_by"], row["group_name"], row["group_position"]) for row in rows} == {
        (name, member, place) for name, members in groups.items() for place, member in enumerate(members, 1)
    }
    assert {row["model_id"] for row in select(rows, grouping_by="taught")} == {"erratic"}
    heads = {(s["pair_id"], s["head"].lower()) for s in settings[name_setting(rows[0])]}
    n_with = Counter(head for _, head in heads)
    belongs: dict[str, Belongs] = {
        "fact": lambda row, s: s["is_positive"] == (row["group_name"] == "true fact"),
        "head commonness": lambda row, s: (n_with[s["head"].lower()] > 1) == (row["group_position"] == 2),
        "negative": lambda row, s: s["is_asserted"] == (row["group_name"] == "asserted"),
        "release": lambda row, s: s["first_release"] == row["group_name"],
        "tail commonness": lambda *_: True,
        "taught": lambda row, s: (
            (KNOWN.get(s["head"], "nothing") if s["relation"] == "symptoms" else "nothing")
            == row["group_name"]
        ),
    }
    for row in rows:
        own = [s for s in settings[name_setting(row)] if belongs[row["grouping_by"]](row, s)]
        if row["grouping_by"] != "fact":
            assert_scores(row, own, 8)
            false = [s["is_correct"] for s in own if not s["is_positive"] and s["error"] is None]
            if row["scoring_policy"] == "strict" and row["grouping_by"] != "taught":
                assert row["negative_accuracy"] == pytest.approx(sum(false) / len(false))
            continue
        # A half of a pair has no mastery.
        expected = {name: v for name, v in expected_scores(own, 8).items() if name in row and v is not None}
        assert pick(row, expected) == pytest.approx(expected, rel=1e-5), row
        answers = [s for s in own if s["has_answer"] and s["error"] is None]
        affirming = [s["prediction"] is not s["is_negated"] for s in answers]
        assert row["affirmed_rate"] == (pytest.approx(sum(affirming) / len(affirming)) if answers else None)
        # Every answer has the same log-probabilities, -0.1 and -2.5, and denials turn them. One triplet
        # has one form only.
        assert row["probability_range"] == pytest.approx(tanh(1.2), rel=0.03)


@pytest.mark.parametrize("policy", POLICIES)
def test_effects_of_forms(published: DataFolder, settings: Settings, policy: str) -> None:
    where = f"where method = 'pretexeval' and scoring_policy = '{policy}'"
    rows = published.query(f"from form_effects {where} and transformation <> 'none'")
    assert rows
    for row in rows:
        own = settings[name_setting(row)]
        plain = {s["triplet_id"]: s for s in own if s["transformation"] == "none"}
        form = [s for s in own if s["transformation"] == row["transformation"] and s["triplet_id"] in plain]
        both = pair_up(form, [plain[s["triplet_id"]] for s in form])
        if not both:
            assert row["difference"] is row["p_value"] is None
            continue
        expected = expected_difference(both)
        assert pick(row, expected) == pytest.approx(expected, abs=1e-6), row
        if row["difference"]:
            at_level = limit_difference(both, level=row["p_value"])
            assert min(map(abs, at_level)) == pytest.approx(0, abs=1e-6)
        else:
            assert row["p_value"] == 1
    for values in group(rows, lambda row: row["model_id"]).values():
        p = sorted(row["p_value"] for row in values if row["p_value"] is not None)
        adjusted = [max((len(p) - j) * p[j] for j in range(i + 1)) for i in range(len(p))]
        found = sorted(row["holm_p_value"] for row in values if row["holm_p_value"] is not None)
        assert found == pytest.approx([min(1, a) for a in adjusted])


def test_every_two_models_are_compared_on_what_both_grade(
    published: DataFolder, predictions: list[Row]
) -> None:
    rows = {
        (row["model_id"], row["other_model_id"], row["scoring_policy"]): row
        for row in published.query("from model_comparison where method = 'pretexeval'")
    }
    models = [row["model_id"] for row in published.query("select distinct model_id from leaderboard")]
    assert len(models) == N_MODELS
    samples = select(predictions, method="pretexeval")
    own = group(samples, lambda row: (row["model_id"], row["scoring_policy"]))
    unscored: list[str] = []
    for mine, theirs, policy in product(models, models, SCORING_POLICIES):
        both = pair_up(own.get((mine, policy), []), own.get((theirs, policy), []))
        if mine >= theirs or not both:
            assert (mine, theirs, policy) not in rows
            continue
        row, expected = rows[mine, theirs, policy], expected_difference(both)
        expected |= {"difference_se": find_difference_error(both)}
        assert (row["n_pairs"], row["n_samples"]) == (len({o.pair for o in both}), sum(o.n for o in both))
        assert pick(row, expected) == pytest.approx(expected, abs=1e-7), row
        assert row["average_accuracy"] - row["other_average_accuracy"] == pytest.approx(row["difference"])
        if row["mastery"] is None:
            unscored.append(policy)
            assert row["n_complete_pairs"] == (None if policy == "excluded" else 0)
    assert "excluded" in unscored


def test_every_measure_of_two_models_and_mastery_pair_by_pair(
    published: DataFolder, predictions: list[Row]
) -> None:
    names = ("dermatologist", "druggist")
    where = f"where {PRETEXEVAL} and (model_id, other_model_id) = {names}"
    rows = published.query(f"from storage.paired_models {where} order by relation nulls last, measure")
    keys = list(product(("drugs", "symptoms", None), MEASURES))
    assert [(row["relation"], row["measure"]) for row in rows] == keys
    for row in rows:
        of = {"method": "pretexeval", "scoring_policy": "strict"}
        of |= {"relation": row["relation"]} if row["relation"] else {}
        sides = [select(predictions, model_id=name, **of) for name in names]
        matched = {
            "average_accuracy": pair_up(*sides),
            "joint_accuracy": match(*(observe_joint(side, 8) for side in sides)),
            "mastery": match(*(observe_pairs(side, 8) for side in sides)),
        }[row["measure"]]
        score, other = (expected_scores(side, 8)[row["measure"]] for side in sides)
        expected = expected_difference(matched) | {"score": score, "other_score": other}
        expected |= {"n_observations": sum(o.n for o in matched)}
        assert pick(row, expected) == pytest.approx(expected, abs=1e-7)
    # The last row is about the mastery of all pairs.
    b, c = sum(o.gained for o in matched), sum(o.lost for o in matched)
    assert (b, c) == (1, 2)
    (row,) = published.query(f"from model_comparison {where}")
    p_value = binomtest(b, b + c).pvalue
    low, high = limit_difference(matched, is_base_fixed=True)
    expected = {"n_mastered_alone": b, "n_other_mastered_alone": c, "mcnemar_p": p_value}
    expected |= {"mcnemar_mid_p": p_value - binom.pmf(b, b + c, 0.5), "mastery_difference": (b - c) / 4}
    expected |= {"mastery_difference_fixed_base_ci_low": low, "mastery_difference_fixed_base_ci_high": high}
    expected |= {"detectable_difference": POWER * (row["difference_ci_high"] - row["difference_ci_low"])}
    assert pick(row, expected) == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("method", ["direct", "prototype", "llmeval"])
def test_methods_are_compared_on_what_both_grade(
    published: DataFolder, settings: Settings, method: str
) -> None:
    """One answer by `direct` is compared with each of eight; a sample of one triplet is missing."""
    mine = settings["erratic", "pretexeval", "strict", 0]
    others = {(r["triplet_id"], r["sample_index"]): r for r in settings["erratic", method, "strict", 0]}
    theirs = [others[r["triplet_id"], 0 if method == "direct" else r["sample_index"]] for r in mine]
    score, other = (sum(r["is_correct"] for r in side) / len(mine) for side in (mine, theirs))
    where = "where model_id = 'erratic' and scoring_policy = 'strict'"
    (row,) = published.query(f"from method_comparison {where} and method = '{method}'")
    assert row["n_samples"] == len(mine)
    assert (row["average_accuracy"], row["other_average_accuracy"]) == pytest.approx((score, other))
    assert row["difference_ci_low"] < row["difference"] < row["difference_ci_high"]
    expected = 1 - (score - 0.5) / (other - 0.5) if other > 0.5 else None
    assert row["relative_loss"] == (expected if expected is None else pytest.approx(expected))
    if method == "prototype":
        (ablated,) = published.query(f"from ablations {where} and component = 'without_rephrasing'")
        names = ("difference", "difference_ci_low", "difference_ci_high")
        swapped = ("difference", "difference_ci_high", "difference_ci_low")
        assert [row[name] for name in names] == pytest.approx([-ablated[name] for name in swapped])


def test_pairs_count_what_has_no_answer_and_a_failed_prompt_has_no_verdict(
    published: DataFolder, predictions: list[Row]
) -> None:
    rows = published.query(f"from pair_details where {PRETEXEVAL} and model_id = 'erratic'")
    own = select(predictions, model_id="erratic", method="pretexeval", scoring_policy="strict")
    assert any(row["n_no_answer"] for row in rows)
    assert {row["pair_id"]: (row["n_asked"], row["n_no_answer"]) for row in rows} == {
        pair: (len(samples), len(select(samples, has_answer=False)))
        for pair, samples in group(own, lambda sample: sample["pair_id"]).items()
    }
    where = f"where model_id = 'failing' and {PRETEXEVAL}"
    rows = published.query(f"from prediction_details {where} and is_failed")
    found = [(row["prediction"], row["is_correct"], row["has_answer"], row["error"]) for row in rows]
    assert found == [(None, None, False, REASON)] * 3


def test_every_view_counts_failed_prompts_and_leaves_out_a_model_with_too_many(published: DataFolder) -> None:
    # These views list a model whether or not it counts as evaluated.
    unscored = {"prediction_details", "cost", "not_evaluated"}
    # One failed under `none`, one under `inv`, and one under `dn`.
    parts, n_counted = {"form_effects": 1}, 0
    for view in set(VIEWS) - unscored:
        columns = {row["column_name"] for row in published.query(f"describe {view}")}
        if {"model_id", "method"} <= columns:
            n_errors = "max(n_errors)" if "n_errors" in columns else "null"
            rows = published.query(
                f"select model_id, method, {n_errors} as n from {view} "
                "where model_id in ('bad', 'failing') group by all"
            )
            assert select(rows, model_id="bad") == []
            (n,) = {row["n"] for row in select(rows, method="pretexeval")} or {None}
            assert n in (None, parts.get(view, 3)), view
            n_counted += n is not None
    assert n_counted > 5
    (row,) = published.query("from not_evaluated")
    assert (row["model_id"], row["error_rate"]) == ("bad", row["n_errors"] / row["n_predictions"])
    assert row["reason"].endswith(f"more than max_error_rate = 0.01 allows; most often: {REASON}")


def test_editions_repeats_and_splits_are_kept_apart(data: DataFolder) -> None:
    other = DataFolder(data.root, pairs=[(*pair[:4], "test") for pair in data.pairs])
    data.write_edition("tiny-seed2-00000002")
    asked: list[str] = []

    def answer(sample: Row) -> bool:
        asked.append(sample["text"])
        return bool(sample["label"]) == (asked.count(sample["text"]) == 1)

    other.write_answers("tiny-seed2-00000002", "expert", answer, n_repeats=2)
    build_warehouse(data.root)
    sql = "select edition_id, repeat, n_samples, n_pairs, average_accuracy from leaderboard"
    assert [tuple(row.values()) for row in data.query(sql)] == [
        (EDITION, 0, 64, 4, 1.0),
        ("tiny-seed2-00000002", 0, 64, 4, 1.0),
        ("tiny-seed2-00000002", 1, 64, 4, 0.0),
    ]
