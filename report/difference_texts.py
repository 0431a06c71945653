"""Write the comparison of two models as text for the console and as JSON."""

import json
from typing import Any

from pretexeval.primitives.untrusted_text import escape_controls
from report.certainty import has_interval
from report.columns import TABLES
from report.console import format_share
from report.contents import Row
from report.formats import format_words
from report.model_difference import ModelDifference, judge_relations
from report.remarks import N_EFFECTIVE
from report.score_tables import render_table


def render_difference(found: ModelDifference) -> str:
    """Return the comparison as sentences and a table with a line per relation."""
    setting = found.setting
    head = (
        f"edition {found.edition_id}, method {setting.method}, scoring policy {setting.scoring_policy}\n"
        f"first:  {found.baseline.name} ({found.baseline.model_id})\n"
        f"second: {found.candidate.name} ({found.candidate.model_id})"
    )
    verdicts = [found.verdict, *(verdict for verdict, _ in judge_relations(found.relations))]
    rows = zip((found.whole, *found.relations), verdicts, strict=True)
    named = [row | {"relation": row["relation"] or "all", "verdict": verdict} for row, verdict in rows]
    table = render_table(TABLES["relation_differences"], named)
    return "\n\n".join([head, write_verdict(found), table, "\n".join(list_notes(found))])


def write_verdict(found: ModelDifference) -> str:
    """Return one sentence: which model is worse, by how much, and on how many pairs."""
    row, names = found.whole, (found.candidate.name, found.baseline.name)
    said = {
        "worse": "{} is worse than {}",
        "better": "{} is better than {}",
        "not distinguishable": "{} and {} are not distinguishable",
        "too few": "{} and {} cannot be compared, because they share too few facts",
    }[found.verdict].format(*names)
    return (
        f"{said} in {format_words(found.measure)}: {write_points(row)}, on {row['n_pairs']:,} pairs that "
        "both answered."
    )


def write_points(row: Row) -> str:
    """Return a difference and its interval in percentage points: +1.0 points (95 % interval -2.0 to +4.0)."""
    names = ("difference", "difference_ci_low", "difference_ci_high")
    value, low, high = ("" if row[name] is None else f"{100 * row[name] + 0.0:+.1f}" for name in names)
    interval = f"95 % interval {low} to {high}" if has_interval(row) else "too few facts for an interval"
    return f"{value} points ({interval})"


def write_regression(found: ModelDifference) -> str:
    """Return whether the second model is worse by more than the margin."""
    margin = f"more than {100 * found.margin:g} points lower" if found.margin else "lower"
    if found.is_regression:
        return f"Regression: the interval says that the second score is {margin}."
    return f"No regression: the interval does not say that the second score is {margin}."


def list_notes(found: ModelDifference) -> list[str]:
    """Return what a reader needs to judge the verdict, one sentence or two each."""
    row, notes = found.whole, [write_regression(found)]
    if row["detectable_difference"] is not None:
        notes.append(
            f"A true difference of {100 * row['detectable_difference']:.1f} points would be found here in "
            "four cases out of five."
        )
    if max(found.n_baseline_pairs, found.n_candidate_pairs) > row["n_matched"]:
        notes.append(
            f"Only shared pairs count: the first model answered {found.n_baseline_pairs:,} pairs, the second "
            f"{found.n_candidate_pairs:,}."
        )
    if row["n_effective"] < N_EFFECTIVE:
        notes.append(
            f"The pairs amount to only {row['n_effective']:.1f} independent heads or tails, so the interval "
            "is only a rough guide."
        )
    rates = (row["other_no_answer_rate"], row["no_answer_rate"])
    if any(rates):
        shares = " and ".join(f"{format_share(rate)} %" for rate in rates)
        notes.append(f"No answer: {shares} of the samples. The scoring policy decides how they count.")
    if found.baseline_styles != found.candidate_styles and found.baseline_styles and found.candidate_styles:
        styles = " and ".join("/".join(each) for each in (found.baseline_styles, found.candidate_styles))
        notes.append(f"The prompts have different styles ({styles}), which may cause a difference.")
    if len(found.relations) > 1:
        notes.append(
            f"The verdicts on the {len(found.relations)} relations are corrected for their number (Holm), so "
            "one of them may be not distinguishable although its interval does not contain 0. They help to "
            "find a cause; only the row of all decides."
        )
    return notes


def render_difference_json(found: ModelDifference) -> str:
    """Return the comparison as one JSON object; differences are second − first, all shares from 0 to 1."""
    setting = found.setting
    content = {
        "edition_id": found.edition_id,
        "method": setting.method,
        "scoring_policy": setting.scoring_policy,
        "repeat": setting.repeat,
        "measure": found.measure,
        "margin": found.margin,
        "first": found.baseline._asdict()
        | {"n_pairs": found.n_baseline_pairs, "prompt_styles": found.baseline_styles},
        "second": found.candidate._asdict()
        | {"n_pairs": found.n_candidate_pairs, "prompt_styles": found.candidate_styles},
        "verdict": found.verdict,
        "is_regression": found.is_regression,
        "all": {"verdict": found.verdict} | _describe(found.whole),
        "relations": [
            {"relation": row["relation"], "verdict": verdict, "adjusted_p_value": value} | _describe(row)
            for row, (verdict, value) in zip(found.relations, judge_relations(found.relations), strict=True)
        ],
        "notes": list_notes(found),
    }
    return escape_controls(json.dumps(content, indent=2, ensure_ascii=False))


# Name of a figure in the JSON, which says to which model it belongs -> the column.
FIGURES = {
    "n_pairs": "n_pairs",
    "n_observations": "n_observations",
    "first_score": "other_score",
    "second_score": "score",
    "difference": "difference",
    "difference_ci_low": "difference_ci_low",
    "difference_ci_high": "difference_ci_high",
    "detectable_difference": "detectable_difference",
    "n_effective": "n_effective",
    "n_only_first": "n_lost",
    "n_only_second": "n_gained",
}


def _describe(row: Row) -> dict[str, Any]:
    return {name: row[column] for name, column in FIGURES.items()}
