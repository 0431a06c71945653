"""The sentences of the reference models that are in no pool of prototypes."""

from collections import Counter

import pytest

from config.tables import KnowledgeConfig
from knowledge.base import KnowledgeBase
from knowledge.reader import read_knowledge_base
from prototypes.checks import check_text, read_words
from prototypes.pool import Pool, load_pool
from schemas.transformations import POSITIVE_OF
from training.curriculum import draw_samples, draw_statements
from training.known_heads import choose_known_heads
from training.other_wordings import (
    CHOICE,
    choose_other_relations,
    list_fillers,
    read_other_wordings,
)

# Of the words of the longer of two sentences.
MAX_SHARED_WORDS = 0.7


@pytest.fixture(scope="module")
def base() -> KnowledgeBase:
    return read_knowledge_base(KnowledgeConfig())


@pytest.fixture(scope="module")
def pool() -> Pool:
    return load_pool("revised")


def share_words(one: str, other: str) -> float:
    words, others = Counter(read_words(one)), Counter(read_words(other))
    return (words & others).total() / max(words.total(), others.total())


def test_every_relation_has_lines_that_affirm_and_deny(base: KnowledgeBase) -> None:
    wordings = read_other_wordings()
    assert sorted(wordings) == base.relations
    for relation, lines in wordings.items():
        assert len(lines.lines) == len(set(lines.lines)) >= 10, relation
        for line in lines.lines:
            ((affirmed, denied),) = CHOICE.findall(line)
            assert affirmed != denied
        assert not [problem for text in lines.list_templates() for problem in check_text(text)]
        # The tokenizer makes one token of a name and the space before it.
        assert not any(text.startswith("[") for text in lines.list_templates())


def test_no_line_resembles_a_text_of_a_pool(pool: Pool) -> None:
    for relation, wordings in read_other_wordings().items():
        texts = [text for cell in pool.relations[relation].cells.values() for text in cell.texts]
        for template in wordings.list_templates():
            shared, closest = max((share_words(template, text), text) for text in texts)
            assert shared <= MAX_SHARED_WORDS, (template, closest)


def test_the_fillers_contain_no_word_that_denies(pool: Pool) -> None:
    fillers = set(list_fillers(pool.list_texts()))
    assert len(fillers) > 300
    assert not fillers & {
        "not",
        "no",
        "never",
        "cannot",
        "lacks",
        "without",
        "absent",
        "none",
        "false",
        "wrong",
    }


def test_each_relation_is_learned_from_other_wordings_by_one_model(base: KnowledgeBase) -> None:
    large, small = (choose_other_relations(base.relations, part) for part in ((0, 0.334), (0.334, 1)))
    assert len(large) == 7
    assert large | small == set(base.relations)
    assert not large & small


def test_the_model_sees_no_sentence_of_the_pool_about_these_relations(
    base: KnowledgeBase, pool: Pool
) -> None:
    others = choose_other_relations(base.relations, (0, 0.334))
    known = choose_known_heads(base, 0.25, "a model")
    plain = draw_samples(base, pool, known, 5)
    taught = draw_samples(base, pool, known, 5, others)
    keys = ("triplet_id", "transformation", "label", "relation")
    assert taught.select(keys).equals(plain.select(keys))
    pairs = zip(plain["relation"], plain["text"], taught["text"], strict=True)
    assert all((one == other) == (relation not in others) for relation, one, other in pairs)
    # Nor do the prompts show one as a demonstration.
    hidden = set(plain.filter(plain["relation"].is_in(list(others)))["text"])
    lessons = draw_statements(base, pool, known, 5, is_alone=False, others=others)
    assert not [text for text in hidden for lesson in lessons[:300] if text in lesson.text]


def test_a_sentence_denies_where_the_sample_does(base: KnowledgeBase, pool: Pool) -> None:
    known = choose_known_heads(base, 0.25, "a model")
    samples = draw_samples(base, pool, known, 5, frozenset(["may_treat"])).filter(relation="may_treat")
    for text, transformation in samples.select("text", "transformation").iter_rows():
        is_denied = any(word in text for word in (" not ", " cannot ", " no ", " never ", "nobody", "lacks"))
        is_denied = is_denied or "impossible" in text or "wrong" in text or "false" in text
        is_denied = is_denied or "incorrect" in text or "untrue" in text
        assert is_denied == (transformation in POSITIVE_OF), text
