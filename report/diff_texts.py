"""Write what two editions share as tables: how many items, the scores on both, and the items themselves."""

import json
from pathlib import Path
from typing import Any

from primitives.untrusted_text import escape_controls
from report.console import format_with_interval
from report.edition_diff import CHANGES, EditionDiff, list_changes
from report.query_results import render_rows

Result = tuple[list[str], list[tuple[Any, ...]]]
"""The names of the columns, and the rows."""
COUNT_COLUMNS = ("n_items", "n_other_items", "n_same", "n_gone", "n_new", "n_replaced")
ESTIMATES = ("other_score", "other_ci_low", "other_ci_high", "score", "ci_low", "ci_high")
DIFFERENCES = ("difference", "difference_ci_low", "difference_ci_high")
# Column of the macro -> its name where the first edition is the one to compare with.
NAMES = {
    "n_items": "n_first",
    "n_other_items": "n_second",
    "other_score": "first_score",
    "other_ci_low": "first_ci_low",
    "other_ci_high": "first_ci_high",
    "score": "second_score",
    "ci_low": "second_ci_low",
    "ci_high": "second_ci_high",
}


def list_counts(diff: EditionDiff, *, of_changed: bool = False) -> Result:
    """Return how many facts, negatives, texts and demonstrations are the same, in all and per relation.

    Args:
        of_changed: whether relations of which everything is the same are left out.
    """
    columns = ("item", "relation", *COUNT_COLUMNS)
    rows = [
        row | {"relation": "all" if row["relation"] is None else row["relation"]}
        for row in diff.counts
        if not of_changed or row["relation"] is None or row["n_gone"] + row["n_new"]
    ]
    return [NAMES.get(name, name) for name in columns], [tuple(row[name] for name in columns) for row in rows]


def list_scores(diff: EditionDiff) -> Result:
    """Return the scores of every model on the shared pairs, and their paired difference, second − first."""
    setting = ("model", "model_id", "method", "scoring_policy", "measure", "n_pairs")
    columns = (*setting, *ESTIMATES, *DIFFERENCES, "verdict", "n_texts", "n_same_answers")
    names = ["second_is" if name == "verdict" else NAMES.get(name, name) for name in columns]
    return names, [tuple(row[name] for name in columns) for row in diff.scores]


def describe_diff(diff: EditionDiff) -> str:
    """Return which two editions are compared, a line each, and a sentence if their bases differ."""
    lines = [f"first:  {diff.first['edition_id']}", f"second: {diff.second['edition_id']}"]
    if diff.first["kb"] != diff.second["kb"]:
        lines.append(
            f"The bases have different names ({diff.first['kb']} and {diff.second['kb']}): facts are the "
            "same only where their names and ids are."
        )
    return escape_controls("\n".join(lines))


def list_diff_notes(diff: EditionDiff) -> list[str]:
    """Return what a reader needs to judge the scores, a sentence or two each."""
    notes = [f"Only one of the editions has scores of {text}." for text in diff.models_of_one]
    if not diff.scores:
        return ["No model has scores on a pair that both editions test.", *notes]
    answers: dict[tuple[str, ...], str] = {}
    for row in diff.scores:
        share = f"{row['n_same_answers']:,} of {row['n_texts']:,} samples with the same text"
        answers[row["model"], row["model_id"], row["method"], row["scoring_policy"]] = (
            f"{row['model']}, {row['method']} under {row['scoring_policy']}: {share} have the same prompt, "
            "too, and so one stored answer in both editions."
        )
    return [
        "Scores count the pairs whose true and false triplet are in both editions; their texts may differ. "
        "Where the second is not distinguishable from the first, the interval of the difference contains 0.",
        *answers.values(),
        *notes,
    ]


def render_diff(diff: EditionDiff, form: str) -> str:
    """Return the counts and the scores with notes; as JSON, one object with all of them.

    Args:
        form: table, json or markdown.
    """
    parts = {"counts": list_counts(diff), "scores": list_scores(diff)}
    if form == "json":
        content = {"first": diff.first["edition_id"], "second": diff.second["edition_id"]}
        lists = {name: json.loads(render_rows(*part, form)) for name, part in parts.items()}
        return json.dumps(content | lists | {"notes": list_diff_notes(diff)}, indent=2, ensure_ascii=False)
    tables = [render_rows(*list_counts(diff, of_changed=True), form, is_wide=True)]
    if diff.scores:
        result = _shorten_scores(diff) if form == "table" else parts["scores"]
        tables.append(render_rows(*result, form, is_wide=True))
    return "\n\n".join([describe_diff(diff), *tables, "\n".join(list_diff_notes(diff))])


def render_part(root: Path, diff: EditionDiff, part: str, form: str) -> str:
    """Return one table.

    Args:
        part: counts, scores, changes (what is gone, replaced or new) or same.
        form: table, csv, json or markdown.
    """
    if part == "counts":
        result = list_counts(diff)
    elif part == "scores":
        result = list_scores(diff)
    else:
        result = list_changes(root, diff, CHANGES[:3] if part == "changes" else CHANGES[3:])
    return render_rows(*result, form, is_wide=True)


def _shorten_scores(diff: EditionDiff) -> Result:
    """Return the scores for a console: in percent, each with its interval in one cell."""
    columns = ["model", "method", "scoring", "measure", "first %", "second %", "difference [95 % CI]"]
    rows = [
        (
            *(row[name] for name in ("model", "method", "scoring_policy", "measure")),
            format_with_interval(row["other_score"], row["other_ci_low"], row["other_ci_high"]),
            format_with_interval(row["score"], row["ci_low"], row["ci_high"]),
            format_with_interval(row["difference"], row["difference_ci_low"], row["difference_ci_high"]),
            row["verdict"],
            row["n_pairs"],
        )
        for row in diff.scores
    ]
    return [*columns, "second is", "pairs"], rows
