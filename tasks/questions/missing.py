"""The questions that the heads of a relation cannot carry: counts and names for the manifest."""

from typing import Any

from tasks.drawing.heads import TripletSampling
from tasks.questions.points import collect_points, list_missing
from tasks.questions.questions import Facts


def describe_missing(facts: Facts, sampling: TripletSampling) -> list[dict[str, Any]]:
    """Return, as JSON, one item per type, form and reason, with the heads that it is about."""
    points = collect_points(facts.relation, facts.rows, facts.also_false, facts.triplets, sampling)
    heads: dict[tuple[str, bool, str], list[str]] = {}
    for question in list_missing(points):
        key = (question.type, question.is_negated, question.reason)
        heads.setdefault(key, []).append(question.head)
    return [
        {"type": type_, "is_negated": is_negated, "reason": reason, "n_heads": len(names), "heads": names}
        for (type_, is_negated, reason), names in sorted(heads.items())
    ]
