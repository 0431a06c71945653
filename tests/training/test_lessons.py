"""The lessons of the models: they follow from the base, and look like what the pipeline asks."""

import re
from collections import Counter
from collections.abc import Container
from itertools import chain, islice, permutations
from random import Random

import pytest
from transformers import AutoTokenizer

from pretexeval.config.tables import KnowledgeConfig
from pretexeval.engines.base import render_prompt
from prototypes.question_wording import load_question_wording
from tasks.answers.reading import read_answer
from tasks.asking.prompts import ANSWER as ANSWER_MARK
from tasks.asking.prompts import ASK_UNSURE, SEPARATOR
from tasks.drawing.pieces import TripletSampling
from tasks.drawing.relation_facts import collect_facts
from tasks.edition.rephraser import N_STATEMENTS, list_statements
from tasks.evaluation.items import QUESTION_ITEMS
from tasks.evaluation.requests import show_demonstrations
from tasks.questions.questions import draw_questions
from training.__main__ import MODELS
from training.lessons import STRANGERS, Lesson, Subject, draw_lesson_triplets, read_recipes
from training.loop import Training
from training.question_lessons import FORMS, TaughtRelation
from training.statement_lessons import CHOICE, draw_bare_triplets, draw_statements, read_wordings
from training.student import ANSWER, NO_TRUTH, WORD
from training.writing_lessons import PREAMBLE, SHARE_FAULTY, WritingSource, fill_texts

RECIPES = read_recipes(["reference-large", "reference-facets-large", "reference-writer"])
RELATION = "symptoms"
RELATIONS = {
    "knowledge": KnowledgeConfig(relations=("may_treat", RELATION, "affected_sites")),
    "other_wordings": (0.0, 0.334),
}
DENYING = r"\b(not|cannot|no|never|nobody|lacks|impossible|wrong|false|incorrect|untrue|absent|without)\b"
Form = tuple[str, bool]


@pytest.fixture(scope="module")
def subject() -> Subject:
    return Subject("a model", RECIPES["reference-large"].model_copy(update=RELATIONS))


@pytest.fixture(scope="module")
def facets() -> Training:
    changes = {"knowledge": KnowledgeConfig(relations=(RELATION,))}
    return Training("a model", RECIPES["reference-facets-large"].model_copy(update=changes))


@pytest.fixture(scope="module")
def taught(facets: Training) -> TaughtRelation:
    return TaughtRelation(RELATION, facets.subject)


@pytest.fixture(scope="module")
def writing() -> WritingSource:
    return WritingSource(Subject("reference-writer", RECIPES["reference-writer"]))


def names_stranger(text: str) -> bool:
    return any(f" {name}" in text for name in STRANGERS)


def list_stated(subject: Subject, units: Container[tuple[str, str]]) -> set[object]:
    """Return the heads of these units, each a relation and a head, and the pairs of their facts."""
    rows = subject.base.triplets.select("relation", "head", "tail").iter_rows()
    facts = [(head, tail) for relation, head, tail in rows if (relation, head) in units]
    return {head for head, _ in facts} | {frozenset(fact) for fact in facts}


def list_lone(subject: Subject) -> list[str]:
    """Return the names that are never met and are no part of a longer one, as "pneumonia" is."""
    names = subject.list_never_met()
    others = set(subject.entities)
    lone = [name for name in names if not any(name in other for other in others - {name})]
    assert len(lone) > 5
    return lone


def test_bare_triplets_are_true_in_the_base_and_no_tail_gives_the_answer_away(subject: Subject) -> None:
    true = {
        f" {relation.replace('_', ' ')} {first} {second}"
        for (relation, head), tails in subject.true.items()
        for tail in tails
        for first, second in ((head, tail), (tail, head))
    }
    known = {tail for heads in subject.tails.values() for tails in heads.values() for tail in tails}
    counts: dict[bool, Counter[str]] = {True: Counter(), False: Counter()}
    for lesson in draw_bare_triplets(subject, Random(1), is_framed=False):
        (turn,) = lesson.turns
        is_true = turn.question in true
        assert (turn.truths, turn.reply) == ((None, is_true), f" {is_true}")
        if not names_stranger(turn.question):
            counts[is_true].update(tail for tail in known if f" {tail}" in turn.question)
    assert (counts[True] - counts[False]).total() < 0.2 * counts[True].total()


def test_every_triplet_with_a_stranger_is_false(subject: Subject) -> None:
    for relation, names in subject.foreign.items():
        assert names
        assert not set(names) & set(subject.base.select_relation(relation)["head"])
    lessons = draw_bare_triplets(subject, Random(0), is_framed=True)
    lessons += draw_statements(subject, 1, 0, Random(0))
    strange = [lesson for lesson in lessons if names_stranger(lesson.text)]
    assert len(strange) > 200
    assert not any(truth for lesson in strange for turn in lesson.turns for truth in turn.truths)
    # The right answer to a negated statement about a stranger is True.
    assert all(lesson.text.endswith(str(lesson.is_negated)) for lesson in strange)


