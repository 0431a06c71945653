"""Read the part of a page about questions from the warehouse."""

from collections.abc import Mapping

from report.contents import Row
from report.edition_reader import EditionReader
from report.facet_scores import read_facet_scores, select_first_policy
from report.question_contents import QuestionContents
from schemas.question_stages import LETTERS, TYPES


def read_question_contents(reader: EditionReader) -> QuestionContents | None:
    """Return what a page shows of an edition's questions; None if it has none."""
    (counts,) = reader.read(
        "select count(distinct point_id) filter (split = 'test') as n_points, "
        "count(distinct point_id) filter (split = 'demonstration') as n_demonstration_points, "
        "count(*) filter (split = 'test') as n_questions from questions where edition_id = $edition_id"
    )
    if not counts["n_points"]:
        return None
    scores = select_first_policy(read_facet_scores(reader.read_unbound, reader.edition_id))
    policy = {"scoring_policy": scores[0].scoring_policy} if scores else {"scoring_policy": None}
    return QuestionContents(
        counts=counts,
        scores=scores,
        parts=[row for row in reader.read_view("facet_accuracy", **policy) if row["is_negated"] is not None],
        mastered=reader.read_view("mastered_points", is_paper_order=True, **policy),
        example=_read_example(reader, policy["scoring_policy"]),
        baselines=[row for row in reader.read_view("option_baselines") if row["relation"] is None],
        agreement=reader.read_view("facets_transformations_agreement", **policy),
        known=reader.read_view("known_facets", **policy),
        mastered_differences=_read_mastered_differences(reader, policy),
        facet_differences=reader.read_view("facet_comparison", **policy),
    )


def _read_mastered_differences(reader: EditionReader, policy: Mapping[str, str | None]) -> list[Row]:
    """Return how far models differ in mastered points, with all facets of the edition."""
    rows = reader.read_view("mastered_points_comparison", is_negated_included=False, **policy)
    last = max((row["step"] for row in rows), default=None)
    return [row for row in rows if row["step"] == last]


def _read_example(reader: EditionReader, scoring_policy: str | None) -> list[Row]:
    """Return the questions of the test point with the most answers, then the shortest texts."""
    questions = reader.read(
        "with answered as (select question_id, count(*) as n from question_predictions "
        "where edition_id = $edition_id group by question_id), "
        "points as (select point_id from questions left join answered using (question_id) "
        "where edition_id = $edition_id and split = 'test' group by point_id "
        "order by sum(coalesce(n, 0)) desc, count(*) desc, sum(length(text)), point_id limit 1) "
        "select question_id, relation, head, type, is_negated, text, options, offered, answer "
        "from questions where edition_id = $edition_id and point_id in (from points) "
        "order by is_negated, question_id"
    )
    said = reader.read(
        "select setting, model_id, question_id, prediction, is_correct from question_predictions "
        "where edition_id = $edition_id and scoring_policy = $scoring_policy "
        "and list_contains($question_ids, question_id) order by setting, model_id",
        scoring_policy=scoring_policy,
        question_ids=[row["question_id"] for row in questions],
    )
    for row in questions:
        row["lettered"] = list(zip(LETTERS, row["options"], strict=False))
        row["said"] = [answer for answer in said if answer["question_id"] == row["question_id"]]
    return sorted(questions, key=lambda row: (TYPES.index(row["type"]), row["is_negated"]))
