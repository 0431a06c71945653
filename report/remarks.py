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
    found: dict[str, list[str]] = {}
    for row in rows:
        for key in _list_verdicts(row):
            found.setdefault(key, []).append(names[row["model_id"]])
    return [_SENTENCES[key](list(dict.fromkeys(labels))) for key, labels in sorted(found.items())]


def _list_verdicts(row: Row) -> list[str]:
    answer = row["constant_answer"]
    constant = [] if answer is None else [f"always {answer}"]
    verdict = judge_against_shortcut(row)
    return constant + ([verdict] if verdict in ("below", "not distinguishable") else [])


def _say_constant(labels: list[str], answer: str) -> str:
    verb = "answers" if len(labels) == 1 else "answer"
    return f"{join_names(labels, len(labels))} always {verb} {answer}, whatever the statement says."


def _say_below(labels: list[str]) -> str:
    verb = "masters" if len(labels) == 1 else "master"
    return f"{join_names(labels, len(labels))} {verb} fewer facts than the best shortcuts without medical knowledge."


def _say_level(labels: list[str]) -> str:
    verb = "masters" if len(labels) == 1 else "master"
    return (
        f"{join_names(labels, len(labels))} {verb} a share of the facts that is not distinguishable from that of the "
        "best shortcuts without medical knowledge."
    )


_SENTENCES = {
    "always True": lambda labels: _say_constant(labels, "True"),
    "always False": lambda labels: _say_constant(labels, "False"),
    "below": _say_below,
    "not distinguishable": _say_level,
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
