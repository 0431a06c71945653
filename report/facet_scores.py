"""The scores of each model on an edition's questions as one row: its facets, their mean, and mastered points.

A facet is a column with the limits of its interval, with what random answers score, and with the shares of
unfinished thoughts and of refusals: comparison, comparison_ci_low, …, average, average_random, ….
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from report.columns import FACETS
from schemas.columns import SCORING_POLICIES
from schemas.question_stages import SETTINGS

Row = dict[str, Any]
Read = Callable[[str], list[Row]]
"""Runs SQL on the warehouse and returns the rows."""
OF_FACET = {
    "": "accuracy",
    "_ci_low": "accuracy_ci_low",
    "_ci_high": "accuracy_ci_high",
    "_random": "random_baseline",
    "_unfinished_reasoning_rate": "unfinished_reasoning_rate",
    "_refused_rate": "refused_rate",
}
"""End of a column of a facet -> its column of facet_accuracy."""
OF_ALL = ("no_answer_rate", "unfinished_reasoning_rate", "refused_rate", "error_rate", "n_questions")
OF_POINTS = ("mastered_rate", "mastered_rate_ci_low", "mastered_rate_ci_high")
_ACCURACIES = ", ".join(
    [
        f"max({column}) filter (facet is not distinct from {value}) as {name}{end}"
        for name, value in [*((facet, f"'{facet}'") for facet in FACETS), ("average", "null")]
        for end, column in OF_FACET.items()
    ]
    + [f"max({name}) filter (facet is null) as {name}" for name in OF_ALL]
)
_RANDOM = ", ".join(f"max({facet}_random) over () as {facet}_random" for facet in FACETS)
_MASTERED = ", ".join(
    f"max({name}) filter ({'not ' if new == name else ''}is_negated_included) as {new}"
    for name in OF_POINTS
    for new in (name, name.replace("mastered", "mastered_negated"))
)
SCORES = f"""
with accuracies as (
    select edition_id, setting, model_id, model, scoring_policy, {_ACCURACIES}
    from facet_accuracy
    where edition_id = '{{edition_id}}' and is_negated is null
    group by all
),

points as (
    select setting, model_id, scoring_policy, {_MASTERED},
        max(n_points) filter (not is_negated_included) as n_points,
        max(n_points) filter (is_negated_included) as n_negated_points
    from (
        from mastered_points
        where edition_id = '{{edition_id}}' and taught_with is null
        qualify step = max(step) over (partition by setting, model_id, scoring_policy)
    )
    group by all
)

select * replace ({_RANDOM})
from accuracies
left join points using (setting, model_id, scoring_policy)
"""


def read_facet_scores(read: Read, edition_id: str, *, has_all_policies: bool = False) -> list[Row]:
    """Return the scores of the edition by policy and setting, the best average first.

    There are none if the edition has no questions, or if no model has answered them.

    Args:
        has_all_policies: whether all scoring policies are returned, and not the first one alone.
    """
    rows = read(SCORES.format(edition_id=edition_id.replace("'", "''")))
    first = min((row["scoring_policy"] for row in rows), key=SCORING_POLICIES.index, default=None)
    chosen = [row for row in rows if has_all_policies or row["scoring_policy"] == first]
    for row in chosen:
        row["average_random"] = fmean(row[f"{facet}_random"] for facet in list_asked(row))
    return sorted(chosen, key=_order)


def list_asked(row: Row) -> list[str]:
    """Return the facets about which the edition asks."""
    return [facet for facet in FACETS if row[f"{facet}_random"] is not None]


def _order(row: Row) -> tuple[int, int, bool, float, str, str]:
    average = row["average"]
    return (
        SCORING_POLICIES.index(row["scoring_policy"]),
        SETTINGS.index(row["setting"]),
        average is None,
        -(average or 0.0),
        row["model"],
        row["model_id"],
    )


@dataclass(frozen=True)
class QuestionContents:
    """The figures of the questions on the page of an edition."""

    counts: Row
    """n_points and n_demonstration_points, and n_questions for the test."""
    scores: list[Row]
    parts: list[Row]
    """The rows of facet_accuracy by form: affirmed or negated questions of a facet."""
    mastered: list[Row]
    """The rows of mastered_points over all points, in the paper's order."""
    example: list[Row]
    """The questions of one point, each with `said`: setting, model_id, prediction and is_correct."""
    baselines: list[Row]
    """The rows of option_baselines over all relations, by type and form of question."""
    known: list[Row]
    """The rows of mastered_points by what reference models were taught, with all facets."""
    mastered_differences: list[Row]
    """The rows of differences in mastered points with all facets, without negated questions."""

    def describe_random(self) -> Row:
        """Return facet -> what random answers score."""
        return {name: self.scores[0][f"{name}_random"] for name in (*FACETS, "average")}


REFUSED = "refused by the model or by a filter of its provider, and have no answer"


def note_unanswered(rows: Sequence[Row]) -> list[str]:
    """Return a sentence for each model and method of a leaderboard with unfinished thoughts, or refusals."""
    notes = []
    for row in rows:
        name = f"{row['model']} ({row['method']})"
        if row["unfinished_reasoning_rate"]:
            share = f"{100 * row['unfinished_reasoning_rate']:.1f} %"
            notes.append(
                f"{name}: in {share} of the replies the thought did not end, so they have no answer. Raise "
                "max_tokens of the model."
            )
        if row["refused_rate"]:
            notes.append(f"{name}: {100 * row['refused_rate']:.1f} % of the prompts were {REFUSED}.")
    return list(dict.fromkeys(notes))


def note_unanswered_questions(rows: Sequence[Row]) -> list[str]:
    """Return a sentence for each model and setting with facets of unfinished thoughts, or of refusals."""
    notes = []
    for row in rows:
        name = f"{row['model']} ({row['setting']})"
        if unfinished := _list_shares(row, "unfinished_reasoning_rate"):
            table = "questions" if row["setting"] == "answer_only" else row["setting"]
            notes.append(
                f"{name}: the thought did not end in {unfinished}, so these questions have no answer. Raise "
                f"max_tokens of [{table}]."
            )
        if refused := _list_shares(row, "refused_rate"):
            notes.append(f"{name}: {refused} were {REFUSED}.")
    return list(dict.fromkeys(notes))


def _list_shares(row: Row, rate: str) -> str:
    """Return "1.0 % of recall, 2.0 % of comparison": the facets in which the rate is not 0."""
    shares = {facet: row[f"{facet}_{rate}"] for facet in FACETS}
    return ", ".join(f"{100 * share:.1f} % of {facet}" for facet, share in shares.items() if share)
