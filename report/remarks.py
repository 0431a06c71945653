"""Say in plain words what a row of the leaderboard means: for the page, the console and the Prefect UI."""

from typing import Any

Row = dict[str, Any]


def list_remarks(row: Row, name: str) -> list[str]:
    """Return what a reader of the scores should know about the model, one sentence each.

    Args:
        row: a row of the leaderboard.
        name: the name of the model in the sentences.
    """
    remarks = [_describe_constant(row, name), _compare_with_shortcut(row, name)]
    return [remark for remark in remarks if remark]


def _describe_constant(row: Row, name: str) -> str | None:
    """Name a constant answerer as one."""
    answer = row["constant_answer"]
    if answer is None:
        return None
    share = row["true_rate"] if answer else 1 - row["true_rate"]
    return f"{name} always answers {answer} ({100 * share:.1f} % of its answers), whatever it is asked."


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


def _compare_with_shortcut(row: Row, name: str) -> str | None:
    """Say that the mastery is below that of the best shortcut, or not distinguishable from it."""
    verdict = judge_against_shortcut(row)
    if verdict in (None, "above"):
        return None
    mastery, of_shortcut = (f"{100 * row[key]:.1f} %" for key in ("mastery", "best_shortcut_mastery"))
    if verdict == "below":
        return (
            f"{name} masters {mastery} of the facts, fewer than the best shortcuts without medical knowledge "
            f"({of_shortcut})."
        )
    return (
        f"{name} masters {mastery} of the facts, which is not distinguishable from the best shortcuts "
        f"without medical knowledge ({of_shortcut})."
    )
