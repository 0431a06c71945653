"""What shortcuts score, and what models score above them."""

from collections import defaultdict
from itertools import product
from statistics import fmean

import pytest

from schemas.stages import GUESSES
from tests.support import simulated_models
from tests.support.data_folder import DataFolder, Rule
from tests.support.stage_rows import Row, digest, write_measured
from tests.warehouse.conftest import EDITION
from warehouse.publishing import build_warehouse

Score = tuple[float, ...]
"""Average accuracy, joint accuracy and mastery."""


def measure_shortcuts(data: DataFolder, relation: str | None) -> dict[str, tuple[float, ...]]:
    """Return, by baseline, the average accuracy, the joint accuracy of triplets and the mastery."""
    where = f"relation = '{relation}'" if relation else "relation is null"
    rows = data.query(f"select * from shortcut_baselines where {where} and method = 'pretexeval'")
    names = ("average_accuracy", "joint_accuracy", "mastery")
    return {row["baseline"]: tuple(row[name] for name in names) for row in rows}


def test_shortcuts_where_the_tail_gives_the_label_away(published: DataFolder) -> None:
    drugs = measure_shortcuts(published, "drugs")
    assert drugs["tail_frequency"] == (1.0, 1.0, 1.0)
    # Three pairs of symptoms are at 50 %, and one pair of drugs is at 100 %.
    whole = measure_shortcuts(published, None)
    assert whole["tail_frequency"] == (0.625, 0.625, 0.25)
    # The coin is expected to master a quarter of each pair of symptoms.
    assert whole["best"] == (0.625, 0.625, (3 / 4 + 1) / 4)
    (best,) = published.query(
        "select shortcuts from shortcut_baselines "
        "where baseline = 'best' and relation is null and method = 'pretexeval'"
    )
    assert best == {"shortcuts": ["consistent_coin", "tail_frequency"]}


SHORTCUTS = ("always_true", "consistent_coin", "overlap", "polarity")
"""Those that the tests below recompute; the names of the pairs leave the others without a mastered pair."""


def guess(triplet: Row) -> bool:
    """Return the guess of an overlap guesser: right for most triplets of signs, and for few of drugs."""
    n_right_of_ten = 8 if triplet["relation"] == "signs" else 3
    is_right = int(digest("guess", triplet["triplet_id"]), 16) % 10 < n_right_of_ten
    return bool(triplet["is_positive"]) == is_right


def half_expert(sample: Row) -> bool | None:
    """Know every second pair, and answer the others from the polarity."""
    knows = int(digest("half", sample["pair_id"]), 16) % 2 == 0
    return simulated_models.expert(sample) if knows else simulated_models.polarity(sample)


def mostly_false(sample: Row) -> bool | None:
    """Answer False, except for nothing to one sample in ten and True to one in 200."""
    draw = int(digest("false", sample["text"]), 16) % 200
    return None if draw < 20 else draw == 199


RULES = (simulated_models.expert, simulated_models.always_true, half_expert, mostly_false)


@pytest.fixture(scope="module")
def guessed(tmp_path_factory: pytest.TempPathFactory) -> DataFolder:
    """Return a published folder of 30 pairs in two relations, with guesses and four models."""
    data = DataFolder(tmp_path_factory.mktemp("guessed") / "data")
    for relation in ("drugs", "signs"):
        for k in range(15):
            data.add_pair(relation, f"head{k} {relation}", f"tail{k}", f"tail{(k + 1) % 15}")
    methods = ("pretexeval", "direct")
    data.write_edition(EDITION, methods)
    rows = [triplet | {"guesser": "overlap", "guess": guess(triplet)} for triplet in data.triplets()]
    write_measured(data.root, EDITION, GUESSES, rows)
    for rule in RULES:
        data.write_model(rule.__name__)
        data.write_answers(EDITION, rule.__name__, rule, methods=methods, policies=("strict", "excluded"))
    build_warehouse(data.root)
    return data


def group_pairs(samples: list[Row], relations: set[str]) -> dict[str, list[Row]]:
    """Return pair_id -> the samples of the pair, for the pairs of these relations."""
    pairs: dict[str, list[Row]] = defaultdict(list)
    for sample in samples:
        if sample["relation"] in relations:
            pairs[sample["pair_id"]].append(sample)
    return pairs


def score_shortcuts(data: DataFolder, relations: set[str], method: str) -> dict[str, list[Score]]:
    """Return baseline -> accuracy, joint accuracy and mastery of each pair, computed sample by sample."""
    scores: dict[str, list[Score]] = {name: [] for name in SHORTCUTS}
    for pair in group_pairs(data.samples(method), relations).values():
        for name in ("always_true", "polarity"):
            scores[name].append(score_pair(pair, getattr(simulated_models, name)))
        scores["overlap"].append(score_pair(pair, lambda s: (guess(s) == s["is_positive"]) == s["label"]))
        tossed = [score_pair(pair, toss(*coins)) for coins in product((True, False), repeat=2)]
        scores["consistent_coin"].append(combine(tossed))
    return scores