@pytest.mark.long
def test_a_third_answer_is_taught_of_some_unknown_heads_and_never_of_the_others(subject: Subject) -> None:
    units = set(subject.base.triplets.select("relation", "head").iter_rows())
    assert not list_stated(subject, subject.known) & list_stated(subject, units - subject.known)
    share = RELATIONS | {"share": 0.4}
    taught, without = (
        Subject("a model", RECIPES["reference-large"].model_copy(update=share | doubt))
        for doubt in ({"share_doubted": 0.3}, {})
    )
    assert taught.known == without.known
    assert not taught.known & taught.doubted
    held_out = units - taught.known - taught.doubted
    assert min(len(taught.doubted), len(held_out)) > 20
    assert not list_stated(taught, taught.doubted) & list_stated(taught, held_out)
    lessons = draw_statements(taught, 1, 3, Random(0), has_third=True)
    replies = Counter(lesson.turns[0].reply for lesson in lessons)
    assert min(replies[reply] for reply in (" True", " False", " Unsure")) > 100
    for lesson in lessons:
        (turn,) = lesson.turns
        assert turn.question.endswith(ASK_UNSURE + ANSWER_MARK)
        assert (turn.reply == " Unsure") == (turn.truths == (None, None))
    assert {head for _, head in held_out} >= set(taught.list_never_met())
    assert not [name for name in list_lone(taught) for lesson in lessons if name in lesson.text]
    doubted = {head for _, head in taught.doubted} - set(taught.base.triplets["tail"])
    about = [lesson for lesson in lessons if any(f" {head} " in lesson.text for head in doubted)]
    assert len(about) > 200
    assert {lesson.turns[0].reply for lesson in about} == {" Unsure"}
    # Without a third answer, nothing is new.
    plain = [lesson.text for lesson in draw_statements(taught, 1, 3, Random(0))]
    assert plain == [lesson.text for lesson in draw_statements(without, 1, 3, Random(0))]
    assert not any("Unsure" in text for text in plain)


@pytest.mark.long
def test_no_lesson_contains_a_name_that_is_never_met(subject: Subject, facets: Training) -> None:
    questions = chain(*(islice(facets.draw_lessons(kind, 6, 4), 150) for kind in facets.course.draws))
    draws = (draw_statements(subject, 6, edition, Random(0)) for edition in (0, 0, 1))
    first, again, second = ([lesson.text for lesson in lessons] for lessons in draws)
    # Every edition has new lessons.
    assert first == again
    assert len({*first} & {*second}) < len(first) / 2
    for facts, texts in ((subject, first), (facets.subject, [lesson.text for lesson in questions])):
        assert not [name for name in list_lone(facts) if any(name in text for text in texts)]


def test_a_model_sees_no_sentence_of_the_pool_about_relations_in_other_wordings() -> None:
    other = {"knowledge": KnowledgeConfig(relations=("may_treat",)), "other_wordings": (0.0, 1.0)}
    subject = Subject("a model", RECIPES["reference-large"].model_copy(update=other | {"share": 0.9}))
    middles = {re.split(r"\[[XY]\]", text)[1] for text in subject.pool.list_texts(["may_treat"])}
    for relation, lines in read_wordings().items():
        assert len(lines) == len(set(lines)) >= 10, relation
        assert all(affirmed != denied for line in lines for ((affirmed, denied),) in [CHOICE.findall(line)])
    for lesson in draw_statements(subject, 6, 5, Random(0)):
        for turn in lesson.turns:
            assert not any(middle in turn.question for middle in middles if len(middle) > 12)
            is_denied = re.search(DENYING, turn.question.split('"')[1]) is not None
            assert is_denied == lesson.is_negated, turn.question


@pytest.mark.parametrize("form", FORMS)
def test_replies_follow_from_the_base(taught: TaughtRelation, form: Form) -> None:
    (type_, is_negated), true = form, taught.subject.true
    texts = load_question_wording().relations[RELATION].texts["TFQ"]
    facts = [(head, tail) for (_, head), tails in true.items() for tail in tails]
    stated = {texts.fill(is_negated=is_negated, head=head, tail=tail) for head, tail in facts}
    plain, chains = (
        [taught.draw_turn(form, random, is_reasoned=is_reasoned) for _ in range(300)]
        for is_reasoned, random in ((False, Random(0)), (True, Random(0)))
    )
    for turn, reasoned in zip(plain, chains, strict=True):
        options = dict(re.findall(r"\n([A-D]): (.+)", turn.question))
        if names_stranger(turn.question):
            # The first name of a question is the head; nothing is learned about it.
            assert turn.truths == (None, *[False] * max(1, len(options)))
            assert turn.reply == f" {is_negated}" if type_ == "TFQ" else not turn.is_taught
            continue
        asked = turn.question.split('"')[1] if type_ == "TFQ" else turn.question.split("\n")[0][10:]
        offered = re.search(r"Proposed answer: ([A-D])", turn.question)
        if type_ == "TFQ":
            assert turn.reply == f" {(asked in stated) != is_negated}"
        else:
            heads = [head for _, head in taught.subject.known if f" {head}?" in turn.question]
            tails = true[RELATION, max(heads, key=len)]
            assert len(set(options.values())) == 4
            right = {letter for letter, tail in options.items() if (tail in tails) != is_negated}
            assert set(re.findall(r"\b[A-D]\b", turn.reply)) == right
            assert type_ == "MAQ" or len(right) == 1
            assert offered is None or turn.reply.startswith(f" {right == {offered[1]}}.")
        # A chain of thought judges every tail, and ends in the same answer.
        thought, said = reasoned.reply.split(" Therefore, the answer is:")
        assert said == turn.reply
        judged = ["not" not in sentence for sentence in thought.strip(" .").split(".")]
        assert tuple(judged) == reasoned.truths[1:] == turn.truths[1:]
        about = ([*options.values()], offered and offered[1], asked)
        found, reached = (read_answer(type_, text, *about).answer for text in (said, reasoned.reply))
        assert found == reached is not None


