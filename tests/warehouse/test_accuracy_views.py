import pytest

from schemas.transformations import NAMES
from tests.support import simulated_models
from tests.support.data_folder import DataFolder, Rule
from tests.support.expected_views import (
    expected_average,
    expected_joint,
    expected_mastery,
    group,
    judge_samples,
)
from tests.support.stage_rows import Row, digest
from tests.warehouse.conftest import EDITION, fill_pairs
from warehouse.publishing import build_warehouse

RULES = (
    simulated_models.expert,
    simulated_models.always_true,
    simulated_models.polarity,
    simulated_models.silent,
    simulated_models.erratic,
)
EVERY_RULE = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
EVERY_POLICY = pytest.mark.parametrize("policy", ["strict", "excluded"])
# Wilson's interval, by scipy, where 4 of 4, 2 of 4 and 1 of 1 are right.
ALL_OF_4 = (0.510109, 1.0)
HALF_OF_4 = (0.150039, 0.849961)


def query_view(data: DataFolder, view: str, rule: Rule, policy: str, method: str = "pretexeval") -> list[Row]:
    where = f"model_id = '{rule.__name__}' and scoring_policy = '{policy}'"
    return data.query(f"select * from {view} where {where} and method = '{method}'")


def pick(row: Row, expected: Row) -> Row:
    return {name: row[name] for name in expected}


@EVERY_RULE
@EVERY_POLICY
def test_average_accuracy(published: DataFolder, rule: Rule, policy: str) -> None:
    (row,) = query_view(published, "average_accuracy", rule, policy)
    expected = expected_average(judge_samples(published, "pretexeval", rule, policy))
    assert pick(row, expected) == pytest.approx(expected)
    assert (row["edition_id"], row["model"]) == (EDITION, rule.__name__.title())


def test_average_accuracy_by_hand(published: DataFolder) -> None:
    def look(rule: Rule, policy: str = "strict") -> list[object]:
        (row,) = query_view(published, "average_accuracy", rule, policy)
        names = ("n_samples", "average_accuracy", "ci_low", "ci_high", "no_answer_rate")
        return [row[name] for name in names]

    assert look(simulated_models.expert) == pytest.approx([64, 1.0, *ALL_OF_4, 0.0], abs=1e-6)
    assert look(simulated_models.always_true) == pytest.approx([64, 0.5, *HALF_OF_4, 0.0], abs=1e-6)
    assert look(simulated_models.polarity) == pytest.approx([64, 0.5, *HALF_OF_4, 0.0], abs=1e-6)
    assert look(simulated_models.silent) == pytest.approx(
        [64, 0.0, 1 - ALL_OF_4[1], 1 - ALL_OF_4[0], 1.0], abs=1e-6
    )
    assert look(simulated_models.silent, "excluded") == [0, None, None, None, 1.0]


def test_gain_over_random(published: DataFolder) -> None:
    gains = {
        rule: query_view(published, "average_accuracy", rule, "strict")[0]["gain_over_random"]
        for rule in (simulated_models.expert, simulated_models.always_true, simulated_models.silent)
    }
    assert gains == {
        simulated_models.expert: 0.5,
        simulated_models.always_true: 0.0,
        simulated_models.silent: -0.5,
    }


@EVERY_RULE
@EVERY_POLICY
def test_accuracy_by_relation(published: DataFolder, rule: Rule, policy: str) -> None:
    rows = query_view(published, "accuracy_by_relation", rule, policy)
    samples = group(judge_samples(published, "pretexeval", rule, policy), lambda r: r["relation"])
    assert [row["relation"] for row in rows] == ["drugs", "symptoms"]
    for row in rows:
        own = samples[row["relation"]]
        expected = expected_average(own) | expected_joint(own, 8) | expected_mastery(own, 8)
        assert pick(row, expected) == pytest.approx(expected)


@EVERY_RULE
@EVERY_POLICY
def test_accuracy_by_transformation(published: DataFolder, rule: Rule, policy: str) -> None:
    rows = query_view(published, "accuracy_by_transformation", rule, policy)
    samples = group(judge_samples(published, "pretexeval", rule, policy), lambda r: r["transformation"])
    assert [row["transformation"] for row in rows] == list(NAMES)
    for row in rows:
        expected = expected_average(samples[row["transformation"]])
        assert pick(row, expected) == pytest.approx(expected)
        assert row["is_negated"] == row["transformation"].endswith("dn")


