"""The label audit: planted wrong labels in simulated, recorded and published answers."""

import os
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.stats import norm

from pretexeval.statistics.clusters import Floats
from report.remarks import read_exchanged
from report.score_tables import render_scores
from schemas.stages import HUMAN_VERDICTS
from schemas.transformations import NAMES
from tests.support.data_folder import DataFolder
from tests.support.stage_rows import Row, write_rows
from tests.warehouse.conftest import EDITION
from warehouse.evaluations import Flags, Pairs
from warehouse.label_audit import audit_labels, calibrate, estimate_contradictions
from warehouse.publishing import build_warehouse

FOLDER = Path(os.environ.get("PRETEXEVAL_REFERENCE_DATA", ""))
MEDLAMA = 14_771
"""Test pairs of an edition of all of MedLAMA."""
KINDS = ("exchanged", "positive", "negative")
N_MODELS, N_FORMS = 4, 8
SLIP_RATE = 0.004
"""Share of single answers that are wrong about a fact that the model knows."""


def simulate(
    seed: int,
    n_pairs: int,
    mastery: float,
    *,
    kind: str = "exchanged",
    wrong_rate: float = 0.03,
    n_shared: int = 0,
) -> tuple[Floats, Flags]:
    """Return the answers of four models, shape (pairs, 2, models, 8), and which labels are wrong.

    Half of the variance of whether a model knows a fact is common to all models. What it does not know, it
    affirms or denies by a belief that it partly shares with the others, by its own leaning, and by the form
    and its polarity. All models believe the opposite of the first n_shared right pairs.
    """
    rng = np.random.default_rng(seed)
    truth = np.tile([True, False], (n_pairs, 1))
    planted = np.arange(n_pairs) >= n_pairs - round(wrong_rate * n_pairs)
    truth[planted] ^= {"exchanged": [True, True], "positive": [True, False], "negative": [False, True]}[kind]
    difficulty, plausible = rng.normal(size=n_pairs), rng.normal(size=(n_pairs, 2))
    is_shared = np.arange(n_pairs) < n_shared
    negated = np.arange(N_FORMS) % 2 == 1
    answers = np.zeros((n_pairs, 2, N_MODELS, N_FORMS))
    for model in range(N_MODELS):
        ease = np.sqrt(0.5) * (difficulty + rng.normal(size=n_pairs))
        knows = ease < norm.ppf(mastery / (1 - SLIP_RATE) ** (2 * N_FORMS))
        belief = np.sqrt(0.3) * plausible + np.sqrt(0.7) * rng.normal(size=(n_pairs, 2)) + rng.normal(0, 0.7)
        leaning = rng.normal(0, 0.4, N_FORMS) + np.where(negated, -1, 1) * rng.normal(0.3, 0.3)
        guess = belief[..., None] + leaning + rng.normal(0, 0.6, (n_pairs, 2, N_FORMS)) > 0
        said = (truth ^ is_shared[:, None])[..., None] ^ (rng.random(guess.shape) < SLIP_RATE)
        answers[:, :, model] = 2 * np.where((knows | is_shared)[:, None, None], said, guess) - 1
    return answers, truth != np.array([True, False])


def audit(answers: Floats, judged: Floats | None = None) -> pl.DataFrame:
    n_pairs = len(answers)
    ids = pl.DataFrame({"pair_id": [f"{number:06}" for number in range(n_pairs)]})
    pairs = Pairs(EDITION, ids, np.arange(n_pairs), np.zeros((n_pairs, 2), np.int64))
    rows = audit_labels(pairs, answers, np.full((n_pairs, 2), np.nan) if judged is None else judged)
    assert rows.height == 2 * n_pairs
    return rows


def estimate(answers: Floats) -> Floats:
    return estimate_contradictions(answers, np.ones(answers.shape[:2], bool))[0]


SIZES = [800, pytest.param(MEDLAMA, marks=pytest.mark.long)]
PRECISION = {0.7: 0.6, 0.9: 0.8}


