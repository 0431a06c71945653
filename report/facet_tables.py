"""Render the tables of facets for the console: after a run, and as in tables 1 and 2 of MultifacetEval."""

from collections.abc import Sequence
from typing import Any

from report.console import align, format_share, format_with_interval
from report.facet_scores import FACETS, FacetScores
from report.reasoning_notes import note_unfinished_questions

# The columns of the paper's tables.
PAPER_NAMES = dict(zip(FACETS, ("Comp.", "Rect.", "Disc.", "Veri."), strict=True))
_RANDOM = "random answers"


def render_facets(scores: Sequence[FacetScores]) -> str:
    """Return a table with one line per model and setting: its facets with their 95 % intervals.

    The scoring policy is a column only if there are several, the share of failed prompts only if a prompt
    failed. The last line of the table is what random answers score. Sentences about thoughts that did not end
    follow.

    Args:
        scores: at least one.
    """
    lines = [*map(_describe, scores), _describe_random(scores[0])]
    if len({score.scoring_policy for score in scores}) < 2:
        _drop(lines, "scoring")
    if not any(score.mastered_negated["error_rate"] for score in scores):
        _drop(lines, "failed %")
    table = align(list(lines[0]), [list(line.values()) for line in lines])
    return "\n".join([table, *note_unfinished_questions(scores)])


def _describe(score: FacetScores) -> dict[str, str]:
    """Return column -> cell of one model in one setting."""
    return (
        {"model": score.model, "setting": score.setting, "scoring": score.scoring_policy}
        | {f"{facet} %": _accuracy(score.facets.get(facet)) for facet in FACETS}
        | {
            "average %": _average(score.averaged),
            "mastered %": _mastered(score.mastered),
            "with negated %": _mastered(score.mastered_negated),
            "no answer %": format_share(score.mastered_negated["no_answer_rate"]),
            "failed %": format_share(score.mastered_negated["error_rate"]),
            "points": f"{score.mastered['n_points']:,}",
            "questions": f"{score.n_questions:,}",
        }
    )


def _describe_random(score: FacetScores) -> dict[str, str]:
    """Return column -> cell of random answers, which depend on the questions alone."""
    facets = {f"{facet} %": format_share(row["random_baseline"]) for facet, row in score.facets.items()}
    average = {"average %": format_share(score.random_average)}
    return dict.fromkeys(_describe(score), "") | {"model": _RANDOM} | facets | average


def _accuracy(row: dict[str, Any] | None) -> str:
    if row is None:
        return "-"
    return format_with_interval(row["accuracy"], row["ci_low"], row["ci_high"])


def _average(row: dict[str, Any]) -> str:
    return format_with_interval(row["average_accuracy"], row["ci_low"], row["ci_high"])


def _mastered(row: dict[str, Any]) -> str:
    return format_with_interval(row["mastered_rate"], row["ci_low"], row["ci_high"])


def _drop(lines: list[dict[str, str]], column: str) -> None:
    for line in lines:
        del line[column]


def render_paper_facets(scores: Sequence[FacetScores]) -> str:
    """Return a table per setting as in the paper: accuracies of the facets in %, and their macro average.

    Args:
        scores: the scores under one policy.
    """
    settings = dict.fromkeys(score.setting for score in scores)
    return "\n\n".join(
        _render_setting(setting, [score for score in scores if score.setting == setting])
        for setting in settings
    )


def _render_setting(setting: str, scores: Sequence[FacetScores]) -> str:
    facets = list(scores[0].facets)
    random = [scores[0].facets[facet]["random_baseline"] for facet in facets]
    rows = [["Random", *map(format_share, [*random, scores[0].random_average])]]
    for score in scores:
        accuracies = [score.facets[facet]["accuracy"] for facet in facets]
        rows.append([score.model, *map(format_share, [*accuracies, score.average])])
    names = [PAPER_NAMES[facet] for facet in facets]
    return f"Facets: accuracy (%), {setting}\n{align(['model', *names, 'Average'], rows)}"
