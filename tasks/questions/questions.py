"""Stage questions: up to ten questions of four types about every knowledge point (method, 5)."""

from dataclasses import dataclass

import polars as pl

from primitives.hashing import hash_text, render_canonical_json
from prototypes.question_wording import RelationWording
from schemas.question_stages import FACET_OF, QUESTIONS
from schemas.stages import DEMONSTRATION_SALT
from tasks.drawing.heads import TripletSampling
from tasks.drawing.planned_heads import PieceHeads
from tasks.questions.options import draw_options
from tasks.questions.points import MissingQuestion, Point, collect_points, identify_point, list_missing
from tasks.questions.writing import Question, QuestionWriter


@dataclass(frozen=True)
class Facts:
    """What the questions of one relation are made from."""

    relation: str
    rows: pl.DataFrame
    """The relation's rows of the knowledge base: head, tail, head_id, tail_id, also_true."""
    also_false: pl.DataFrame
    """The relation's triplets that the base asserts to be false."""
    triplets: pl.DataFrame
    """The relation's triplets of the edition, of both splits, drawn from these rows."""
    heads: PieceHeads | None = None
    """The heads that these questions are about; null in editions of format 1, which are not cut in pieces."""


@dataclass(frozen=True)
class DrawnQuestions:
    """The questions of one relation, and those that heads cannot carry."""

    frame: pl.DataFrame
    missing: list[MissingQuestion]


QUESTIONS_VERSION = 1
"""Count it up when the function gives other rows for the same arguments."""


def build_questions(
    facts: Facts, wording: RelationWording, sampling: TripletSampling, source: str | None = None
) -> pl.DataFrame:
    """Return one row per question of the relation, with the columns of the stage questions.

    Args:
        sampling: how the triplets were drawn.
        source: what the questions were made from.
    """
    return draw_questions(facts, wording, sampling, source).frame


def draw_questions(
    facts: Facts, wording: RelationWording, sampling: TripletSampling, source: str | None = None
) -> DrawnQuestions:
    """Return the questions of the relation, and those that its heads cannot carry; see `build_questions`."""
    points = collect_points(
        facts.relation, facts.rows, facts.also_false, facts.triplets, sampling, facts.heads
    )
    options = draw_options(points, sampling)
    schema = pl.DataFrame(QUESTIONS.schema.empty_table()).schema
    salts = {str(sampling.seed): points.tested, DEMONSTRATION_SALT: points.demonstrations}
    described = [
        _describe(facts.relation, point, question, source)
        for salt, of_split in salts.items()
        for point, question in QuestionWriter(wording, of_split, options, (salt, facts.relation)).write()
    ]
    return DrawnQuestions(pl.DataFrame(described, schema, orient="row"), list_missing(points))


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
