"""What a reader of a leaderboard must know about models that were asked every prompt several times."""

from pathlib import Path
from typing import Any

from report.console import format_with_interval
from warehouse.query import read_rows


def note_repeats(root: Path, edition_id: str) -> list[str]:
    """Return a sentence with the mean over the repeats for each model and method with several of them."""
    rows = read_rows(
        root,
        f"from repeat_spread where edition_id = '{edition_id}' "
        "order by method, scoring_policy, model, model_id",
    )
    return [_note(row) for row in rows]


def _note(row: dict[str, Any]) -> str:
    accuracy = format_with_interval(row["average_accuracy"], row["ci_low"], row["ci_high"])
    mastery = format_with_interval(row["mastery"], row["mastery_ci_low"], row["mastery_ci_high"])
    return (
        f"{row['model']} ({row['method']}, {row['scoring_policy']}): the leaderboard shows the first of "
        f"{row['n_repeats']} repeats. Their mean accuracy is {accuracy} %, their mean mastery {mastery} %."
    )
