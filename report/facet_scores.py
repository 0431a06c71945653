"""Collect the scores of each model on an edition's questions: its facets, their mean, and mastered points."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from schemas.columns import SCORING_POLICIES
from schemas.question_stages import FACET_OF, SETTINGS

Row = dict[str, Any]
Read = Callable[[str], list[Row]]
"""Runs SQL on the warehouse and returns the rows."""
FACETS = tuple(FACET_OF.values())
# The row that is shown for a facet, or for mastered points, if a model was asked nothing about them.
_NOT_ASKED: Row = {
    **{
        f"{score}{end}": None
        for score in ("accuracy", "mastered_rate")
        for end in ("", "_ci_low", "_ci_high")
    },
    "no_answer_rate": None,
    "unfinished_reasoning_rate": None,
    "refused_rate": None,
    "error_rate": None,
    "n_questions": 0,
    "n_points": 0,
}


@dataclass(frozen=True)
class FacetScores:
    """The scores of a model in one setting under one scoring policy."""

    setting: str
    model_id: str
    model: str
    scoring_policy: str
    facets: dict[str, Row]
    """Facet -> its row of facet_accuracy over all its questions, in the order of the types."""
    averaged: Row
    """The row of facet_accuracy for the mean of the facets over all questions."""
    mastered: Row
    """The row of mastered_points with all facets, without negated questions."""
    mastered_negated: Row
    """The same row with negated questions."""

    @property
    def average(self) -> float | None:
        """Return the mean accuracy of the facets; None if a facet has no score."""
        average: float | None = self.averaged["accuracy"]
        return average

    @property
    def random_average(self) -> float | None:
        """Return the mean random baseline of the facets."""
        return _average(row["random_baseline"] for row in self.facets.values())

    @property
    def outcomes(self) -> Row:
        """Return the shares without an answer, over all questions, and what names these questions."""
        rates = ("no_answer_rate", "unfinished_reasoning_rate", "refused_rate", "error_rate")
        names = ("setting", "model_id", "scoring_policy")
        return {name: self.averaged[name] for name in rates} | {n: getattr(self, n) for n in names}

    @property
    def n_questions(self) -> int:
        """Return the number of graded questions."""
        return sum(row["n_questions"] for row in self.facets.values())


def read_facet_scores(read: Read, edition_id: str) -> list[FacetScores]:
    """Return the scores of the edition by setting and policy, the best average first.

    There are none if the edition has no questions, or if no model has answered them.
    """
    where = f"where edition_id = '{edition_id}'"
    facets = read(f"from facet_accuracy {where} and is_negated is null and facet is not null")
    averages = read(f"from facet_accuracy {where} and is_negated is null and facet is null")
    mastered = read(
        f"from mastered_points {where} "
        "qualify step = max(step) over (partition by setting, model_id, scoring_policy)"
    )
    baselines = {row["facet"]: row["random_baseline"] for row in facets}
    asked = {facet: baselines[facet] for facet in FACETS if facet in baselines}
    scores = [
        FacetScores(
            *key,
            facets={
                facet: next(
                    (row for row in rows if row["facet"] == facet),
                    _NOT_ASKED | {"facet": facet, "random_baseline": baseline},
                )
                for facet, baseline in asked.items()
            },
            averaged=_find(averages, key),
            mastered=_find(mastered, key, is_negated_included=False),
            mastered_negated=_find(mastered, key, is_negated_included=True),
        )
        for key, rows in _group(facets).items()
    ]
    return sorted(scores, key=_order)


def select_first_policy(scores: Sequence[FacetScores]) -> list[FacetScores]:
    """Return the scores under the first of their policies, in the order of the schema."""
    policies = {score.scoring_policy for score in scores}
    first = min(policies, key=SCORING_POLICIES.index, default=None)
    return [score for score in scores if score.scoring_policy == first]


def _group(rows: Iterable[Row]) -> dict[tuple[str, str, str, str], list[Row]]:
    grouped: dict[tuple[str, str, str, str], list[Row]] = {}
    for row in rows:
        grouped.setdefault(_key(row), []).append(row)
    return grouped


def _key(row: Row) -> tuple[str, str, str, str]:
    return row["setting"], row["model_id"], row["model"], row["scoring_policy"]


def _find(rows: Iterable[Row], key: tuple[str, str, str, str], **values: object) -> Row:
    """Return the first row of the key with these values."""
    return next(
        (row for row in rows if _key(row) == key and values.items() <= row.items()),
        _NOT_ASKED,
    )


def _order(score: FacetScores) -> tuple[int, int, bool, float, str, str]:
    average = score.average
    return (
        SCORING_POLICIES.index(score.scoring_policy),
        SETTINGS.index(score.setting),
        average is None,
        -(average or 0.0),
        score.model,
        score.model_id,
    )


def _average(values: Iterable[float | None]) -> float | None:
    """Return the macro average, as in the paper's tables; None if a value is missing."""
    found = list(values)
    known = [value for value in found if value is not None]
    return fmean(known) if known and len(known) == len(found) else None


@dataclass(frozen=True)
class QuestionContents:
    """What the page of an edition shows of its questions."""

    counts: Row
    """n_points and n_demonstration_points, and n_questions for the test."""
    scores: list[FacetScores]
    parts: list[Row]
    """The rows of facet_accuracy by form: affirmed or negated questions of a facet."""
    mastered: list[Row]
    """The rows of mastered_points in the paper's order."""
    example: list[Row]
    """The questions of one point, each with `said`: setting, model_id, prediction and is_correct."""
    baselines: list[Row]
    """The rows of option_baselines over all relations, by type and form of question."""
    agreement: list[Row]
    known: list[Row]
    mastered_differences: list[Row]
    """The rows of mastered_points_comparison with all facets, without negated questions."""


REFUSED = "refused by the model or by a filter of its provider, and have no answer"


def note_unanswered(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return a sentence for each model and method of a leaderboard with unfinished thoughts, or refusals."""
    return list(dict.fromkeys(note for row in rows for note in _list_notes_of_samples(row)))


def _list_notes_of_samples(row: Mapping[str, Any]) -> Iterator[str]:
    name = f"{row['model']} ({row['method']})"
    if row["unfinished_reasoning_rate"]:
        share = f"{100 * row['unfinished_reasoning_rate']:.1f} %"
        yield (
            f"{name}: in {share} of the replies the thought did not end, so they have no answer. Raise "
            "max_tokens of the model."
        )
    if row["refused_rate"]:
        yield f"{name}: {100 * row['refused_rate']:.1f} % of the prompts were {REFUSED}."


def note_unanswered_questions(scores: Iterable[FacetScores]) -> list[str]:
    """Return a sentence for each model and setting with facets of unfinished thoughts, or of refusals."""
    return list(dict.fromkeys(note for score in scores for note in _list_notes(score)))


def _list_notes(score: FacetScores) -> Iterator[str]:
    name = f"{score.model} ({score.setting})"
    if unfinished := _list_shares(score, "unfinished_reasoning_rate"):
        table = "questions" if score.setting == "answer_only" else score.setting
        yield (
            f"{name}: the thought did not end in {unfinished}, so these questions have no answer. Raise "
            f"max_tokens of [{table}]."
        )
    if refused := _list_shares(score, "refused_rate"):
        yield f"{name}: {refused} were {REFUSED}."


def _list_shares(score: FacetScores, rate: str) -> str:
    """Return "1.0 % of recall, 2.0 % of comparison": the facets in which the rate is not 0."""
    shares = {facet: row[rate] for facet, row in score.facets.items()}
    return ", ".join(f"{100 * share:.1f} % of {facet}" for facet, share in shares.items() if share)
