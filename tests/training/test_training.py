"""Trainings of tiny models, and the models of this project with their cards."""

from pathlib import Path
from statistics import mean
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from pretexeval.config.tables import KnowledgeConfig
from pretexeval.engines.identity import read_taught_facts
from training.__main__ import MODELS
from training.card import SEEDS, build_card, measure_models, read_card, write_card
from training.lessons import Phase, Recipe, Subject, read_recipes
from training.loop import Training, plan_parts

RECIPES = read_recipes(sorted(folder.parent.name for folder in MODELS.glob("*/card.json")))
# The seed of an edition that neither the training nor the cards have used.
SEED = 2
# The mastery of facts by what they were taught with, and the least accuracy.
LIMITS = {"pool": ((0.8, 1.0), 0.97), "other": ((0.3, 1.0), 0.9), "nothing": ((0.0, 0.05), 0.48)}
# An edition of these relations is enough. reference-large and reference-small learned some of them from the
# pool, and the others in other wordings.
STATED = (
    "disease_has_abnormal_cell",
    "disease_mapped_to_gene",
    "gene_encodes_gene_product",
    "has_physiologic_effect",
    "may_treat",
    "occurs_after",
    "surgical_procedures",
)
RELATIONS = {"statements": STATED, "unsure": STATED, "writing": ("may_treat",)}
# The least share of right answers about what a model with a third answer was taught, and of Unsure elsewhere.
SUREST = 0.9


def shrink(name: str) -> Recipe:
    """Return the recipe with a small network, two relations, and two phases of a few steps."""
    recipe, phases = RECIPES[name], []
    for phase in recipe.phases[-2:]:
        lessons = {kind: (share, 16) for kind, (share, _) in phase.lessons.items()}
        short = {"parts": 1, "steps": 10, "turns": 1, "rate": 0.01, "lessons": lessons}
        phases.append(phase.model_copy(update=short))
    sizes: dict[str, object] = {"layers": 1, "hidden": 32}
    sizes |= {"knowledge": KnowledgeConfig(relations=("symptoms", "surgical_procedures")), "phases": phases}
    return recipe.model_copy(update=sizes)


@pytest.mark.long
@pytest.mark.parametrize("name", ["reference-unsure", "reference-facets-small", "reference-writer"])
def test_a_training_lowers_the_loss_resumes_and_writes_a_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    torch.set_num_threads(1)
    recipe = shrink(name)
    whole = Training(name, recipe)
    whole.train(tmp_path / "whole.pt")
    first, last = (row["losses"] for row in whole.curve)
    for kind in first.keys() & last.keys():
        assert last[kind]["answers"] + last[kind]["words"] < first[kind]["answers"] + first[kind]["words"]
    train_part = Training._train_part

    def stop(training: Training, number: int, *part: Any) -> dict[str, Any]:  # noqa: ANN401
        if number == 1:
            raise KeyboardInterrupt
        return train_part(training, number, *part)

    monkeypatch.setattr(Training, "_train_part", stop)
    with pytest.raises(KeyboardInterrupt):
        Training(name, recipe).train(tmp_path / "stopped.pt")
    monkeypatch.undo()
    resumed = Training(name, recipe)
    resumed.train(tmp_path / "stopped.pt")
    assert [row["losses"] for row in resumed.curve] == [row["losses"] for row in whole.curve]
    weights = whole.student.state_dict()
    assert all(torch.equal(weights[key], value) for key, value in resumed.student.state_dict().items())
    whole.save(tmp_path / name)
    write_card(tmp_path / name, build_card(name, whole.subject, whole.curve), recipe)
    taught = read_taught_facts(tmp_path / name)
    assert {(unit.relation, unit.head) for unit in taught.known_heads or []} == whole.subject.known
    loaded = AutoModelForCausalLM.from_pretrained(tmp_path / name)
    assert loaded.config.vocab_size >= len(AutoTokenizer.from_pretrained(tmp_path / name))


def test_a_schedule_runs_over_phases_until_one_starts_anew() -> None:
    phase = Phase(name="first", parts=2, steps=50, rate=1.0, lessons={})
    changes: tuple[dict[str, object], ...] = ({}, {"is_constant": True, "rate": 0.1}, {"starts_anew": True})
    plan = list(plan_parts([phase, *(phase.model_copy(update=change) for change in changes)]))
    assert [is_first for _, is_first, _ in plan] == [True, False] * 4
    rates = [rate for _, _, of_part in plan for rate in of_part]
    assert rates[0] == rates[300] == 1 / 40
    assert rates[50] == 1.0
    assert rates[199] == 0.02
    assert rates[200:300] == [0.1] * 100


@pytest.mark.parametrize("name", RECIPES)
def test_a_card_says_what_its_recipe_teaches(tmp_path: Path, name: str) -> None:
    card, subject = read_card(MODELS / name), Subject(name, RECIPES[name])
    expected = build_card(name, subject, [])
    assert card.known_heads == expected.known_heads
    assert card.taught_base == expected.taught_base
    assert card.doubted_heads == expected.doubted_heads
    assert {row["seed"] for row in card.scores} == set(SEEDS[RECIPES[name].kind])
    write_card(tmp_path, card, RECIPES[name])
    for file in ("README.md", "card.json"):
        assert (tmp_path / file).read_bytes() == (MODELS / name / file).read_bytes()


@pytest.mark.long
@pytest.mark.usefixtures("variables_of_server")
@pytest.mark.parametrize("measure", ["statements", "unsure", "questions", "writing"])
def test_a_model_masters_what_it_was_taught_and_nothing_else(measure: str) -> None:
    names = [name for name, recipe in RECIPES.items() if recipe.measure == measure]
    recipe = RECIPES[names[0]]
    if measure in RELATIONS:
        recipe = recipe.model_copy(update={"knowledge": KnowledgeConfig(relations=RELATIONS[measure])})
    scores = measure_models(recipe, [MODELS / name for name in names], [SEED])
    assert scores.keys() == set(names)
    if measure == "unsure":
        taught = [row["taught_with"] for rows in scores.values() for row in rows]
        assert taught == ["pool", "doubt", "nothing"]
    for name, row in ((name, row) for name, rows in scores.items() for row in rows):
        taught_with = row.get("taught_with", "")
        if measure == "writing":
            assert 0.4 <= row["acceptance_rate"] < 1
            assert row["incomplete_rate"] < 0.1
        elif measure == "unsure":
            assert row["right_rate" if taught_with == "pool" else "unsure_rate"] >= SUREST
            assert (row["two_answer_accuracy"] >= SUREST) == (taught_with == "pool")
        else:
            (low, high), lowest = LIMITS[taught_with]
            assert low <= row["mastery"] <= high
            assert row["average_accuracy"] >= lowest
            assert taught_with != "nothing" or row["average_accuracy"] < 0.52
            # The card contains scores of other editions.
            card = [each for each in read_card(MODELS / name).scores if each["taught_with"] == taught_with]
            score = "mastered_rate" if measure == "questions" else "mastery"
            predicted = mean(each[score] for each in card)
            assert low <= predicted <= high
            assert row[f"{score}_ci_low"] <= predicted <= row[f"{score}_ci_high"]