def toss(believes_false: bool, believes_true: bool) -> Rule:
    """Return the answers of somebody whose coins say this of the false and of the true triplet."""

    def answer(sample: Row) -> bool:
        believes = believes_true if sample["is_positive"] else believes_false
        return bool(believes == (sample["label"] == sample["is_positive"]))

    return answer


def score_pair(pair: list[Row], rule: Rule) -> Score:
    is_right = [rule(sample) == sample["label"] for sample in pair]
    halves = [
        all(right for right, sample in zip(is_right, pair, strict=True) if sample["is_positive"] is half)
        for half in (True, False)
    ]
    return fmean(is_right), fmean(halves), float(all(halves))


def combine(scores: list[Score]) -> Score:
    return tuple(map(fmean, zip(*scores, strict=True)))


@pytest.mark.parametrize("method", ["pretexeval", "direct"])
def test_shortcuts_are_as_computed_sample_by_sample(guessed: DataFolder, method: str) -> None:
    found = {
        (row["relation"], row["baseline"]): (row["average_accuracy"], row["joint_accuracy"], row["mastery"])
        for row in guessed.query(f"from shortcut_baselines where method = '{method}'")
    }
    best = []
    for relation in ("drugs", "signs"):
        scores = score_shortcuts(guessed, {relation}, method)
        for name in SHORTCUTS:
            assert found[relation, name] == pytest.approx(combine(scores[name])), name
        chosen = max(SHORTCUTS, key=lambda name: combine(scores[name])[2])
        assert chosen == ("overlap" if relation == "signs" else "consistent_coin")
        assert found[relation, "best"] == pytest.approx(combine(scores[chosen]))
        best += scores[chosen]
    assert found[None, "best"] == pytest.approx(combine(best))


def read_scores(data: DataFolder, view: str, model: str, where: str = "true") -> Row:
    (row,) = data.query(
        f"from {view} where model_id = '{model}' and method = 'pretexeval' "
        f"and scoring_policy = 'strict' and {where}"
    )
    return row


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("relation", ["drugs", "signs", None])
def test_mastery_above_the_best_shortcut_is_paired(
    guessed: DataFolder, rule: Rule, relation: str | None
) -> None:
    chosen = {"drugs": "consistent_coin", "signs": "overlap"}
    relations = {relation} if relation else set(chosen)
    of_shortcut = [
        score[2]
        for name in sorted(relations)
        for score in score_shortcuts(guessed, {name}, "pretexeval")[chosen[name]]
    ]
    of_model = [
        score_pair(pair, rule)[2] for pair in group_pairs(guessed.samples("pretexeval"), relations).values()
    ]
    if relation:
        row = read_scores(guessed, "accuracy_by_relation", rule.__name__, f"relation = '{relation}'")
    else:
        row = read_scores(guessed, "leaderboard", rule.__name__)
    assert row["best_shortcut"] == (chosen[relation] if relation else "consistent_coin + overlap")
    assert row["best_shortcut_mastery"] == pytest.approx(fmean(of_shortcut))
    difference = fmean(of_model) - fmean(of_shortcut)
    assert row["mastery_above_shortcut"] == pytest.approx(difference)
    low, high = row["mastery_above_shortcut_ci_low"], row["mastery_above_shortcut_ci_high"]
    assert low <= row["mastery_above_shortcut"] <= high
    assert high - low > 0.1
    if relation == "drugs":
        # The expected mastery of the coin is known, so only that of the model is uncertain.
        assert (low, high) == pytest.approx((row["mastery_ci_low"] - 0.25, row["mastery_ci_high"] - 0.25))


@pytest.mark.parametrize("policy", ["strict", "excluded"])
def test_the_share_of_true_is_of_the_answers_given(guessed: DataFolder, policy: str) -> None:
    answers = [mostly_false(sample) for sample in guessed.samples("pretexeval")]
    given = [answer for answer in answers if answer is not None]
    assert len(given) < len(answers)
    assert any(given)
    for view in ("leaderboard", "average_accuracy"):
        (row,) = guessed.query(
            f"from {view} where model_id = 'mostly_false' and method = 'pretexeval' "
            f"and scoring_policy = '{policy}'"
        )
        assert row["true_rate"] == pytest.approx(fmean(given))


def test_a_constant_answer_is_named(guessed: DataFolder) -> None:
    found = {
        row["model_id"]: row["constant_answer"]
        for row in guessed.query("from leaderboard where method = 'pretexeval' and scoring_policy = 'strict'")
    }
    assert found == {"always_true": True, "mostly_false": False, "expert": None, "half_expert": None}
