"""Designed models, whose rules imply each value of the views, and intervals on simulated editions."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from benchmarks.coverage import (
    CHANGES,
    Answering,
    Change,
    compare_with_t,
    measure_coverage,
    measure_equal_numbers,
)
from benchmarks.coverage import MEASURES as COVERED
from benchmarks.designed_models import MODELS, PairKind, Pairs, expect_scores
from benchmarks.enough import find_way, plan_pairs, render_row
from benchmarks.instrument import Measured, prove_instrument
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
# Their mastery is an expectation, from which a run differs by chance.
RANDOM = ("consistent-coin", "knows-half", "blind-to-negation", "random")


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


@pytest.mark.long
@pytest.mark.usefixtures("variables_of_server")
def test_every_value_of_the_views_is_as_expected(tmp_path: Path) -> None:
    tables = {"knowledge": KNOWLEDGE, "edition": {"seed": 1, "methods": METHODS}}
    proof = prove_instrument(tables, tmp_path)
    assert not [check for check in proof.checks if not check.agrees]
    assert {check.model for check in proof.checks} == set(TABLE)
    # 45 values of a model, those of both relations, and both kinds of taught facts of knows-half.
    assert len(proof.checks) >= len(MODELS) * (45 + 2 * 3) + 4
    of_scores = [c for c in proof.checks if c.measure in ("average accuracy", "joint accuracy", "mastery")]
    assert len(of_scores) == 3 * len(MODELS)
    missed = []
    for check in of_scores:
        low, high = check.measured.low, check.measured.high
        assert low is not None
        assert high is not None
        if not low - 1e-9 <= check.expected <= high + 1e-9:
            missed.append(check)
    # Of the scores of the models with coins, one in twenty is expected outside its 95 % interval.
    assert len(missed) <= 1, missed

    # The shortcut baselines score what models that use them score.
    columns = "average_accuracy, joint_accuracy, mastery"
    sql = f"select baseline, {columns} from shortcut_baselines where relation is null"
    baselines = {name: values for name, *values in run_query(tmp_path, f"{sql} and method = 'pretexeval'")[1]}
    assert baselines["consistent_coin"] == pytest.approx(TABLE["consistent-coin"][:3])
    sql = f"select model, constant_answer, mastery_above_shortcut, {columns} from leaderboard"
    named = {}
    for name, constant, above, *values in run_query(tmp_path, f"{sql} where method = 'pretexeval'")[1]:
        named[name] = constant
        if name == "always-true":
            assert values == pytest.approx(baselines["always_true"])
        if name == "name-overlap":
            # The baseline chooses the best threshold for each relation.
            assert values[0] <= baselines["word_overlap"][0]
        if name not in RANDOM:
            (model,) = [model for model in MODELS if model.name == name]
            mastery = expect_scores(model, proof.oracle.pairs)["mastery"]
            assert above == pytest.approx(mastery - baselines["best"][2]), name
    # Only a constant answerer is named as one.
    assert {name: answer for name, answer in named.items() if answer is not None} == {"always-true": True}
    page = (tmp_path / "report" / proof.edition_id / "index.html").read_text()
    assert all(model.name in page for model in MODELS)


@pytest.fixture(scope="module")
def pairs() -> pl.DataFrame:
    """Return 500 pairs of 21 relations, in which some heads and tails occur much more often than others."""
    rng, n = np.random.default_rng(3), 500
    relation = pl.Series(rng.zipf(1.4, n) % 21).rank("dense").cast(pl.String)
    head, tail, other = (np.floor(size * rng.random(n) ** 1.5).astype(int) for size in (250, 200, 200))
    columns = {"head": head, "tail": tail, "tail_other": other}
    return pl.DataFrame({"relation": relation, "pair_id": [str(k) for k in range(n)], **columns})


@pytest.mark.long
@pytest.mark.parametrize("accuracy", [0.7, 0.95])
def test_new_facts_are_covered_and_pairs_alone_are_too_narrow(pairs: pl.DataFrame, accuracy: float) -> None:
    """Of 400 editions, 95 % have a standard error of 1.1 points."""
    cell = measure_coverage(pairs, Answering(accuracy, 0.5, 0.05), 400, seed=1)
    assert cell.keys() == set(COVERED)
    for measure, (score, difference) in cell.items():
        assert score.n_effective > 100
        assert 0.92 <= score.covers <= 0.98, measure
        assert score.fixed_base_covers < 0.91, measure
        assert difference.covers >= 0.925, measure
        assert difference.fixed_base_covers < 0.945, measure


@pytest.mark.long
@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_differences_of_few_samples_are_covered_and_found(pairs: pl.DataFrame, change: Change) -> None:
    """Student's interval finds more only where it contains the truth too seldom."""
    way = Answering(0.5, 0.25, 0.05)
    covers, power, t_covers, t_power = compare_with_t(
        change.simulate(pairs, way, 400, seed=1), change.difference
    )
    assert covers >= 0.92
    assert power >= 0.9 * t_power or t_covers < 0.93


@pytest.mark.long
def test_equal_numbers_of_pairs_save_prompts_and_their_intervals_cover(pairs: pl.DataFrame) -> None:
    found = measure_equal_numbers(pairs, Answering(0.65, 0, 0.05, spread=0.6), 200, seed=1)
    assert len(found) == 4
    for key, (covers, _) in found.items():
        assert 0.9 <= covers <= 0.99, key
    assert found["average", "relations"][1] > 0.2


@pytest.mark.long
def test_asking_enough_saves_prompts_without_a_bias(pairs: pl.DataFrame) -> None:
    way = find_way(pairs, 0.26, 0.5, 0.2)
    row = render_row(pairs, plan_pairs(pairs), way, 40)
    mastery, _, _, prompts, bias, width, _, asked, *_ = (float(cell.rstrip("%")) for cell in row)
    assert mastery == pytest.approx(0.26, abs=0.04)
    assert 40 < prompts < 60
    assert abs(bias) < 0.5
    assert 1 <= width < 1.3
    assert 0 < asked <= 100
