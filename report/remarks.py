"""Say in plain words what rows of the leaderboard mean: for the page, the console and the Prefect UI."""

from collections.abc import Mapping, Sequence
from typing import Any

from report.formats import join_names

Row = dict[str, Any]
N_EFFECTIVE = 20
"""With fewer effective heads or tails, an interval is only a rough guide."""


def list_remarks(rows: Sequence[Row], names: Mapping[str, str]) -> list[str]:
    """Return what a reader of the scores should know, one sentence for all models of which it is true.

    Args:
        rows: rows of the leaderboard in one setting.
        names: model_id -> the name of the model in the sentences.
    """
    found: dict[str, dict[str, None]] = {}
    for row in rows:
        for verdict in _list_verdicts(row):
            found.setdefault(verdict, {})[names[row["model_id"]]] = None
    return [
        f"{join_names([*labels], len(labels))} {_SENTENCES[verdict].format(s='' if len(labels) > 1 else 's')}"
        for verdict, labels in sorted(found.items())
    ]


def _list_verdicts(row: Row) -> list[str]:
    """Return what is true of the model, as keys of _SENTENCES."""
    verdicts = (f"always {row['constant_answer']}", str(judge_against_shortcut(row)))
    return [verdict for verdict in verdicts if verdict in _SENTENCES]


# The names come first; "{s}" is the ending of a verb after a single name.
_SENTENCES = {
    "always True": "always answer{s} True, whatever the statement says.",
    "always False": "always answer{s} False, whatever the statement says.",
    "below": "master{s} fewer facts than the best shortcuts without medical knowledge.",
    "not distinguishable": (
        "master{s} a share of the facts that is not distinguishable from that of the best shortcuts without "
        "medical knowledge."
    ),
}


def judge_against_shortcut(row: Row) -> str | None:
    """Return whether the mastery of a leaderboard row lies "above" or "below" that of the best shortcut.

    "not distinguishable": the interval of the difference contains 0. None: there is nothing to compare.
    """
    low, high = row["mastery_above_shortcut_ci_low"], row["mastery_above_shortcut_ci_high"]
    if low is None or high is None:
        return None
    if high < 0:
        return "below"
    return "above" if low > 0 else "not distinguishable"