@EVERY_RULE
@EVERY_POLICY
def test_accuracy_by_polarity(published: DataFolder, rule: Rule, policy: str) -> None:
    rows = query_view(published, "accuracy_by_polarity", rule, policy)
    samples = group(
        judge_samples(published, "pretexeval", rule, policy),
        lambda r: r["label"] != r["is_positive"],
    )
    assert [row["is_negated"] for row in rows] == [False, True]
    for row in rows:
        expected = expected_average(samples[row["is_negated"]])
        assert pick(row, expected) == pytest.approx(expected)


ABLATION_STEPS = [
    ("pretexeval", 1, ["none"]),
    ("pretexeval", 2, ["none", "inv"]),
    ("pretexeval", 3, ["none", "inv", "dn", "inv_dn"]),
    ("pretexeval", 4, list(NAMES)),
    ("pretexttrans", 1, ["none"]),
    ("pretexttrans", 2, ["none", "dn"]),
    ("pretexttrans", 3, ["none", "inv", "dn", "inv_dn"]),
    ("pretexttrans", 4, list(NAMES)),
]


@EVERY_RULE
@EVERY_POLICY
def test_transformation_ablation(published: DataFolder, rule: Rule, policy: str) -> None:
    rows = query_view(published, "transformation_ablation", rule, policy)
    samples = judge_samples(published, "pretexeval", rule, policy)
    steps = [(row["ablation"], row["step"], row["transformations"]) for row in rows]
    assert steps == ABLATION_STEPS
    for row in rows:
        own = [r for r in samples if r["transformation"] in row["transformations"]]
        k = len(row["transformations"])
        expected = expected_average(own) | expected_joint(own, k) | expected_mastery(own, k)
        assert pick(row, expected) == pytest.approx(expected)


def test_editions_with_the_same_samples_are_kept_apart(data: DataFolder) -> None:
    data.write_edition("tiny-seed2-00000002")
    data.write_answers("tiny-seed2-00000002", "expert", simulated_models.always_true)
    build_warehouse(data.root)
    sql = "select edition_id, n_samples, average_accuracy from average_accuracy"
    assert [tuple(row.values()) for row in data.query(sql)] == [
        (EDITION, 64, 1.0),
        ("tiny-seed2-00000002", 64, 0.5),
    ]


def test_repeats_are_kept_apart(data: DataFolder) -> None:
    samples = [r for r in data.samples("pretexeval") if r["split"] == "test"]
    asked = [
        r
        | {
            "model_id": "expert",
            "prompt_key": digest(r["text"], n=32),
            "repeat": repeat,
            "n_demonstrations_dropped": repeat,
            "prompt_style": "completion",
            "sampling": "{}",
            "scoring_policy": "strict",
            "prediction": r["label"] if repeat == 0 else not r["label"],
            "is_correct": repeat == 0,
        }
        for r in samples
        for repeat in (0, 1)
    ]
    data.write_run(EDITION, "expert", [], asked, asked)
    build_warehouse(data.root)
    sql = "select repeat, n_samples, average_accuracy from average_accuracy order by repeat"
    assert [tuple(row.values()) for row in data.query(sql)] == [(0, 64, 1.0), (1, 64, 0.0)]
    dropped = "select distinct repeat, n_demonstrations_dropped as n from predictions order by n"
    assert [tuple(row.values()) for row in data.query(dropped)] == [(0, 0), (1, 1)]


def test_demonstrations_are_not_counted(data: DataFolder) -> None:
    everything = fill_pairs(DataFolder(data.root.parent / "demonstrations"))
    everything.pairs = [(*pair[:4], "test") for pair in everything.pairs]
    everything.root = data.root
    everything.write_answers(EDITION, "expert", simulated_models.always_true)
    build_warehouse(data.root)
    assert data.query("select count(*) as n from predictions") == [{"n": 80}]
    assert data.query("select n_samples, n_pairs from average_accuracy") == [{"n_samples": 64, "n_pairs": 4}]
