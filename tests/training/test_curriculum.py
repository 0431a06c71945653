"""The lessons of the reference models, and what no lesson may contain."""

import pytest

from config.tables import KnowledgeConfig
from knowledge.base import KnowledgeBase
from knowledge.reader import read_knowledge_base
from prototypes.pool import load_pool
from training.curriculum import draw_bare_triplets, draw_statements, list_demonstrating
from training.known_heads import choose_known_heads
from training.strangers import STRANGERS, Unit, find_strangers, list_never_met

SHARE = 0.667


@pytest.fixture(scope="module")
def base() -> KnowledgeBase:
    return read_knowledge_base(KnowledgeConfig())


@pytest.fixture(scope="module")
def known(base: KnowledgeBase) -> frozenset[Unit]:
    return choose_known_heads(base, SHARE, "a model")


def test_a_foreign_name_is_no_head_of_the_relation(base: KnowledgeBase, known: frozenset[Unit]) -> None:
    foreign = find_strangers(base, known).foreign
    assert set(foreign) == set(base.relations)
    for relation, names in foreign.items():
        assert names
        assert not set(names) & set(base.select_relation(relation)["head"])


def test_every_triplet_with_a_stranger_is_false(base: KnowledgeBase, known: frozenset[Unit]) -> None:
    lessons = draw_bare_triplets(base, known, 0, is_framed=False)
    lessons += draw_statements(base, load_pool("revised"), known, 0, is_alone=True)
    of_strangers = [lesson for lesson in lessons if any(f" {name}" in lesson.text for name in STRANGERS)]
    assert len(of_strangers) > 1000
    assert not any(truth for lesson in of_strangers for truth in lesson.truths)
    # The right answer to a negated statement about a stranger is True.
    assert all(lesson.text.endswith(str(lesson.is_negated)) for lesson in of_strangers)


def test_every_epoch_draws_new_lessons(base: KnowledgeBase, known: frozenset[Unit]) -> None:
    first, again, second = (
        {lesson.text for lesson in draw_statements(base, load_pool("revised"), known, epoch, is_alone=True)}
        for epoch in (0, 0, 1)
    )
    assert first == again
    assert len(first & second) < len(first) / 2


def test_no_lesson_contains_a_name_that_is_never_met(base: KnowledgeBase, known: frozenset[Unit]) -> None:
    names = list_never_met(base, known, list_demonstrating(base))
    lessons = draw_statements(base, load_pool("revised"), known, 0, is_alone=False)
    # Search only for names that are no part of a longer one, as "pneumonia" is.
    others = (set(base.triplets["head"]) | set(base.triplets["tail"])) - set(names)
    alone = [name for name in names if not any(name in other for other in others)]
    assert len(alone) > 20
    assert not [name for name in alone if any(name in lesson.text for lesson in lessons)]
