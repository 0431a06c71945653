"""What `pretexeval validate` says about the questions that an edition will have, and those it cannot have."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

from report.console import align
from schemas.question_stages import TYPES
from schemas.stages import TRIPLETS
from tasks.edition.edition import Edition
from tasks.edition.manifest import list_left_out
from tasks.edition.preview import preview_questions
from tasks.edition.recipes import find_recipe
from tasks.questions.points import Form, Points, collect_points, count_carriers, describe_missing

MAX_NAMES_SHOWN = 3
# How many questions of each type, in each form, are asked about a point. One RQ offers the right option, the
# other a wrong one.
N_QUESTIONS = {"MCQ": 1, "RQ": 2, "MAQ": 1, "TFQ": 1}


@dataclass(frozen=True)
class FormCount:
    """The test questions of one type and form."""

    type: str
    is_negated: bool
    n_questions: int
    n_points: int
    """The points that they are about."""


@dataclass(frozen=True)
class QuestionSummary:
    """The test questions that an edition will have."""

    n_points: int
    forms: tuple[FormCount, ...]
    missing: tuple[str, ...]
    """A line per kind of question that heads or items cannot carry, with the reason."""


def summarize_questions(edition: Edition) -> QuestionSummary:
    """Count the test questions by type and form, and those that heads cannot carry, with reasons.

    Questions about a knowledge base are counted without drawing their options, which takes most of the time.
    """
    if edition.has_triplets:
        points = list(_iterate_points(edition))
        carriers = sum(map(count_carriers, points), Counter[Form]())
        counts = {form: (n * N_QUESTIONS[form[0]], n) for form, n in carriers.items()}
        n_points = sum(len(found.tested) for found in points)
        lines = [line for found in points for line in _list_missing(found)]
    else:
        tested = pl.concat(preview_questions(edition)).filter(pl.col("split") == "test")
        n_points = tested["point_id"].n_unique()
        counts = _count_rows(tested)
        lines = list(_list_unturned(edition))
    forms = [
        FormCount(type_, is_negated, *counts[type_, is_negated])
        for type_ in TYPES
        for is_negated in (False, True)
        if counts.get((type_, is_negated), (0,))[0]
    ]
    return QuestionSummary(n_points, tuple(forms), tuple(lines))


def render_questions(summary: QuestionSummary) -> str:
    """Return a table of the test questions by type and form, and a line per kind that is missing."""
    rows = [
        [
            form.type,
            "negated" if form.is_negated else "affirmed",
            f"{form.n_questions:,}",
            f"{form.n_points:,}",
        ]
        for form in summary.forms
    ]
    table = align(["type", "form", "test questions", "points"], rows)
    lines = (f"  {line}" for line in summary.missing)
    return "\n".join([f"questions about {summary.n_points:,} points", table, *lines])


def _iterate_points(edition: Edition) -> Iterator[Points]:
    """Yield the points of each piece, with triplets that are built in memory."""
    for name, piece in edition.pieces.items():
        triplets = find_recipe(edition, TRIPLETS.name).build(edition, name, {})
        facts, sampling = edition.find_facts(piece.relation), edition.sample_relation(piece.relation)
        yield collect_points(facts, piece, triplets, sampling)


def _list_missing(points: Points) -> Iterator[str]:
    """Yield a line per type, form and reason with the heads that cannot carry the question."""
    for item in describe_missing(points):
        names = item["heads"]
        more = ", …" if len(names) > MAX_NAMES_SHOWN else ""
        form = "negated " if item["is_negated"] else ""
        yield (
            f"{points.relation}: no {form}{item['type']} about {item['n_heads']:,} heads "
            f"({', '.join(names[:MAX_NAMES_SHOWN])}{more}): {item['reason']}"
        )


def _count_rows(questions: pl.DataFrame) -> dict[Form, tuple[int, int]]:
    """Return (type, is_negated) -> the number of its questions, and of the points that they are about."""
    counted = questions.group_by("type", "is_negated").agg(pl.len(), pl.n_unique("point_id").alias("points"))
    return {(type_, is_negated): (n, n_points) for type_, is_negated, n, n_points in counted.iter_rows()}


def _list_unturned(edition: Edition) -> Iterator[str]:
    """Yield a line per reason with the number of questions of the bank that cannot be turned."""
    reasons = Counter(item.reason for item in list_left_out(edition, None))
    for reason, n in reasons.most_common():
        yield f"left out of the bank, {n:,} times: {reason}"