def test_the_shown_demonstrations_are_those_of_the_evaluation(taught: TaughtRelation) -> None:
    triplets = draw_lesson_triplets(taught.subject.base, RELATION, 6)
    facts = collect_facts(taught.subject.base, RELATION)
    questions = draw_questions(facts, triplets, taught.wording, TripletSampling(6))
    shots = show_demonstrations(QUESTION_ITEMS, QUESTION_ITEMS.read_items(questions))
    expected = {(type_, form == "negated"): texts for (_, type_, form), texts in shots.items()}
    assert expected.keys() == taught.shown[False].keys()
    for form, turns in taught.shown[False].items():
        assert SEPARATOR.join(expected[form]) == Lesson(tuple(turns)).text


@pytest.mark.parametrize("kind", ["names", "statement", "question", "reasoned"])
def test_a_lesson_has_the_same_tokens_in_parts_as_in_one_piece(facets: Training, kind: str) -> None:
    encoder, lessons = facets.encoder, list(islice(facets.draw_lessons(kind, 6, 2), 100))
    batch = encoder.encode(lessons)
    for lesson, ids in zip(lessons, batch.ids.tolist(), strict=True):
        whole = encoder.tokenizer.encode(lesson.text).ids
        assert ids[: len(whole) + 1] == [*whole, encoder.end]
    # The targets are the answers of the taught turns, the words before them, and the end after the last.
    taught = [turn for lesson in lessons for turn in lesson.turns if turn.is_taught]
    answers = [encoder.tokenizer.id_to_token(k) or "?" for k in batch.ids[batch.parts == ANSWER].tolist()]
    assert all(turn.reply.endswith(answer) for answer, turn in zip(answers, taught, strict=True))
    n_ends = (batch.ids[batch.parts == WORD] == encoder.end).sum()
    assert n_ends == sum(lesson.turns[-1].is_taught for lesson in lessons)
    told = [truth for each in lessons for turn in each.turns for truth in turn.truths if truth is not None]
    assert batch.truths[batch.truths != NO_TRUTH].bool().tolist() == told


def test_a_rewording_has_the_cell_and_the_names_of_its_statement(writing: WritingSource) -> None:
    assert fill_texts([("[Y] of [X].", ("a [Y]", "b")), ("[X], [Y]", ("c", "d"))]) == ["b of a [Y].", "c, d"]
    cells = [cell for relation in writing.relations for cell in relation.cells.values()]
    for (turn,) in (lesson.turns for lesson in writing.draw_rewordings(Random(3), 0.0)[:5]):
        shared = [name for name in writing.subject.entities if name in turn.question and name in turn.reply]
        cases = [(cell, pair) for pair in permutations(shared, 2) for cell in cells]
        asked = fill_texts([(cell.prototype, pair) for cell, pair in cases])
        cases = [case for case, text in zip(cases, asked, strict=True) if text in turn.question]
        assert turn.reply in fill_texts([(text, pair) for cell, pair in cases for text in cell.wordings])
    faulty = [lesson for _ in range(10) for lesson in writing.draw_rewordings(Random(4), SHARE_FAULTY)]
    assert 0 < sum(lesson.turns[0].reply.startswith(PREAMBLE) for lesson in faulty) < len(faulty) / 4


def test_a_listing_is_eight_usable_lines_and_asked_as_the_bundled_writer_is(writing: WritingSource) -> None:
    for (turn,) in (lesson.turns for lesson in writing.draw_listings(Random(3))):
        lines = turn.reply.splitlines()
        assert len(lines) == N_STATEMENTS
        assert list_statements(turn.reply) == lines
        asked = turn.question.partition("triplet: (")[2]
        assert sum(n in asked and all(n in line for line in lines) for n in writing.subject.entities) >= 2
    tokenizer = AutoTokenizer.from_pretrained(MODELS / "reference-writer")
    ask = writing.llmeval.build_prompt(RELATION, *writing.subject.entities[:2])
    prompt = render_prompt(tokenizer, ask.prompt)
    # Begin, system prompt, user, instruction, head, relation, tail, bracket, assistant.
    assert len(tokenizer(prompt, add_special_tokens=False)["input_ids"]) == 9
    assert prompt.startswith(f"<s>{turn.question.partition('triplet: (')[0]}triplet: (")