@pytest.mark.parametrize("n_pairs", SIZES)
@pytest.mark.parametrize("mastery", PRECISION)
def test_planted_labels_are_found_and_their_share_is_stated(mastery: float, n_pairs: int) -> None:
    for kind in KINDS:
        answers, wrong = simulate(1, n_pairs, mastery, kind=kind)
        is_mastered = (answers * np.where(wrong, -1, 1)[..., None, None] > 0) == [[[True]], [[False]]]
        assert is_mastered.all((1, 3)).mean() == pytest.approx(mastery, abs=0.03)
        probability = estimate(answers)
        # As many labels as are wrong, the most likely ones.
        first = np.argsort(-probability.ravel(), kind="stable")[: wrong.sum()]
        assert wrong.ravel()[first].mean() >= PRECISION[mastery]
        assert probability.mean(0) == pytest.approx(wrong.mean(0), abs=0.015)


def test_nothing_is_found_where_no_label_is_wrong() -> None:
    answers, _ = simulate(1, 3000, 0.7, wrong_rate=0)
    assert estimate(answers).mean() < 0.002


def test_models_that_affirm_what_they_do_not_know_do_not_make_false_labels_look_wrong() -> None:
    answers, _ = simulate(1, 3000, 0.2, wrong_rate=0)
    answers[np.random.default_rng(0).random(answers.shape) < 0.6] = 1
    assert estimate(answers).mean() < 0.01


@pytest.mark.long
def test_stated_probabilities_are_those_of_a_wrong_label() -> None:
    found = [simulate(seed, MEDLAMA, 0.7, kind=kind) for seed in (1, 2) for kind in KINDS]
    probability = np.concatenate([estimate(answers).ravel() for answers, _ in found])
    wrong = np.concatenate([planted.ravel() for _, planted in found])
    for low, high in ((0, 0.01), (0.01, 0.05), (0.05, 0.2), (0.2, 0.5), (0.5, 0.8), (0.8, 0.95), (0.95, 1)):
        chosen = (low <= probability) & (probability <= high)
        assert chosen.sum() >= 200
        assert wrong[chosen].mean() == pytest.approx(probability[chosen].mean(), abs=0.15), (low, high)


def test_errors_that_all_models_share_are_in_a_group_and_verdicts_estimate_their_share() -> None:
    n_shared = 60
    answers, wrong = simulate(1, 3000, 0.9, n_shared=n_shared)
    rows = audit(answers)
    shared = rows.head(2 * n_shared)
    assert shared["is_contradicted_by_all"].all()
    assert shared["wrong_probability"].min() > 0.5  # type: ignore[operator]
    # Half of the wrong labels are contradicted by all models, and few of the right ones.
    assert rows.filter(pl.Series(wrong.ravel()))["is_contradicted_by_all"].mean() > 0.5  # type: ignore[operator]
    assert rows["is_contradicted_by_all"].sum() < 2 * (n_shared + wrong[:, 0].sum())
    judged = np.full((len(answers), 2), np.nan)
    contradicted = np.nonzero(rows["is_contradicted_by_all"].to_numpy().reshape(-1, 2).all(1))[0]
    read = np.random.default_rng(0).choice(contradicted, 50, replace=False)
    judged[read] = wrong[read]
    after = audit(answers, judged)["wrong_probability"].to_numpy().reshape(-1, 2)
    assert (after[read] == wrong[read]).all()
    assert rows["wrong_probability"].mean() > wrong.mean() + 0.012
    assert after.mean() == pytest.approx(wrong.mean(), abs=0.008)


def test_verdicts_lower_the_probabilities_of_the_labels_that_nobody_judged() -> None:
    contradicted = np.array([[0.9, 0.9], [0.9, 0.9], [0.9, 0.01], [0.5, 0.01]])
    nan = np.nan
    judged = np.array([[0, 0], [1, 0], [nan, 0], [nan, nan]])
    rates = calibrate(contradicted, judged)
    # Two of five labels are wrong, one of which is assumed: as many as 0.9 of the contradictions times 0.44.
    assert rates[2:] == pytest.approx(np.array([[0.9 * 0.44, 0], [0.5 * 0.44, 0.01 * 0.44]]))
    assert (rates[:2] == judged[:2]).all()
    assert (calibrate(contradicted, np.full((4, 2), nan)) == contradicted).all()


