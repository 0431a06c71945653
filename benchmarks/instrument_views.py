"""The values of the views about designed models, beside the values that their rules imply."""

from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.designed_models import MODELS, Oracle
from benchmarks.expected_scores import Measured, expect_kinds, expect_scores
from warehouse.query import run_query

ACCURACY = "average_accuracy, ci_low, ci_high"
JOINT = "joint_accuracy, joint_ci_low, joint_ci_high"
MASTERY = "mastery, mastery_ci_low, mastery_ci_high"
COMPONENTS = "(select *, 'pretexeval' as method from component_ablation)"
NO_INTERVAL = ", null, null"
# (name of the measure in SQL, value and limits, rows).
QUERIES = (
    ("'average accuracy'", ACCURACY, "leaderboard"),
    ("'joint accuracy'", JOINT, "leaderboard"),
    ("'mastery'", MASTERY, "leaderboard"),
    ("'consistency'", "consistency" + NO_INTERVAL, "leaderboard"),
    ("'no answer'", "no_answer_rate" + NO_INTERVAL, "leaderboard"),
    ("'share of true'", "true_rate" + NO_INTERVAL, "leaderboard"),
    ("if(is_negated, 'accuracy, denied', 'accuracy, affirmed')", ACCURACY, "accuracy_by_polarity"),
    ("'accuracy, ' || transformation", ACCURACY, "accuracy_by_transformation"),
    ("'curve, n = ' || n", "joint_accuracy, ci_low, ci_high", "joint_accuracy_curve"),
    ("'ablation ' || ablation || ' ' || step || ', accuracy'", ACCURACY, "transformation_ablation"),
    ("'ablation ' || ablation || ' ' || step || ', joint'", JOINT, "transformation_ablation"),
    ("'ablation ' || ablation || ' ' || step || ', mastery'", MASTERY, "transformation_ablation"),
    ("'relation ' || relation || ', average accuracy'", ACCURACY, "accuracy_by_relation"),
    ("'relation ' || relation || ', joint accuracy'", JOINT, "accuracy_by_relation"),
    ("'relation ' || relation || ', mastery'", MASTERY, "accuracy_by_relation"),
    ("'component ' || component || ', average accuracy'", ACCURACY, COMPONENTS),
    ("'taught ' || taught_with || ', average accuracy'", ACCURACY, "known_mastery"),
    ("'taught ' || taught_with || ', mastery'", MASTERY, "known_mastery"),
)
SETTING = "method = 'pretexeval' and scoring_policy = 'strict' and repeat = 0"
# The differences in model_comparison, by measure.
COMPARED = {
    "average accuracy": "difference, difference_ci_low, difference_ci_high",
    "mastery": "mastery_difference, mastery_difference_ci_low, mastery_difference_ci_high",
}


@dataclass(frozen=True)
class Check:
    """A value of a view, the value that it should have, and whether they agree."""

    model: str
    measure: str
    expected: float
    measured: Measured
    agrees: bool


def check_views(root: Path, edition_id: str, oracle: Oracle) -> list[Check]:
    """Return a check of every value that the views give for the designed models on this edition.

    Raises:
        KeyError: a view has a value for which no expectation is written down.
    """
    expected = {model.name: _list_expected(model.name, oracle) for model in MODELS}
    is_exact = {model.name: model.is_exact for model in MODELS}
    where = f"{SETTING} and edition_id = '{edition_id}'"
    n_pairs = oracle.pairs.n_pairs
    checks: list[Check] = []
    for name, values, view in QUERIES:
        sql = f"select model, {name}, {values} from {view} where {where} group by all"
        for model, measure, value, low, high in run_query(root, sql)[1]:
            if value is not None and model in expected:
                measured = Measured(value, low, high, n_pairs)
                goal = expected[model][measure]
                agrees = measured.agrees(goal, is_exact=is_exact[model])
                checks.append(Check(model, measure, goal, measured, agrees))
    for measure, columns in COMPARED.items():
        sql = f"select model, other_model, {columns} from model_comparison where {where}"
        for one, other, value, low, high in run_query(root, sql)[1]:
            if one in expected and other in expected:
                measured = Measured(value, low, high, n_pairs)
                goal = expected[one][measure] - expected[other][measure]
                agrees = measured.agrees(goal, is_exact=is_exact[one] and is_exact[other])
                checks.append(Check(one, f"{measure}, less that of {other}", goal, measured, agrees))
    return checks


def _list_expected(name: str, oracle: Oracle) -> dict[str, float]:
    """Return measure -> expected value: those of the edition, of each relation, and of taught facts."""
    model = next(model for model in MODELS if model.name == name)
    expected = expect_scores(model, oracle.pairs)
    for component in ("full", "without_rephrasing"):
        expected[f"component {component}, average accuracy"] = expected["average accuracy"]
    expected["component without_transformations, average accuracy"] = expected["accuracy, none"]
    for relation, pairs in oracle.pairs_by_relation.items():
        scores = expect_scores(model, pairs)
        for measure in ("average accuracy", "joint accuracy", "mastery"):
            expected[f"relation {relation}, {measure}"] = scores[measure]
    for kind, taught_with in zip(model.find_kinds(oracle.pairs), model.taught_with, strict=False):
        scores = expect_kinds((replace(kind, share=1.0),))
        for measure in ("average accuracy", "mastery"):
            expected[f"taught {taught_with}, {measure}"] = scores[measure]
    return expected
