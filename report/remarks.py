"""Say in plain words what rows of the leaderboard mean: for the page, the console and the Prefect UI."""

from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from report.certainty import widen
from report.formats import (
    format_count,
    format_interval,
    format_magnitude,
    format_percent,
    join_names,
)
from schemas.columns import SCORING_POLICIES
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
# The scores, and what they would be with the labels exchanged that are more likely wrong than right. A sample
# without an answer stays wrong. Only pairs that were asked in full are audited, so the scores move by the
# change of these pairs: of all pairs, unless `ask` is `enough`.
EXCHANGED = """
with wrong as (
    select pair_id, is_positive, is_contradicted_by_all
    from label_audit
    where edition_id = $edition_id and wrong_probability > 0.5
),
answered as (
    select run, pair_id,
        count_if(is_correct) as n_right,
        count_if(if(is_contradicted_by_all is null, is_correct, prediction <> label and not is_unanswered))
            as n_exchanged_right
    from sample_scores
    semi join wrong using (pair_id)
    left join wrong using (pair_id, is_positive)
    where edition_id = $edition_id and method = 'pretexeval' and period is null
    group by run, pair_id
),
moved as (
    select model_id, scoring_policy, repeat,
        coalesce(sum(n_exchanged_right - n_right), 0) / nullif(sum(n_graded), 0) as more_accuracy,
        (count_if(n_exchanged_right = 2 * k) - count_if(n_right = 2 * k)) / nullif(count_if(is_complete), 0)
            as more_mastery
    from pair_scores
    left join answered using (run, pair_id)
    where edition_id = $edition_id and method = 'pretexeval' and is_in_full
    group by model_id, scoring_policy, repeat
)
select leaderboard.*,
    (select count(*) from wrong) as n_wrong,
    (select count_if(is_contradicted_by_all) from wrong) as n_contradicted_by_all,
    least(greatest(average_accuracy + more_accuracy, 0), 1) as exchanged_accuracy,
    least(greatest(mastery + more_mastery, 0), 1) as exchanged_mastery
from leaderboard
inner join moved using (model_id, scoring_policy, repeat)
where edition_id = $edition_id and method = 'pretexeval' and n_wrong > 0
order by scoring_policy, repeat, rank, model
"""
MAX_BASE_DIFFERENCE = 0.02
"""A larger difference between the tested facts and those of the base is said on the page."""
N_EFFECTIVE = 20
"""With fewer effective heads or tails, an interval is only a rough guide."""


def list_remarks(rows: Sequence[Row]) -> list[str]:
    """Return what a reader of the scores should know, one sentence for all models of which it is true.

    Args:
        rows: rows of the leaderboard in one setting.
    """
    found: dict[str, dict[str, None]] = {}
    n_models = len({row["model_id"] for row in rows})
    for row in rows:
        against = judge_against_shortcut(row, n_models)
        for verdict in (f"always {row['constant_answer']}", str(against)):
            if verdict in _SENTENCES:
                found.setdefault(verdict, {})[row["model"]] = None
    return [
        _SENTENCES[verdict].format(names=join_names([*labels], len(labels)), s="" if len(labels) > 1 else "s")
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


def read_exchanged(root: Path, edition_id: str) -> list[Row]:
    """Return the rows of EXCHANGED of the first repeat under the default policy."""
    rows = read_rows(root, EXCHANGED.replace("$edition_id", f"'{edition_id}'"))
    return [row for row in rows if row["scoring_policy"] == SCORING_POLICIES[0] and row["repeat"] == 0]


def note_labels(rows: Sequence[Row], names: Mapping[str, str]) -> list[str]:
    """Return the sentence about how much the scores could move, if any labels are likely wrong.

    Args:
        rows: rows of EXCHANGED in one setting.
        names: model_id -> the name of the model in the sentence.
    """
    spans = []
    for row in rows:
        for measure, exchanged, text in _MOVED:
            if row[measure] is not None and row[exchanged] is not None:
                low, high = map(format_percent, sorted((row[measure], row[exchanged])))
                spans.append(f"{names[row['model_id']]} {text.format(low, high)}")
                break
    if not spans:
        return []
    n, n_by_all = rows[0]["n_wrong"], rows[0]["n_contradicted_by_all"]
    which = (
        "the label most likely wrong is" if n == 1 else f"the {format_count(n)} labels most likely wrong are"
    )
    n_all = format_count(n_by_all)
    by_all = f"; all models that can tell contradict {n_all} of them, perhaps by a shared error"
    return [f"If {which} wrong, {join_names(spans)}{by_all if n_by_all else ''}."]


_MOVED = (
    ("mastery", "exchanged_mastery", "masters between {} and {} of the facts"),
    ("average_accuracy", "exchanged_accuracy", "is right on between {} and {} of the statements"),
)


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


# "{s}" is the ending of a verb after a single name.
_SENTENCES = {
    "always True": "At least 99 % of the answers of {names} are True.",
    "always False": "At least 99 % of the answers of {names} are False.",
    "below": "{names} master{s} fewer facts than the best shortcuts without medical knowledge.",
    "not distinguishable": (
        "{names} master{s} a share of the facts that is not distinguishable from that of the best shortcuts "
        "without medical knowledge."
    ),
}


def judge_against_shortcut(row: Row, n_models: int) -> str | None:
    """Return whether the mastery of a leaderboard row lies "above" or "below" that of the best shortcut.

    "not distinguishable": the interval of the difference contains 0, with allowance for the number of models.
    None: there is nothing to compare.
    """
    value, low, high = (row[f"mastery_above_shortcut{end}"] for end in ("", "_ci_low", "_ci_high"))
    if low is None or high is None:
        return None
    low, high = widen((value, low, high), n_models)
    if high < 0:
        return "below"
    return "above" if low > 0 else "not distinguishable"