@pytest.mark.skipif(
    not (FOLDER / "multifacet_ao_TFQ.parquet").is_file(),
    reason="PRETEXEVAL_REFERENCE_DATA names no folder with multifacet_*",
)
def test_exchanged_labels_are_told_from_right_ones_by_the_recorded_answers_of_weak_models() -> None:
    rows = pl.read_parquet(FOLDER / "multifacet_ao_TFQ.parquet")
    option, polarity = (rows["form"].str.split("/").list.get(part) for part in (0, 1))
    point, model = ((rows[name].rank("dense") - 1).to_numpy() for name in ("knowledge_point", "model"))
    is_affirmed = (rows["extracted"] == "T") == (polarity == "forward")
    n_points = 795
    answers = np.zeros((n_points, 2, 8, 2))
    place = (point, (option == "false_option").cast(int), model, (polarity == "negated").cast(int))
    answers[place] = (2 * is_affirmed.cast(int) - 1).fill_null(0)
    order, areas = np.random.default_rng(0).permutation(n_points), []
    # Every point is exchanged once, 3 % of them at a time.
    for planted in np.array_split(order, 33):
        wrong = np.isin(np.arange(n_points), planted)
        probability = estimate(np.where(wrong[:, None, None, None], answers[:, ::-1], answers))[:, 0]
        differences = np.subtract.outer(probability[wrong], probability[~wrong])
        areas.append(((differences > 0) + (differences == 0) / 2).mean())
    assert np.mean(areas) >= 0.82


N_PAIRS = 120
ALL = ("ann", "bob", "cas")
LEARNED = "head 20"
"""The only head that the reference model `learner` knows; it contradicts all other labels."""
# Head -> the models that contradict the labels of its true and of its false triplet.
CONTRADICTED: dict[str, dict[bool, tuple[str, ...]]] = {
    **{f"head {k}": {True: ALL, False: ALL} for k in range(4)},
    **{f"head {k}": {True: (), False: ALL} for k in range(4, 8)},
    # Each model errs alone on every tenth fact.
    **{f"head {k}": {True: (ALL[k % 10],), False: (ALL[k % 10],)} for k in range(10, N_PAIRS) if k % 10 < 3},
}


def answer(model: str, sample: Row) -> bool | None:
    if model == "affirming":
        return bool(sample["label"] == sample["is_positive"])
    if model == "learner":
        return bool(sample["label"] == (sample["head"] == LEARNED))
    if sample["head"] == "head 9" and model in ("bob", "cas"):
        return None
    contradicts = model in CONTRADICTED.get(sample["head"], {}).get(sample["is_positive"], ())
    # One model contradicts two labels in seven of eight forms.
    is_spared = model == "cas" and sample["head"] == "head 0" and sample["transformation"] == NAMES[3]
    return bool(sample["label"]) != (contradicts and not is_spared)


def publish(root: Path, *names: str) -> DataFolder:
    data = DataFolder(root)
    for k in range(N_PAIRS):
        data.add_pair("findings", f"head {k}", f"sign {k % 6}", f"sign {(k + 1) % 6}")
    data.write_edition(EDITION)
    for name in names:
        known = [{"relation": "findings", "head": LEARNED}] if name == "learner" else None
        data.write_model(name, known)
        data.write_answers(EDITION, name, partial(answer, name), policies=("strict", "coin-flip"))
    build_warehouse(data.root)
    return data


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> DataFolder:
    return publish(tmp_path_factory.mktemp("audited") / "data", "ann", "bob", "cas", "affirming", "learner")


