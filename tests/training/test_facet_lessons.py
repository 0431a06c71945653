"""The lessons of the facet models: their replies are right, and they look like what the evaluation asks."""

import re
from random import Random

import polars as pl
import pytest

from config.tables import KnowledgeConfig
from knowledge.base import KnowledgeBase
from knowledge.reader import read_knowledge_base
from prototypes.pool import load_pool
from prototypes.question_wording import QuestionWording, load_question_wording
from tasks.answers.reading import read_answer
from tasks.asking.prompts import PromptForm
from tasks.asking.question_prompts import AnsweredQuestion
from tasks.drawing.heads import TripletSampling
from tasks.drawing.relation_facts import collect_facts
from tasks.edition.triplets import draw_triplets
from tasks.evaluation.question_requests import build_question, select_demonstrations
from tasks.questions.questions import draw_questions
from training.curriculum import list_demonstrating
from training.facet_lessons import PHASES, SIZES, FacetLessons, FacetPhase
from training.facet_network import NO_TRUTH, TurnEncoder
from training.facet_points import collect_taught
from training.facet_tokens import build_facet_tokenizer
from training.known_heads import choose_known_heads
from training.question_turns import FORMS, QuestionTurns
from training.strangers import STRANGERS, Unit, list_never_met
from training.turns import Turn, TurnLesson, join_turns

RELATION = "symptoms"
FACTS, ALONE, PROMPTS = PHASES


@pytest.fixture(scope="module")
def base() -> KnowledgeBase:
    return read_knowledge_base(KnowledgeConfig(relations=(RELATION,)))


@pytest.fixture(scope="module")
def known(base: KnowledgeBase) -> frozenset[Unit]:
    return choose_known_heads(base, 0.667, "a model")


@pytest.fixture(scope="module")
def wording() -> QuestionWording:
    return load_question_wording()


@pytest.fixture(scope="module")
def lessons(base: KnowledgeBase, known: frozenset[Unit], wording: QuestionWording) -> FacetLessons:
    random = Random(0)
    ((questions, shown),) = collect_taught(base, wording, known, random)
    return FacetLessons(base, load_pool("revised"), known, [questions], [shown], random)


@pytest.fixture(scope="module")
def encoder(base: KnowledgeBase, wording: QuestionWording) -> TurnEncoder:
    names = [*base.triplets.select("head", "tail").unpivot()["value"].unique().sort(), *STRANGERS]
    return TurnEncoder(build_facet_tokenizer(wording, load_pool("revised"), [RELATION], names), names)


def draw_taught(lessons: FacetLessons, form: tuple[str, bool], *, is_reasoned: bool = False) -> list[Turn]:
    (questions,) = lessons.questions
    lessons.seed(0)
    turns = [questions.draw(*form, is_reasoned=is_reasoned) for _ in range(100)]
    return [turn for turn in turns if "Stranger" not in turn.text]


def read_offered(question: str) -> str | None:
    found = re.search(r"Proposed answer: ([A-D])", question)
    return found and found[1]


def read_options(question: str) -> dict[str, str]:
    return dict(re.findall(r"\n([A-D]): (.+)", question))


@pytest.mark.parametrize("form", [form for form in FORMS if form[0] != "TFQ"])
def test_the_letters_of_a_reply_are_right_by_the_base(
    base: KnowledgeBase, lessons: FacetLessons, form: tuple[str, bool]
) -> None:
    question_type, is_negated = form
    true = set(base.triplets.select("head", "tail").iter_rows())
    tested = base.triplets.filter(~pl.col("also_true"))["head"].unique()
    for turn in draw_taught(lessons, form):
        head = max((head for head in tested if f" {head}?" in turn.question), key=len)
        options = read_options(turn.question)
        assert len(set(options.values())) == 4
        right = {letter for letter, tail in options.items() if ((head, tail) in true) != is_negated}
        assert set(re.findall(r"\b[A-D]\b", turn.reply)) == right
        assert question_type == "MAQ" or len(right) == 1
        if question_type == "RQ":
            offered = re.findall(r"Proposed answer: ([A-D])", turn.question)
            assert turn.reply.startswith(f" {set(offered) == right}.")


@pytest.mark.parametrize("is_negated", [False, True])
def test_a_statement_is_judged_by_the_base(
    base: KnowledgeBase, wording: QuestionWording, lessons: FacetLessons, is_negated: bool
) -> None:
    texts = wording.relations[RELATION].texts["TFQ"]
    true = {
        texts.fill(is_negated=is_negated, head=head, tail=tail)
        for head, tail in base.triplets.select("head", "tail").iter_rows()
    }
    turns = draw_taught(lessons, ("TFQ", is_negated))
    assert {turn.reply for turn in turns} == {" True", " False"}
    for turn in turns:
        statement = turn.question.split('"')[1]
        assert turn.reply == f" {(statement in true) != is_negated}"


