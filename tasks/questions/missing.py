"""The questions that the heads of a relation can and cannot carry, counted without drawing any of them."""

from collections import Counter
from typing import Any

from schemas.question_stages import TYPES
from tasks.drawing.heads import TripletSampling
from tasks.questions.points import Points, collect_points, list_missing
from tasks.questions.questions import Facts

Form = tuple[str, bool]
"""Type of question, and whether it is negated."""


def describe_missing(facts: Facts, sampling: TripletSampling) -> list[dict[str, Any]]:
    """Return, as JSON, one item per type, form and reason, with the heads that it is about."""
    return group_missing(find_points(facts, sampling))


def find_points(facts: Facts, sampling: TripletSampling) -> Points:
    """Return the points of the facts of one relation."""
    return collect_points(facts.relation, facts.rows, facts.also_false, facts.triplets, sampling, facts.heads)


def group_missing(points: Points) -> list[dict[str, Any]]:
    """Return one item per type, form and reason, with the heads of the relation that it is about."""
    heads: dict[tuple[str, bool, str], list[str]] = {}
    for question in list_missing(points):
        key = (question.type, question.is_negated, question.reason)
        heads.setdefault(key, []).append(question.head)
    return [
        {"type": type_, "is_negated": is_negated, "reason": reason, "n_heads": len(names), "heads": names}
        for (type_, is_negated, reason), names in sorted(heads.items())
    ]


def count_carriers(points: Points) -> Counter[Form]:
    """Return (type, is_negated) -> the number of tested points about which there is such a question."""
    forms = [(type_, is_negated) for type_ in TYPES for is_negated in (False, True)]
    tested = {point.name for point in points.tested}
    missing = Counter((item.type, item.is_negated) for item in list_missing(points) if item.head in tested)
    return Counter({form: len(tested) - missing[form] for form in forms})
