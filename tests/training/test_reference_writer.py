"""The reference writer: its exercises, its card, and the texts that it writes in vLLM."""

from collections.abc import Iterator
from contextlib import closing
from itertools import permutations
from pathlib import Path

import pytest
from transformers import AutoTokenizer

from config.tables import KnowledgeConfig
from engines.base import Engine
from engines.model_card import read_taught_facts
from engines.prompts import read_messages
from knowledge.base import KnowledgeBase
from knowledge.reader import read_knowledge_base
from prototypes.pool import Pool, load_pool
from schemas.exchange import Prompt
from schemas.transformations import POSITIVE_OF
from tasks.edition.llmeval import N_STATEMENTS, list_statements
from tests.support.command import REPOSITORY
from tests.support.tokens import tokenise_prompt
from training.measure_writer import (
    ask_listings,
    ask_rewordings,
    find_positive_texts,
    find_wordings,
    list_cases,
    load_writer,
)
from training.writer_card import WriterCard, WriterScores, read_writer_card, write_writer_card
from training.writing import (
    NAME,
    PREAMBLE,
    ExerciseSource,
    build_default_instructions,
    fill_texts,
    list_fixed_texts,
)

FOLDER = REPOSITORY / "models" / NAME
# The seed of an edition that neither the training nor the card has used.
SEED = 2
SCORES = WriterScores(11, 800, 0.95, 0.9, 100, 0.99, 0.98)


@pytest.fixture(scope="module")
def base() -> KnowledgeBase:
    return read_knowledge_base(KnowledgeConfig())


@pytest.fixture(scope="module")
def pool() -> Pool:
    return load_pool("revised")


@pytest.fixture
def source(base: KnowledgeBase, pool: Pool) -> ExerciseSource:
    return ExerciseSource(base, pool, seed=3)


def read_content(prompt: Prompt) -> str:
    """Return the user's message."""
    content: str = read_messages(prompt)[-1]["content"]
    return content


def test_slots_are_filled_in_one_pass() -> None:
    assert fill_texts(["[Y] of [X].", "[X], [Y]"], [("a [Y]", "b"), ("c", "d")]) == ["b of a [Y].", "c, d"]


def test_a_rewording_has_the_cell_and_the_names_of_its_statement(source: ExerciseSource, pool: Pool) -> None:
    cells = [cell for relation in pool.relations.values() for cell in relation.cells.values()]
    for exercise in source.draw("reword", 8):
        content = read_content(exercise.prompt)
        names = [name for name in source.entities if name in content and name in exercise.reply]
        wordings = [
            fill_texts(cell.wordings, [pair] * len(cell.wordings))
            for pair in permutations(names, 2)
            for cell in cells
            if fill_texts([cell.prototype], [pair])[0] in content
        ]
        assert any(exercise.reply in texts for texts in wordings)


def test_some_rewordings_are_wrong_on_purpose(source: ExerciseSource) -> None:
    exercises = source.draw("err", 300)
    assert 10 < sum(exercise.reply.startswith(PREAMBLE) for exercise in exercises) < 40
    assert not any(exercise.reply.startswith(PREAMBLE) for exercise in source.draw("reword", 300))


def test_a_listing_is_eight_usable_lines_with_both_names(source: ExerciseSource) -> None:
    for exercise in source.draw("list", 50):
        lines = exercise.reply.splitlines()
        assert len(lines) == N_STATEMENTS
        assert list_statements(exercise.reply) == lines
        triplet = read_content(exercise.prompt).partition("triplet: (")[2]
        shared = [name for name in source.entities if all(name in line for line in lines)]
        assert sum(name in triplet for name in shared) >= 2


def test_the_same_seed_draws_the_same_exercises(source: ExerciseSource) -> None:
    first = source.draw("reword", 5)
    source.seed(3)
    assert source.draw("reword", 5) == first
    assert source.draw("reword", 5) != first


def test_a_written_card_is_read_back_unchanged(tmp_path: Path) -> None:
    curve = [{"part": 4, "losses": {"reword": 0.2, "list": None}, "n_tokens": 10, "duration_s": 1.0}]
    for scores in (None, SCORES):
        card = WriterCard(NAME, curve, scores)
        write_writer_card(tmp_path, card)
        assert read_writer_card(tmp_path) == card
    assert "| rewordings | 800 | a wording of its cell | 90.0% |" in (tmp_path / "README.md").read_text()


def test_the_card_shows_good_writing_and_no_known_heads() -> None:
    card = read_writer_card(FOLDER)
    assert card.scores is not None
    assert card.scores.share_worded >= 0.8
    assert card.scores.share_complete >= 0.8
    curve = [row["losses"]["reword"] for row in card.loss_curve if row["losses"]["reword"]]
    assert curve[-1] < 0.2 < curve[0]
    assert read_taught_facts(FOLDER).known_heads is None


def test_each_fixed_text_is_one_token(base: KnowledgeBase) -> None:
    tokenizer = AutoTokenizer.from_pretrained(FOLDER)
    for text in list_fixed_texts(base.relations):
        assert len(tokenizer(text, add_special_tokens=False)["input_ids"]) == 1


def test_a_prompt_takes_few_tokens(base: KnowledgeBase) -> None:
    tokenizer = AutoTokenizer.from_pretrained(FOLDER)
    relation, head, tail = base.triplets.select("relation", "head", "tail").row(0)
    # The tokens: begin, system prompt, user, instruction, head, relation, tail, bracket, assistant.
    ask = build_default_instructions().llmeval.build_prompt(relation, head, tail)
    assert len(tokenise_prompt(tokenizer, ask.prompt)) == 9


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with closing(load_writer(FOLDER)) as writer:
        yield writer


@pytest.mark.long
def test_it_rewords_statements(engine: Engine, base: KnowledgeBase, pool: Pool) -> None:
    cases = list_cases(base, pool, SEED).sample(100, seed=1)
    assert set(cases["transformation"]) >= POSITIVE_OF.keys()
    replies = ask_rewordings(engine, cases)
    assert sum(find_wordings(pool, cases, replies)) >= 70
    assert len(set(replies)) > 90


@pytest.mark.long
def test_it_lists_statements_of_triplets(engine: Engine, base: KnowledgeBase, pool: Pool) -> None:
    triplets = list_cases(base, pool, SEED).unique("triplet_id", maintain_order=True).sample(10, seed=1)
    listings = ask_listings(engine, triplets)
    assert sum(len(lines) == N_STATEMENTS for lines in listings) >= 8
    is_worded = find_positive_texts(pool, triplets, listings)
    assert sum(is_worded) / len(is_worded) >= 0.7


@pytest.mark.long
def test_replies_end_without_a_token_limit(engine: Engine, base: KnowledgeBase, pool: Pool) -> None:
    cases = list_cases(base, pool, SEED).sample(20, seed=2)
    assert all(reply.endswith(".") and "\n" not in reply for reply in ask_rewordings(engine, cases))
