"""The facet models: their cards, and that they answer new questions as the cards predict."""

from itertools import product

import pytest

from engines.model_card import read_taught_facts
from knowledge.base import KnowledgeBase
from tests.support.command import REPOSITORY, run_command
from training.card import describe_base
from training.facet_card import TaughtScores, read_facet_card
from training.known_heads import choose_known_heads
from training.measure_facets import SETTINGS, read_scores, write_facet_configuration
from training.train_facets import RELATIONS, read_base

# The share of the heads of the DiseK relations that each model has learned.
SHARES = {"reference-facets-large": 0.667, "reference-facets-small": 0.25}
# p(M) of the points about learned heads, and of the others; the mastery of their pairs as well.
LIMITS = {True: (0.8, 1.0), False: (0.0, 0.05)}
FOLDERS = {name: REPOSITORY / "models" / name for name in SHARES}
# The seed of an edition that neither the training nor the cards have used.
SEED = 2


@pytest.fixture(scope="module")
def base() -> KnowledgeBase:
    return read_base()


@pytest.mark.parametrize("name", SHARES)
def test_a_card_lists_the_heads_that_the_model_was_taught(base: KnowledgeBase, name: str) -> None:
    taught = read_taught_facts(FOLDERS[name])
    known = {(unit.relation, unit.head) for unit in taught.known_heads or []}
    assert known == choose_known_heads(base, SHARES[name], name)
    assert {relation for relation, _ in known} == set(RELATIONS)
    assert taught.taught_base == describe_base(base)


@pytest.mark.parametrize("name", SHARES)
def test_a_card_contains_loss_curve_and_scores(name: str) -> None:
    card = read_facet_card(FOLDERS[name])
    first, last = card.loss_curve[0]["kinds"], card.loss_curve[-1]["kinds"]
    assert last["question"]["answer_loss"] < 0.1 < first["question"]["answer_loss"]
    asked = {(seed, setting) for seed, settings in SETTINGS.items() for setting in settings}
    assert {((row.seed, row.setting), row.is_known) for row in card.scores} == set(product(asked, LIMITS))
    assert SEED not in SETTINGS
    for row in card.scores:
        low, high = LIMITS[row.is_known]
        assert low <= row.mastered_rate <= high
        assert low <= row.pair_mastery <= high


@pytest.fixture(scope="module")
def scores(
    tmp_path_factory: pytest.TempPathFactory, prefect_server: dict[str, str]
) -> dict[str, list[TaughtScores]]:
    """Return the scores of both models on an edition of another seed."""
    folder = tmp_path_factory.mktemp("facets")
    write_facet_configuration(folder / "config.toml", list(SHARES), SEED, ("answer_only",))
    config = folder / "config.toml"
    run_command("run", config, folder=folder, environment=prefect_server).require()
    return read_scores(folder / "data")


@pytest.mark.long
@pytest.mark.parametrize("is_known", LIMITS)
@pytest.mark.parametrize("name", SHARES)
def test_a_model_masters_what_it_was_taught_and_nothing_else(
    scores: dict[str, list[TaughtScores]], name: str, is_known: bool
) -> None:
    (row,) = [row for row in scores[name] if row.is_known == is_known]
    low, high = LIMITS[is_known]
    assert low <= row.mastered_rate <= high
    assert low <= row.pair_mastery <= high
    predicted = [
        score
        for score in read_facet_card(FOLDERS[name]).scores
        if score.is_known == is_known and score.setting == "answer_only"
    ]
    # The intervals overlap: p(M) of 100 % lies above the interval of every other value.
    assert row.ci_low <= max(score.ci_high for score in predicted)
    assert row.ci_high >= min(score.ci_low for score in predicted)
