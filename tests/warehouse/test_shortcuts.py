"""What shortcuts score, and what models score above them."""

from itertools import product
from statistics import fmean

import pytest

from schemas.stages import GUESSES
from tests.support import data_folder
from tests.support.data_folder import DataFolder, Rule
from tests.support.expected_views import group, select
from tests.support.stage_rows import Row, digest, write_measured
from tests.warehouse.conftest import EDITION
from warehouse.publishing import build_warehouse

Score = tuple[float, ...]
"""Average accuracy, joint accuracy and mastery."""
SHORTCUTS = ("always_true", "consistent_coin", "denial", "overlap", "polarity")
"""Those that the tests below recompute; the names of the pairs leave the others without a mastered pair."""
N_PAIRS = 15
"""Pairs of each relation."""
CHOSEN = {"drugs": "consistent_coin", "signs": "overlap"}
STRICT = "method = 'pretexeval' and scoring_policy = 'strict'"


def test_shortcuts_where_the_tail_gives_the_label_away(data: DataFolder) -> None:
    """Three pairs of symptoms are at 50 %, and one pair of drugs is at 100 %."""
    build_warehouse(data.root)
    rows = data.query("from shortcut_baselines where relation is null")
    scores = ("average_accuracy", "joint_accuracy", "mastery")
    found = {row["baseline"]: tuple(row[name] for name in scores) for row in rows}
    assert found["tail_frequency"] == (0.625, 0.625, 0.25)
    # The coin is expected to master a quarter of each pair of symptoms.
    assert found["best"] == (0.625, 0.625, (3 / 4 + 1) / 4)
    (best,) = select(rows, baseline="best")
    assert best["shortcuts"] == ["consistent_coin", "tail_frequency"]


def guess(triplet: Row) -> bool:
    """Return the guess of an overlap guesser: right for most triplets of signs, and for few of drugs."""
    n_right_of_ten = 8 if triplet["relation"] == "signs" else 3
    is_right = int(digest("guess", triplet["triplet_id"]), 16) % 10 < n_right_of_ten
    return bool(triplet["is_positive"]) == is_right


def half_expert(sample: Row) -> bool | None:
    knows = int(digest("half", sample["pair_id"]), 16) % 2 == 0
    return data_folder.expert(sample) if knows else data_folder.polarity(sample)


def mostly_false(sample: Row) -> bool | None:
    draw = int(digest("false", sample["text"]), 16) % 200
    return None if draw < 20 else draw == 199


RULES = (data_folder.expert, data_folder.always_true, half_expert, mostly_false)


@pytest.fixture(scope="module")
def guessed(tmp_path_factory: pytest.TempPathFactory) -> DataFolder:
    """Return a published folder of 30 pairs in two relations, with guesses and four models."""
    data = DataFolder(tmp_path_factory.mktemp("guessed") / "data")
    for relation in CHOSEN:
        for k in range(N_PAIRS):
            data.add_pair(relation, f"head{k} {relation}", f"tail{k}", f"tail{(k + 1) % N_PAIRS}")
    methods = ("pretexeval", "direct")
    data.write_edition(EDITION, methods)
    rows = [
        triplet | {"overlap_guess": guess(triplet), "neighbour_guess": triplet["is_positive"]}
        for triplet in data.triplets()
    ]
    write_measured(data.root, EDITION, GUESSES, rows)
    for rule in RULES:
        data.write_answers(EDITION, rule.__name__, rule, methods=methods)
    build_warehouse(data.root)
    return data


def score_pairs(data: DataFolder, relation: str, method: str, rule: Rule) -> list[Score]:
    pairs = group(select(data.samples(method), relation=relation), lambda sample: sample["pair_id"])
    scores: list[Score] = []
    for pair in pairs.values():
        right = {
            half: [rule(s) == s["label"] for s in select(pair, is_positive=half)] for half in (True, False)
        }
        halves = [all(answers) for answers in right.values()]
        scores.append((fmean(right[True] + right[False]), fmean(halves), float(all(halves))))
    return scores


def combine(scores: list[Score]) -> Score:
    return tuple(map(fmean, zip(*scores, strict=True)))


def score_shortcut(data: DataFolder, relation: str, method: str, name: str) -> list[Score]:
    if name == "consistent_coin":
        # The tosses about both triplets of a pair are right in a quarter of the cases.
        return [(1 / 2, 1 / 2, 1 / 4)] * N_PAIRS
    if name == "overlap":
        return score_pairs(data, relation, method, lambda s: (guess(s) == s["is_positive"]) == s["label"])
    return score_pairs(data, relation, method, getattr(data_folder, name))


@pytest.mark.parametrize("method", ["pretexeval", "direct"])
def test_shortcuts_are_as_computed_sample_by_sample(guessed: DataFolder, method: str) -> None:
    found = {
        (row["relation"], row["baseline"]): (row["average_accuracy"], row["joint_accuracy"], row["mastery"])
        for row in guessed.query(f"from shortcut_baselines where method = '{method}'")
    }
    best = []
    for relation, chosen in CHOSEN.items():
        scores = {name: score_shortcut(guessed, relation, method, name) for name in SHORTCUTS}
        for name in SHORTCUTS:
            assert found[relation, name] == pytest.approx(combine(scores[name])), name
        assert chosen == max(SHORTCUTS, key=lambda name: combine(scores[name])[2])
        assert found[relation, "best"] == pytest.approx(combine(scores[chosen]))
        best += scores[chosen]
    assert found[None, "best"] == pytest.approx(combine(best))
    # It knows the facts of the base, so it is no shortcut, although it is always right here.
    assert found[None, "neighbour"] == (1, 1, 1)


def test_mastery_above_the_best_shortcut_is_paired(guessed: DataFolder) -> None:
    of_shortcut = {
        relation: [score[2] for score in score_shortcut(guessed, relation, "pretexeval", chosen)]
        for relation, chosen in CHOSEN.items()
    }
    for rule, relation in product(RULES, ("drugs", "signs", None)):
        names = [relation] if relation else list(CHOSEN)
        mastered = [score[2] for name in names for score in score_pairs(guessed, name, "pretexeval", rule)]
        best = fmean(share for name in names for share in of_shortcut[name])
        view = f"accuracy_by_relation where relation = '{relation}'" if relation else "leaderboard where true"
        (row,) = guessed.query(f"from {view} and model_id = '{rule.__name__}' and {STRICT}")
        assert row["best_shortcut"] == (CHOSEN[relation] if relation else "consistent_coin + overlap")
        found = (row["best_shortcut_mastery"], row["mastery_above_shortcut"])
        assert found == pytest.approx((best, fmean(mastered) - best))
        low, high = row["mastery_above_shortcut_ci_low"], row["mastery_above_shortcut_ci_high"]
        assert low <= row["mastery_above_shortcut"] <= high
        assert high - low > 0.1
        if relation == "drugs":
            # The expected mastery of the coin is known, so only that of the model is uncertain.
            limits = (row["mastery_ci_low"] - 0.25, row["mastery_ci_high"] - 0.25)
            assert (low, high) == pytest.approx(limits)
    answers = guessed.query(f"select model_id, constant_answer from leaderboard where {STRICT}")
    assert {row["model_id"]: row["constant_answer"] for row in answers} == {
        "always_true": True,
        "mostly_false": False,
        "expert": None,
        "half_expert": None,
    }
