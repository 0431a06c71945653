"""Stage questions: up to ten questions of four types about every knowledge point (method, 5)."""

from collections.abc import Callable

import polars as pl

from pretexeval.primitives.hashing import hash_text, render_canonical_json
from prototypes.question_wording import RelationWording
from schemas.question_stages import FACET_OF, QUESTIONS
from schemas.stages import DEMONSTRATION_SALT
from tasks.drawing.heads import TripletSampling
from tasks.drawing.pieces import Piece
from tasks.drawing.relation_facts import RelationFacts
from tasks.questions.options import draw_options
from tasks.questions.points import Point, collect_points, identify_point
from tasks.questions.writing import Question, QuestionWriter

QUESTIONS_VERSION = 1
"""Count it up when the function gives other rows for the same arguments."""


def build_questions(
    piece: Piece,
    find_facts: Callable[[], RelationFacts],
    triplets: pl.DataFrame,
    wording: RelationWording,
    sampling: TripletSampling,
    source: str | None = None,
) -> pl.DataFrame:
    """Return one row per question about the heads of a piece, with the columns of the stage questions.

    Args:
        triplets: the triplets of the piece.
        sampling: how the triplets were drawn.
        source: what the questions were made from.
    """
    points = collect_points(find_facts(), piece, triplets, sampling)
    options = draw_options(points, sampling)
    schema = pl.DataFrame(QUESTIONS.schema.empty_table()).schema
    salts = {str(sampling.seed): points.tested, DEMONSTRATION_SALT: points.demonstrations}
    described = [
        _describe(piece.relation, point, question, source)
        for salt, of_split in salts.items()
        for point, question in QuestionWriter(wording, of_split, options, (salt, piece.relation)).write()
    ]
    return pl.DataFrame(described, schema, orient="row")


def draw_questions(
    facts: RelationFacts, triplets: pl.DataFrame, wording: RelationWording, sampling: TripletSampling
) -> pl.DataFrame:
    """Return the questions about all heads of a relation; see `build_questions`."""
    return build_questions(Piece(facts.relation), lambda: facts, triplets, wording, sampling)


def _describe(relation: str, point: Point, question: Question, source: str | None) -> tuple[object, ...]:
    """Return the row of a question."""
    return (
        identify_question(relation, point, question),
        identify_point(relation, point.name, point.head_id),
        None if point.pair is None else point.pair.pair_id,
        relation,
        point.name,
        point.split,
        FACET_OF[question.type],
        question.type,
        question.is_negated,
        question.text,
        list(question.options),
        question.answer,
        question.offered,
        source,
    )


def identify_question(relation: str, point: Point, question: Question) -> str:
    """Return the id of the question: the hash of its point and of all its content (16 hex digits)."""
    return hash_text(
        "question",
        relation,
        point.name,
        point.head_id or "",
        question.type,
        str(question.is_negated),
        question.text,
        render_canonical_json(question.options),
        question.answer,
        question.offered or "",
    )
