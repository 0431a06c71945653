"""The reference models: their cards, and that the pipeline measures the mastery that the cards predict."""

from itertools import product
from statistics import mean

import pytest

from config.tables import KnowledgeConfig
from engines.model_card import read_taught_facts
from knowledge.base import KnowledgeBase
from knowledge.reader import read_knowledge_base
from tests.support.command import REPOSITORY, run_command, write_config
from tests.support.data_folder import query_rows
from training.card import describe_base, read_card
from training.known_heads import choose_known_heads
from training.measure import SEEDS
from training.other_wordings import choose_other_relations

# The share of the starter base's heads that each model has learned.
SHARES = {"reference-large": 0.667, "reference-small": 0.25}
# The part of the relations that each model has learned in other wordings.
OTHERS = {"reference-large": (0, 0.334), "reference-small": (0.334, 1)}
# The mastery of learned facts, of facts learned in other wordings, and of unseen facts.
LIMITS = {"pool": (0.8, 1.0), "other": (0.3, 1.0), "nothing": (0.0, 0.05)}
FOLDERS = {name: REPOSITORY / "models" / name for name in SHARES}
# The seed of an edition that neither the training nor the cards have used.
SEED = 2


@pytest.fixture(scope="module")
def base() -> KnowledgeBase:
    return read_knowledge_base(KnowledgeConfig())


@pytest.mark.parametrize("name", SHARES)
def test_a_card_lists_heads_of_the_base(base: KnowledgeBase, name: str) -> None:
    heads = set(base.triplets.select("relation", "head").unique().iter_rows())
    known = {(unit.relation, unit.head) for unit in read_taught_facts(FOLDERS[name]).known_heads or []}
    assert known <= heads
    assert len(known) / len(heads) == pytest.approx(SHARES[name], abs=0.03)


@pytest.mark.parametrize("name", SHARES)
def test_no_unseen_head_states_the_same_pair_as_a_known_one(base: KnowledgeBase, name: str) -> None:
    known = choose_known_heads(base, SHARES[name], name)
    stated = {True: set(), False: set()}  # type: dict[bool, set[object]]
    for relation, head, tail in base.triplets.select("relation", "head", "tail").iter_rows():
        stated[(relation, head) in known] |= {head, frozenset((head, tail))}
    assert not stated[True] & stated[False]


@pytest.mark.parametrize("name", SHARES)
def test_a_card_contains_loss_curve_and_scores(name: str) -> None:
    card = read_card(FOLDERS[name])
    assert card.loss_curve[-1]["answer_loss"] < 0.1 < card.loss_curve[0]["answer_loss"]
    assert {(row["seed"], row["taught_with"]) for row in card.scores} == set(product(SEEDS, LIMITS))
    assert SEED not in SEEDS
    for row in card.scores:
        low, high = LIMITS[row["taught_with"]]
        assert low <= row["mastery"] <= high


@pytest.mark.parametrize("name", SHARES)
def test_a_card_names_the_base_and_the_wordings(base: KnowledgeBase, name: str) -> None:
    card = read_card(FOLDERS[name])
    assert card.taught_base == describe_base(base)
    others = choose_other_relations(base.relations, OTHERS[name])
    for unit in card.known_heads:
        assert (unit.wordings == "other") == (unit.relation in others)


def test_a_third_of_the_learned_facts_is_learned_in_other_wordings() -> None:
    units = [unit for folder in FOLDERS.values() for unit in read_card(folder).known_heads]
    assert sum(unit.wordings == "other" for unit in units) / len(units) >= 1 / 3


@pytest.fixture(scope="module")
def mastery(
    tmp_path_factory: pytest.TempPathFactory, prefect_server: dict[str, str]
) -> list[dict[str, object]]:
    """Return the rows of known_mastery after an evaluation of both models on an edition of another seed."""
    folder = tmp_path_factory.mktemp("calibration")
    # As in the quickstart: the answer is one token, and the models learned nothing that follows it.
    model = {"dtype": "bfloat16", "max_tokens": 1}
    models = [{"name": name, "model": str(path), **model} for name, path in FOLDERS.items()]
    config = write_config(folder / "config.toml", folder / "data", edition={"seed": SEED}, models=models)
    run_command("run", config, folder=folder, environment=prefect_server).require()
    return query_rows(folder / "data", "from known_mastery")


@pytest.mark.long
@pytest.mark.parametrize("taught_with", LIMITS)
@pytest.mark.parametrize("name", SHARES)
def test_mastery_is_what_the_model_was_taught(
    mastery: list[dict[str, object]], name: str, taught_with: str
) -> None:
    (row,) = [r for r in mastery if r["model"] == name and r["taught_with"] == taught_with]
    low, high = LIMITS[taught_with]
    assert low <= row["mastery"] <= high  # type: ignore[operator]
    if taught_with == "nothing":
        assert row["ci_low"] <= 0.5 <= row["ci_high"]  # type: ignore[operator]
    else:
        assert row["average_accuracy"] >= {"pool": 0.97, "other": 0.9}[taught_with]  # type: ignore[operator]


@pytest.mark.long
@pytest.mark.parametrize("taught_with", LIMITS)
@pytest.mark.parametrize("name", SHARES)
def test_the_interval_of_mastery_contains_what_the_card_predicts(
    mastery: list[dict[str, object]], name: str, taught_with: str
) -> None:
    """The cards contain scores of other editions."""
    (row,) = [r for r in mastery if r["model"] == name and r["taught_with"] == taught_with]
    scores = [r for r in read_card(FOLDERS[name]).scores if r["taught_with"] == taught_with]
    assert row["mastery_ci_low"] <= mean(r["mastery"] for r in scores) <= row["mastery_ci_high"]
