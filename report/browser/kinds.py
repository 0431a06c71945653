"""The two kinds of collections of the sample browser: statements and questions."""

from dataclasses import dataclass

from report.contents import Row
from schemas.question_stages import FACET_OF
from schemas.transformations import TRANSFORMATIONS


@dataclass(frozen=True)
class Kind:
    """How a kind of collection is read."""

    name: str
    """The prefix of its SQL files."""
    items: str
    """The table of its items."""
    scores: str
    """The table of the bit sets of its groups."""
    taught: str
    """The view of what reference models were taught about its groups."""
    group_column: str
    run_columns: tuple[str, ...]
    """What distinguishes runs in that table."""
    reply_columns: tuple[str, ...]
    """Which of them distinguish replies: a scoring policy does not."""


STATEMENTS = Kind(
    "statement",
    "samples",
    "pair_scores",
    "taught_pairs",
    "pair_id",
    ("model_id", "scoring_policy", "repeat"),
    ("model_id",),
)
QUESTIONS = Kind(
    "question",
    "questions",
    "point_scores",
    "taught_points",
    "point_id",
    ("model_id", "scoring_policy", "setting"),
    ("model_id", "setting"),
)


def list_forms(kind: Kind, method: str) -> list[Row]:
    """Return what the forms of items mean, by their number in the SQL files."""
    if kind is QUESTIONS:
        return [
            {"name": name, "facet": facet, "is_negated": is_negated}
            for name, facet in FACET_OF.items()
            for is_negated in (False, True)
        ]
    has_transformations = method != "llmeval"
    return [
        {
            "name": t.name if has_transformations else f"line {k + 1}",
            "is_negated": t.is_negated if has_transformations else None,
            "is_true_tail": is_true_tail,
        }
        for is_true_tail in (True, False)
        for k, t in enumerate(TRANSFORMATIONS)
    ]