def test_audit_of_a_published_edition(audited: DataFolder) -> None:
    rows = audited.query("from label_audit")
    # Two models have no answer about one pair.
    assert len(rows) == 2 * N_PAIRS - 2
    assert audited.query("select count(*) as n from triplets where n_models is null") == [{"n": 2}]
    wrong, right = rows[:12], rows[12:]
    assert {(row["head"], row["is_positive"]) for row in wrong} == {
        (head, is_positive)
        for head, models in CONTRADICTED.items()
        for is_positive in (True, False)
        if models[is_positive] == ALL
    }
    # A model that affirms everything contradicts every false triplet, and tells nothing.
    assert {(row["is_positive"], row["n_contradicting"]) for row in wrong} == {(True, 3), (False, 4)}
    assert {row["head"] for row in rows if row["n_models"] == 5} == {LEARNED}
    assert {row["n_models"] for row in rows if row["head"] != LEARNED} == {4}
    assert all(row["is_contradicted_by_all"] for row in wrong)
    assert not any(row["is_contradicted_by_all"] for row in right)
    assert min(row["wrong_probability"] for row in wrong) > 0.99
    assert max(row["wrong_probability"] for row in right) < 0.01


def test_models_that_never_err_alone_may_share_their_errors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for head in [head for head, models in CONTRADICTED.items() if models[False] != ALL]:
        monkeypatch.delitem(CONTRADICTED, head)
    data = publish(tmp_path / "data", "ann", "bob", "cas")
    rows = data.query("from label_audit")[:12]
    assert all(row["is_contradicted_by_all"] and 0.05 < row["wrong_probability"] < 0.5 for row in rows)


def test_scores_if_the_labels_most_likely_wrong_are_wrong(audited: DataFolder) -> None:
    rows = {row["model"]: row for row in read_exchanged(audited.root, EDITION)}
    ann, cas = rows["Ann"], rows["Cas"]
    assert (ann["n_wrong"], ann["n_contradicted_by_all"]) == (12, 12)
    # Eight pairs have a wrong label, and on eleven the model errs alone.
    assert (ann["mastery"], ann["exchanged_mastery"]) == pytest.approx((101 / 120, 109 / 120))
    assert ann["exchanged_accuracy"] - ann["average_accuracy"] == pytest.approx(12 * 8 / 1920)
    # It has no answer about a pair, and agrees in one form with both labels of another.
    assert (cas["mastery"], cas["exchanged_mastery"]) == pytest.approx((100 / 120, 107 / 120))
    assert cas["exchanged_accuracy"] - cas["average_accuracy"] == pytest.approx((10 * 8 + 2 * 6) / 1920)
    text = " ".join(render_scores(audited.root, EDITION).replace("\u00a0", " ").split())
    assert (
        "If the 12 labels most likely wrong are wrong, Ann masters between 84.2 % and 90.8 % of the facts"
        in text
    )
    assert "; all models that can tell contradict 12 of them, perhaps by a shared error." in text


def test_a_verdict_decides_the_probability_of_its_label(tmp_path: Path) -> None:
    data = publish(tmp_path / "data", "ann", "bob", "cas", "affirming")
    row = data.query("from label_audit where head = 'head 4' and not is_positive")[0]
    verdict = {
        "edition_id": EDITION,
        "question": "label",
        "item_id": row["triplet_id"],
        "triplet_id": row["triplet_id"],
        "method": None,
        "reviewer": "dr",
        "verdict": "label is right",
        "comment": None,
    }
    (other,) = data.query("from label_audit where head = 'head 5' and not is_positive")
    tied = {"item_id": other["triplet_id"], "triplet_id": other["triplet_id"]}
    verdicts = [verdict, verdict | tied, verdict | tied | {"reviewer": "ms", "verdict": "also_true"}]
    write_rows(data.root / "reviews" / EDITION / "label-dr.parquet", HUMAN_VERDICTS, verdicts)
    build_warehouse(data.root)
    after = data.query("from label_audit where head in ('head 4', 'head 5') order by wrong_probability")
    assert after[0]["verdicts"] == ["label is right"]
    assert (after[0]["wrong_probability"], after[0]["is_contradicted_by_all"]) == (0, True)
    # Of the contradiction that was judged and the one that is assumed, one is a shared error.
    assert after[-1]["wrong_probability"] == pytest.approx(0.5, abs=0.01)


def test_two_models_are_not_enough_for_an_audit(tmp_path: Path) -> None:
    assert publish(tmp_path / "data", "ann", "bob").query("from label_audit") == []
