"""Designed models: what their rules imply, and that every view of a real run gives just that."""

from pathlib import Path

import pytest

from benchmarks.designed_models import MODELS, DesignedModel, PairKind, Pairs, expect_scores
from benchmarks.instrument import Measured, Proof, prove_instrument
from warehouse.query import run_query

# 1,000 pairs, of which the half is known; the overlap of names is right of a quarter of the pairs.
PAIRS = Pairs(
    1000,
    frozenset(("r", f"head {k}") for k in range(500)),
    (PairKind(0.25, (1.0,) * 8, (1.0,) * 8), PairKind(0.75, (1.0,) * 8, (0.0,) * 8)),
)
# Written down from the rules, by hand: average accuracy, joint accuracy, mastery, consistency, share of true,
# and the curve at n = 2.
TABLE = {
    "knows-all": (1, 1, 1, 1, 1 / 2, 1),
    "consistent-coin": (1 / 2, 1 / 2, 1 / 4, 1, 1 / 2, 1 / 2),
    "name-overlap": (5 / 8, 5 / 8, 1 / 4, 1, 1 / 2, 5 / 8),
    "knows-half": (3 / 4, (1 + 2**-8) / 2, (1 + 2**-16) / 2, (1 + 2**-7) / 2, 1 / 2, 5 / 8),
    # Of eight answers to a triplet, four are right: 4/8 · 3/7 of the draws of two.
    "blind-to-negation": (1 / 2, 0, 0, 0, 1 / 2, 3 / 14),
    "blind-to-inversion": (3 / 4, 1 / 2, 0, 1 / 2, 1 / 2, (1 + 3 / 14) / 2),
    "always-true": (1 / 2, 0, 0, 0, 1, 3 / 14),
    "random": (1 / 2, 2**-8, 2**-16, 2**-7, 1 / 2, 1 / 4),
    "silent": (0, 0, 0, 1, None, 0),
}
MEASURES = ("average accuracy", "joint accuracy", "mastery", "consistency", "share of true", "curve, n = 2")
KNOWLEDGE = {"relations": ["affected_sites", "may_treat"]}
METHODS = ["pretexeval", "prototype"]


def find_model(name: str) -> DesignedModel:
    return next(model for model in MODELS if model.name == name)


def test_the_expected_values_are_those_of_the_table() -> None:
    for model in MODELS:
        scores = expect_scores(model, PAIRS)
        values = tuple(scores.get(measure) for measure in MEASURES)
        assert values == pytest.approx(TABLE[model.name]), model.name


def test_a_value_agrees_only_near_the_expected_one() -> None:
    measured = Measured(0.5, 0.4, 0.6, n_pairs=100)
    assert measured.agrees(0.69, is_exact=False)
    assert not measured.agrees(0.71, is_exact=False)
    assert not measured.agrees(0.5001, is_exact=True)
    assert not Measured(0.5, None, None, n_pairs=100).agrees(0.71, is_exact=False)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("designed")


@pytest.fixture(scope="module")
def proof(root: Path, prefect_server: dict[str, str]) -> Proof:
    tables = {"knowledge": KNOWLEDGE, "edition": {"seed": 1, "methods": METHODS}}
    with pytest.MonkeyPatch.context() as patch:
        for variable, value in prefect_server.items():
            patch.setenv(variable, value)
        return prove_instrument(tables, root)


@pytest.mark.long
def test_every_value_of_the_views_is_as_expected(proof: Proof) -> None:
    assert not [check for check in proof.checks if not check.agrees]
    assert {check.model for check in proof.checks} == set(TABLE)
    # 45 values of a model, those of both relations, and both kinds of taught facts of knows-half.
    assert len(proof.checks) >= len(MODELS) * (45 + 2 * 3) + 4


@pytest.mark.long
def test_mastery_and_accuracy_lie_in_their_intervals(proof: Proof) -> None:
    checks = [c for c in proof.checks if c.measure in ("average accuracy", "joint accuracy", "mastery")]
    assert len(checks) == 3 * len(MODELS)
    for check in checks:
        assert check.measured.low is not None
        assert check.measured.high is not None
        assert check.measured.low - 1e-9 <= check.expected <= check.measured.high + 1e-9, check


@pytest.mark.long
def test_the_shortcut_baselines_score_what_models_that_use_them_score(proof: Proof, root: Path) -> None:
    columns = "average_accuracy, joint_accuracy, mastery"
    by_model = f"select model, {columns} from leaderboard where method = 'pretexeval'"
    by_baseline = (
        f"select baseline, {columns} from shortcut_baselines where method = 'pretexeval' and relation is null"
    )
    models = {name: values for name, *values in run_query(root, by_model)[1]}
    baselines = {name: values for name, *values in run_query(root, by_baseline)[1]}
    assert models["always-true"] == pytest.approx(baselines["always_true"])
    assert baselines["consistent_coin"] == pytest.approx(TABLE["consistent-coin"][:3])
    # The baseline chooses the best threshold for each relation.
    assert models["name-overlap"][0] <= baselines["word_overlap"][0]


@pytest.mark.long
def test_only_a_constant_answerer_is_named_as_one(proof: Proof, root: Path) -> None:
    sql = "select model, constant_answer from leaderboard where method = 'pretexeval'"
    named = {model: answer for model, answer in run_query(root, sql)[1] if answer is not None}
    assert named == {"always-true": True}


@pytest.mark.long
def test_mastery_above_the_shortcut_is_mastery_less_that_of_the_best_shortcut(
    proof: Proof, root: Path
) -> None:
    best = "select mastery from shortcut_baselines where baseline = 'best' and relation is null"
    ((shortcut,),) = run_query(root, f"{best} and method = 'pretexeval'")[1]
    sql = "select model, mastery_above_shortcut from leaderboard where method = 'pretexeval'"
    above: dict[str, float] = dict(run_query(root, sql)[1])
    for name in ("knows-all", "name-overlap", "blind-to-inversion", "always-true", "silent"):
        mastery = expect_scores(find_model(name), proof.oracle.pairs)["mastery"]
        assert above[name] == pytest.approx(mastery - shortcut)


@pytest.mark.long
def test_the_page_shows_all_designed_models(proof: Proof, root: Path) -> None:
    page = (root / "report" / proof.edition_id / "index.html").read_text()
    assert all(model.name in page for model in MODELS)
