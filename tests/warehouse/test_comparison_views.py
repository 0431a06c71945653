"""The difference of two models on the same pairs, and the smallest one that an edition can detect."""

import importlib
from itertools import combinations

import pytest
from scipy.stats import norm

from tests.support.data_folder import DataFolder, Rule
from tests.support.expected_views import (
    complete_triplets,
    expected_average,
    expected_difference,
    expected_mastery,
    judge_samples,
    pair_up,
)
from tests.support.two_models import first, publish_contest, second
from tests.warehouse.test_accuracy_views import EVERY_POLICY, RULES, pick

POWER = float((norm.ppf(0.975) + norm.ppf(0.8)) / norm.ppf(0.975) / 2)
MODELS = list(combinations(sorted(RULES, key=lambda r: r.__name__), 2))


@pytest.mark.parametrize(("one", "other"), MODELS, ids=lambda rule: rule.__name__)
@EVERY_POLICY
def test_model_comparison(published: DataFolder, one: Rule, other: Rule, policy: str) -> None:
    where = f"model_id = '{one.__name__}' and other_model_id = '{other.__name__}'"
    (row,) = published.query(
        f"from model_comparison where {where} and method = 'pretexeval' and scoring_policy = '{policy}'",
    )
    mine, theirs = (judge_samples(published, "pretexeval", rule, policy) for rule in (one, other))
    both = pair_up(mine, theirs)
    assert (row["n_pairs"], row["n_samples"]) == (len({o.pair for o in both}), sum(o.n for o in both))
    assert (row["no_answer_rate"], row["other_no_answer_rate"]) == pytest.approx(
        tuple(expected_average(rows)["no_answer_rate"] for rows in (mine, theirs))
    )
    if policy == "strict":
        assert pick(row, expected_average(mine)) == pytest.approx(expected_average(mine))
        assert pick(row, expected_mastery(mine, 8)) == pytest.approx(expected_mastery(mine, 8))
        assert row["other_ci_low"] == pytest.approx(expected_average(theirs)["ci_low"])
        assert row["other_mastery_ci_high"] == pytest.approx(expected_mastery(theirs, 8)["mastery_ci_high"])
    if len({o.pair for o in both}) > 1:
        expected = expected_difference(both)
        assert pick(row, expected) == pytest.approx(expected, abs=1e-7)
        assert row["average_accuracy"] - row["other_average_accuracy"] == pytest.approx(row["difference"])
    if not both:
        names = ["average_accuracy", "ci_low", "difference", "difference_ci_low", "mastery", "mcnemar_p"]
        names += ["mastery_ci_low", "other_mastery_ci_high", "mastery_difference_ci_low"]
        assert [row[name] for name in names] == [None] * 9


@pytest.fixture(scope="module")
def contest(tmp_path_factory: pytest.TempPathFactory) -> DataFolder:
    return publish_contest(tmp_path_factory.mktemp("contest") / "data")


def test_mcnemar_of_mastery(contest: DataFolder) -> None:
    (row,) = contest.query("from model_comparison where method = 'pretexeval'")
    tables = importlib.import_module("statsmodels.stats.contingency_tables")
    mastered = [
        {
            pair: len(triplets) == 2 and all(all(t) for t in triplets.values())
            for pair, triplets in complete_triplets(
                judge_samples(contest, "pretexeval", rule, "strict"), 8
            ).items()
        }
        for rule in (first, second)
    ]
    b = sum(mastered[0][pair] and not mastered[1][pair] for pair in mastered[0])
    c = sum(mastered[1][pair] and not mastered[0][pair] for pair in mastered[0])
    assert b > c > 0
    assert (row["n_mastered_alone"], row["n_other_mastered_alone"]) == (b, c)
    assert row["mcnemar_p"] == pytest.approx(tables.mcnemar([[0, b], [c, 0]], exact=True).pvalue)
    assert row["mcnemar_mid_p"] < row["mcnemar_p"]
    assert row["mastery_difference"] == pytest.approx((b - c) / 40)
    assert row["mastery_difference_ci_low"] < (b - c) / 40 < row["mastery_difference_ci_high"]
    # Here, Newcombe's method 10 without continuity correction agrees with Wald's within a few per cent.
    wald = norm.ppf(0.975) * (b + c - (b - c) ** 2 / 40) ** 0.5 / 40
    width = row["mastery_difference_fixed_base_ci_high"] - row["mastery_difference_fixed_base_ci_low"]
    assert width / 2 == pytest.approx(wald, rel=0.1)


def test_the_standard_error_is_that_of_a_regression_with_two_kinds_of_clusters(contest: DataFolder) -> None:
    """Regress the differences by sample on an intercept, with errors clustered by head and by tail.

    statsmodels does not leave clusters out, so its standard error is smaller, by 1/80 for 40 equal clusters.
    """
    (row,) = contest.query("from model_comparison where method = 'pretexeval'")
    mine, theirs = (judge_samples(contest, "pretexeval", rule, "strict") for rule in (first, second))
    differences = [a["is_correct"] - b["is_correct"] for a, b in zip(mine, theirs, strict=True)]
    groups = [[sorted({r[name] for r in mine}).index(r[name]) for r in mine] for name in ("head", "tail")]
    api = importlib.import_module("statsmodels.api")
    model = api.OLS(differences, [1.0] * len(differences))
    variances = [
        model.fit(cov_type="cluster", cov_kwds={"groups": one, "use_correction": False}).bse[0] ** 2
        for one in (*groups, [2000 * h + t for h, t in zip(*groups, strict=True)])
    ]
    two_way = max(variances[0] + variances[1] - variances[2], *variances[:2])
    assert row["difference"] == pytest.approx(sum(differences) / len(differences))
    assert row["difference_se"] == pytest.approx((two_way * 40 / 39) ** 0.5, rel=0.003)


def test_detectable_difference(contest: DataFolder) -> None:
    where = "where method = 'pretexeval'"
    rows = contest.query(f"from detectable_difference {where}")
    two = [("one", None), ("one", "two"), ("two", None)]
    assert [(r["model_id"], r["other_model_id"]) for r in rows] == two
    (paired,) = contest.query(f"from model_comparison {where}")
    width = paired["difference_ci_high"] - paired["difference_ci_low"]
    assert rows[1]["detectable_difference"] == pytest.approx(POWER * width)
    # The value is close to the textbook's (z₀.₉₇₅ + z₀.₈) · se.
    textbook = (norm.ppf(0.975) + norm.ppf(0.8)) * paired["difference_se"]
    assert rows[1]["detectable_difference"] == pytest.approx(textbook, rel=0.1)
    one, two_ = contest.query(f"from leaderboard {where} order by model_id")
    for row, alone in ((rows[0], one), (rows[2], two_)):
        expected = POWER * 2**0.5 * (alone["mastery_ci_high"] - alone["mastery_ci_low"])
        assert row["detectable_mastery_difference"] == pytest.approx(expected)
        assert (row["n_pairs"], row["n_complete_pairs"]) == (40, 40)
