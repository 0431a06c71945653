"""The points that a facet model is to know, and the demonstrations that the evaluation shows it."""

from random import Random

import polars as pl

from knowledge.base import KnowledgeBase
from prototypes.question_wording import QuestionWording
from schemas.question_stages import LETTERS
from tasks.drawing.heads import TripletSampling
from tasks.drawing.pieces import Piece
from tasks.drawing.relation_facts import collect_facts
from tasks.edition.triplets import draw_triplets
from tasks.evaluation.question_requests import build_question, select_demonstrations
from tasks.questions.points import collect_points
from tasks.questions.questions import draw_questions
from training.curriculum import FIRST_SEED
from training.facet_lessons import EvaluatedTurns, Form
from training.question_turns import QuestionTurns, TaughtPoint, TaughtRelation, build_turn
from training.strangers import Unit
from training.turns import Turn


def collect_taught(
    base: KnowledgeBase, wording: QuestionWording, known: frozenset[Unit], random: Random
) -> list[tuple[QuestionTurns, EvaluatedTurns]]:
    """Return, for each relation with a known head, what draws its questions, and its demonstrations."""
    collected = []
    for relation in base.relations:
        facts, sampling = collect_facts(base, relation), TripletSampling(FIRST_SEED)
        texts = wording.select_relation(relation)
        triplets = draw_triplets(base, relation, sampling)
        points = collect_points(facts, Piece(relation), triplets, sampling)
        taught = tuple(
            TaughtPoint(point.name, point.true, point.forbidden | set(point.true))
            for point in (*points.tested, *points.demonstrations)
            if (relation, point.name) in known
        )
        if taught:
            turns = QuestionTurns(TaughtRelation(relation, texts, taught, points.pool), random)
            questions = draw_questions(facts, triplets, texts, sampling)
            collected.append((turns, _show_demonstrations(questions)))
    return collected


def _show_demonstrations(questions: pl.DataFrame) -> EvaluatedTurns:
    plain: dict[Form, tuple[Turn, ...]] = {}
    reasoned: dict[Form, tuple[Turn, ...]] = {}
    for row in select_demonstrations(questions).iter_rows(named=True):
        form = (row["type"], row["is_negated"])
        truths = _read_truths(row["answer"], len(row["options"]), row["is_negated"])
        for turns, is_reasoned in ((plain, False), (reasoned, True)):
            turn = build_turn(build_question(row), row["answer"], truths, is_reasoned=is_reasoned)
            turns[form] = (*turns.get(form, ()), turn.show())
    return EvaluatedTurns(plain, reasoned)


def _read_truths(answer: str, n_options: int, is_negated: bool) -> list[bool]:
    """Return for each tail of a question whether it is true of the head, by the answer."""
    if n_options == 0:
        return [(answer == "T") != is_negated]
    right = answer.split("|")[-1].split(",")
    return [(letter in right) != is_negated for letter in LETTERS[:n_options]]