@pytest.mark.parametrize("form", FORMS)
def test_a_chain_of_thought_judges_every_tail_and_ends_in_the_same_answer(
    lessons: FacetLessons, form: tuple[str, bool]
) -> None:
    question_type, _ = form
    plain, reasoned = draw_taught(lessons, form), draw_taught(lessons, form, is_reasoned=True)
    for answered, turn in zip(plain, reasoned, strict=True):
        thought, said = turn.reply.split(" Therefore, the answer is:")
        assert said == answered.reply
        judged = ["not" not in sentence for sentence in thought.strip(" .").split(".")]
        assert tuple(judged) == turn.truths[1:] == answered.truths[1:]
        options = [*read_options(turn.question).values()]
        asked = turn.question.split('"')[1] if question_type == "TFQ" else turn.question.split("\n")[0][10:]
        answer = said.strip().replace(", ", ",")
        reading = read_answer(question_type, turn.reply, options, read_offered(turn.question), asked)
        if question_type == "TFQ":
            answer = answer[0]
        if question_type == "RQ":
            answer = f"{answer[0]}|{answer[-2]}"
        assert reading.answer == answer


def test_a_question_about_a_stranger_teaches_only_that_every_tail_is_false(lessons: FacetLessons) -> None:
    (questions,) = lessons.questions
    lessons.seed(1)
    for form in FORMS:
        turns = [turn for turn in (questions.draw(*form) for _ in range(300)) if "Stranger" in turn.text]
        assert len(turns) > 10
        for turn in turns:
            # The first name of a question is the head; nothing is learned about it.
            n_tails = 1 if form[0] == "TFQ" else 4
            assert turn.truths == (None, *[False] * n_tails)
            if form[0] == "TFQ":
                assert turn.reply == f" {form[1]}"
            else:
                assert not turn.is_taught


def test_the_shown_demonstrations_are_those_of_the_evaluation(
    base: KnowledgeBase, wording: QuestionWording, lessons: FacetLessons
) -> None:
    """The seed of the edition does not change them."""
    sampling = TripletSampling(5)
    triplets, texts = draw_triplets(base, RELATION, sampling), wording.select_relation(RELATION)
    questions = draw_questions(collect_facts(base, RELATION), triplets, texts, sampling)
    shots: dict[tuple[str, bool], list[AnsweredQuestion]] = {}
    for row in select_demonstrations(questions).iter_rows(named=True):
        form = (row["type"], row["is_negated"])
        shots.setdefault(form, []).append(AnsweredQuestion(build_question(row), row["answer"]))
    (shown,) = lessons.shown
    assert shots.keys() == shown.plain.keys() == shown.reasoned.keys()
    for form, turns in shown.plain.items():
        expected = PromptForm().render(shots[form], "the question").text
        assert expected == f"{join_turns(turns)}\n\nthe question"
        answers = [turn.reply.split("the answer is:")[-1] for turn in shown.reasoned[form]]
        assert answers == [turn.reply for turn in turns]


@pytest.mark.parametrize("kind", SIZES)
@pytest.mark.parametrize("phase", [ALONE, PROMPTS])
def test_a_prompt_has_the_same_tokens_in_parts_as_in_one_piece(
    lessons: FacetLessons, encoder: TurnEncoder, kind: str, phase: FacetPhase
) -> None:
    lessons.seed(2)
    drawn = lessons.draw(kind, phase)
    batch = encoder.encode(drawn)
    for lesson, ids in zip(drawn, batch.ids.tolist(), strict=True):
        whole = encoder.tokenizer.encode(lesson.text).ids
        assert ids[: len(whole) + 1] == [*whole, encoder.end]


def test_the_targets_are_the_answers_and_the_end_after_the_last(
    lessons: FacetLessons, encoder: TurnEncoder
) -> None:
    (questions,) = lessons.questions
    lessons.seed(3)
    first, second = (draw_known(questions) for _ in range(2))
    batch = encoder.encode([TurnLesson((first.show(), first, second), is_negated=False)])
    decode = encoder.tokenizer.id_to_token
    assert [decode(token) for token in batch.ids[batch.is_answer].tolist()] == [first.reply, second.reply]
    assert batch.ids[batch.is_word].tolist() == [encoder.end]
    # Each question names its head, of which nothing is asked, and four tails.
    told = batch.truths[batch.truths != NO_TRUTH].bool().tolist()
    assert told == [*first.truths[1:], *second.truths[1:]]


def draw_known(questions: QuestionTurns) -> Turn:
    while "Stranger" in (turn := questions.draw("MAQ", False)).text:
        pass
    return turn


def test_no_lesson_contains_a_name_that_is_never_met(
    base: KnowledgeBase, known: frozenset[Unit], lessons: FacetLessons
) -> None:
    names = list_never_met(base, known, list_demonstrating(base))
    assert names
    lessons.seed(4)
    drawn = [lesson for kind in PROMPTS.shares for _ in range(5) for lesson in lessons.draw(kind, PROMPTS)]
    # Search only for names that are no part of a longer one.
    others = (set(base.triplets["head"]) | set(base.triplets["tail"])) - set(names)
    alone = [name for name in names if not any(name in other for other in others)]
    assert len(alone) > 5
    assert not [name for name in alone if any(name in lesson.text for lesson in drawn)]
