"""Say in plain words what rows of the leaderboard mean: for the page, the console and the Prefect UI."""

from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from report.formats import format_interval, format_magnitude, format_percent, join_names
from warehouse.query import read_rows

Row = dict[str, Any]
# What the replies of an evaluation say about the server that gave them (tasks/asking/server_habits.py).
REPLY_REMARKS = """
select runs.model_id, models.name as model, runs.setting, unnest(runs.remarks) as remark
from runs
inner join models using (model_id)
where runs.edition_id = $edition_id and runs.period is null
order by all
"""
MAX_BASE_DIFFERENCE = 0.02
"""A larger difference between the tested facts and those of the base is said on the page."""
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
        for verdict in (f"always {row['constant_answer']}", str(judge_against_shortcut(row))):
            if verdict in _SENTENCES:
                found.setdefault(verdict, {})[names[row["model_id"]]] = None
    return [
        f"{join_names([*labels], len(labels))} {_SENTENCES[verdict].format(s='' if len(labels) > 1 else 's')}"
        for verdict, labels in sorted(found.items())
    ]


def note_replies(rows: Sequence[Row]) -> list[str]:
    """Return a sentence for each remark on the replies of a model; rows of REPLY_REMARKS."""
    return [
        f"{row['model']}{' (' + row['setting'] + ')' if row['setting'] else ''}: {row['remark']}"
        for row in rows
    ]


def read_reply_remarks(root: Path, edition_id: str) -> list[Row]:
    """Return the rows of REPLY_REMARKS of an edition."""
    return read_rows(root, REPLY_REMARKS.replace("$edition_id", f"'{edition_id}'"))


def note_base(ranked: Sequence[Row], of_base: Sequence[Row], names: Mapping[str, str]) -> list[str]:
    """Return a note on the scores that are clearly other ones for a fact of the base, if there are any.

    Args:
        ranked: rows of the leaderboard in one setting.
        of_base: rows of scores in this setting, with the weighting `facts`.
        names: model_id -> the name of the model in the sentences.
    """
    weighted, found = {row["model_id"]: row for row in of_base}, []
    for measure, row in product(("mastery", "average_accuracy"), ranked):
        score, low, high = (
            weighted.get(row["model_id"], {}).get(f"{measure}{end}") for end in ("", "_ci_low", "_ci_high")
        )
        if score is None or row[measure] is None or abs(score - row[measure]) <= MAX_BASE_DIFFERENCE:
            continue
        points = f"{format_magnitude(score - row[measure])} points"
        found.append(
            f"the {measure.replace('_', ' ')} of {names[row['model_id']]} is estimated at "
            f"{format_percent(score)} ({format_interval(low, high)}), {points} "
            f"{'higher' if score > row[measure] else 'lower'}"
        )
    if not found:
        return []
    reason = "Common and rare facts were not tested as often as the knowledge base lists them."
    return [f"{reason} For a fact of the base, {'; '.join(found)}."]


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
