"""Tables of scores on the console at the end of a run: the leaderboard, the facets, and who has no score."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pretexeval.primitives.untrusted_text import escape_line
from report.console import align, fit_columns, format_share, format_with_interval
from report.facet_scores import FACETS, FacetScores, Row, note_unanswered, note_unanswered_questions
from report.remarks import list_remarks
from warehouse.query import read_rows

# The columns of the leaderboard on the console, the most important one first.
KEYS = (
    "#",
    "model",
    "scoring",
    "accuracy % [95 % CI]",
    "mastery % [95 % CI]",
    "above shortcut [95 % CI]",
    "failed %",
    "no answer %",
    "unfinished %",
    "refused %",
    "pairs",
)


def render_leaderboard(rows: Sequence[Row], *, is_wide: bool = False) -> str:
    """Return a table with one line per model: average accuracy and mastery with their 95 % intervals.

    The shares of failed prompts, of unfinished thoughts and of refusals are columns only if there are any.
    Sentences follow, where there are any: about constant answers, about mastery that does not exceed the best
    shortcut, about thoughts that did not end and about refusals.

    Args:
        is_wide: whether all columns are shown. Otherwise, only the key columns that fit a terminal are.
    """
    if not rows:
        return "no model has been evaluated on this edition yet"
    lines = [_leaderboard_line(row) for row in rows]
    rates = {
        "failed %": "error_rate",
        "unfinished %": "unfinished_reasoning_rate",
        "refused %": "refused_rate",
    }
    for name, rate in rates.items():
        if not any(row[rate] for row in rows):
            _drop(lines, name)
    if len({row["scoring_policy"] for row in rows}) < 2:
        _drop(lines, "scoring")
    table = _align_leaderboard(lines, is_wide=is_wide)
    names = {row["model_id"]: row["model"] for row in rows}
    remarks = [
        f"{method}: {remark}"
        for method in dict.fromkeys(row["method"] for row in rows)
        for remark in list_remarks([row for row in rows if row["method"] == method], names)
    ]
    return "\n".join([table, *remarks, *note_unanswered(rows)])


def _align_leaderboard(lines: Sequence[dict[str, str]], *, is_wide: bool) -> str:
    names, rows = list(lines[0]), [list(line.values()) for line in lines]
    chosen = list(range(len(names)))
    if not is_wide:
        keys = [name for name in KEYS if name in names]
        if len({line["method"] for line in lines}) > 1:
            keys.insert(2, "method")
        chosen = fit_columns(names, rows, list(map(names.index, keys)))
    return align([names[i] for i in chosen], [[row[i] for i in chosen] for row in rows])


def render_not_evaluated(rows: Sequence[Row]) -> str:
    """Return one line per model without a score, with the reason; rows of the view not_evaluated."""
    return "\n".join(
        escape_line(f"not evaluated: {row['model']}{_name_setting(row)}: {row['reason']}") for row in rows
    )


def _name_setting(row: Row) -> str:
    return f" ({row['setting']})" if row["setting"] else ""


def _leaderboard_line(row: dict[str, Any]) -> dict[str, str]:
    """Return column -> cell of one model."""
    above = (row[f"mastery_above_shortcut{end}"] for end in ("", "_ci_low", "_ci_high"))
    return {
        "#": str(row["rank"]),
        "model": row["model"],
        "method": row["method"],
        "scoring": row["scoring_policy"],
        "accuracy % [95 % CI]": format_with_interval(
            row["average_accuracy"], row["average_accuracy_ci_low"], row["average_accuracy_ci_high"]
        ),
        "mastery % [95 % CI]": format_with_interval(
            row["mastery"], row["mastery_ci_low"], row["mastery_ci_high"]
        ),
        "above shortcut [95 % CI]": format_with_interval(*above),
        "joint %": format_share(row["joint_accuracy"]),
        "no answer %": format_share(row["no_answer_rate"]),
        "true %": format_share(row["true_rate"]),
        "unfinished %": format_share(row["unfinished_reasoning_rate"]),
        "refused %": format_share(row["refused_rate"]),
        "failed %": format_share(row["error_rate"]),
        "pairs": f"{row['n_pairs']:,}",
        "samples": f"{row['n_samples']:,}",
    }


def render_facets(scores: Sequence[FacetScores]) -> str:
    """Return a table with one line per model and setting: its facets with their 95 % intervals.

    The scoring policy is a column only if there are several, the share of failed prompts only if a prompt
    failed. The last line of the table is what random answers score. Sentences about thoughts that did not end
    and about refusals follow.

    Args:
        scores: at least one.
    """
    lines = [*map(_facet_line, scores), _describe_random(scores[0])]
    if len({score.scoring_policy for score in scores}) < 2:
        _drop(lines, "scoring")
    if not any(score.averaged["error_rate"] for score in scores):
        _drop(lines, "failed %")
    table = align(list(lines[0]), [list(line.values()) for line in lines])
    return "\n".join([table, *note_unanswered_questions(scores)])


def _facet_line(score: FacetScores) -> dict[str, str]:
    """Return column -> cell of one model in one setting."""
    return (
        {"model": score.model, "setting": score.setting, "scoring": score.scoring_policy}
        | {f"{facet} %": _accuracy(score.facets.get(facet)) for facet in FACETS}
        | {
            "average %": _accuracy(score.averaged),
            "mastered %": _mastered(score.mastered),
            "with negated %": _mastered(score.mastered_negated),
            "no answer %": format_share(score.averaged["no_answer_rate"]),
            "failed %": format_share(score.averaged["error_rate"]),
            "points": f"{score.mastered['n_points']:,}",
            "questions": f"{score.n_questions:,}",
        }
    )


def _describe_random(score: FacetScores) -> dict[str, str]:
    """Return column -> cell of random answers, which depend on the questions alone."""
    facets = {f"{facet} %": format_share(row["random_baseline"]) for facet, row in score.facets.items()}
    average = {"average %": format_share(score.random_average)}
    return dict.fromkeys(_facet_line(score), "") | {"model": "random answers"} | facets | average


def _accuracy(row: dict[str, Any] | None) -> str:
    if row is None:
        return "-"
    return format_with_interval(row["accuracy"], row["accuracy_ci_low"], row["accuracy_ci_high"])


def _mastered(row: dict[str, Any]) -> str:
    return format_with_interval(
        row["mastered_rate"], row["mastered_rate_ci_low"], row["mastered_rate_ci_high"]
    )


def _drop(lines: list[dict[str, str]], column: str) -> None:
    for line in lines:
        del line[column]


def note_repeats(root: Path, edition_id: str) -> list[str]:
    """Return a sentence with the mean over the repeats for each model and method with several of them."""
    rows = read_rows(
        root,
        f"from repeat_spread where edition_id = '{edition_id}' "
        "order by method, scoring_policy, model, model_id",
    )
    return [_note_repeats(row) for row in rows]


def _note_repeats(row: dict[str, Any]) -> str:
    accuracy = format_with_interval(
        row["average_accuracy"], row["average_accuracy_ci_low"], row["average_accuracy_ci_high"]
    )
    mastery = format_with_interval(row["mastery"], row["mastery_ci_low"], row["mastery_ci_high"])
    return (
        f"{row['model']} ({row['method']}, {row['scoring_policy']}): the leaderboard shows the first of "
        f"{row['n_repeats']} repeats. Their mean accuracy is {accuracy} %, their mean mastery {mastery} %."
    )
