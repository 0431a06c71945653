"""Explanations in words of why the scores of an edition moved, from its anchors and its fresh texts."""

from pathlib import Path
from typing import Any

from pretexeval.primitives.errors import count_noun
from warehouse.query import read_rows

EXPLANATIONS = {
    "model changed": "the figures support that the served model changed",
    "texts had leaked": "the figures support that earlier texts had leaked",
    "both": "the figures support both that the served model changed and that earlier texts had leaked",
    "neither is supported": "the figures support neither a changed model nor a leak",
    None: "too few answers to tell",
}
"""Explanation of the view drift_explanations -> a sentence."""


def describe_drift(root: Path, edition_id: str) -> list[str]:
    """Return a sentence for each model that was asked anchors in the edition's period and the one before."""
    # The view takes a second, and most warehouses have no anchors.
    if not read_rows(root, "select 1 from runs where period is not null limit 1"):
        return []
    rows = read_rows(
        root,
        f"from drift_explanations where other_edition_id = '{edition_id}' and is_successive and repeat = 0 "
        "and scoring_policy = 'strict' order by model, model_id, method, edition_id",
    )
    n_methods = len({row["method"] for row in rows})
    return [_describe(row, f" ({row['method']})" if n_methods > 1 else "") for row in rows]


def _describe(row: dict[str, Any], method: str) -> str:
    periods = f"from {row['period']} to {row['other_period']}"
    return f"Anchors: {row['model']}{method}, {periods}: {EXPLANATIONS[row['explanation']]}."


def describe_freshness(root: Path, edition_id: str) -> str | None:
    """Return how much is new, by method for texts; None for the first edition of a base."""
    sql = f"from freshness where edition_id = '{edition_id}' order by method"
    rows = [row for row in read_rows(root, sql) if row["n_earlier_editions"]]
    if not rows:
        return None
    texts = ", ".join(f"{row['new_text_rate']:.1%} of the texts of {row['method']}" for row in rows)
    editions = count_noun(rows[0]["n_earlier_editions"], "earlier edition")
    facts = f"{rows[0]['new_fact_rate']:.1%} of the facts"
    return f"New, compared with {editions} of this base: {texts}, and {facts}."
