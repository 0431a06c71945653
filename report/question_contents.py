"""The part of a page about questions: rows of the views, under the first scoring policy."""

from dataclasses import dataclass

from report.facet_scores import FacetScores, Row
from schemas.question_stages import TYPES


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
    """The rows of option_baselines over all relations."""
    agreement: list[Row]
    known: list[Row]
    mastered_differences: list[Row]
    """The rows of mastered_points_comparison with all facets, without negated questions."""
    facet_differences: list[Row]
    """The rows of facet_comparison."""

    @property
    def forms(self) -> list[tuple[str, bool]]:
        """Return the types and forms of questions that guessers were tried on, in order."""
        found = {(row["type"], row["is_negated"]) for row in self.baselines}
        return sorted(found, key=lambda form: (TYPES.index(form[0]), form[1]))

    @property
    def guessers(self) -> list[str]:
        """Return the names of the guessers."""
        return sorted({row["baseline"] for row in self.baselines})

    def find_baseline(self, baseline: str, form: tuple[str, bool]) -> Row | None:
        """Return what the guesser scores on questions of the form; None if it cannot answer them."""
        for row in self.baselines:
            if row["baseline"] == baseline and (row["type"], row["is_negated"]) == form:
                return row
        return None

    def find_random(self, form: tuple[str, bool]) -> float | None:
        """Return the accuracy of random answers to questions of the form."""
        return next(
            (row["random_baseline"] for row in self.baselines if (row["type"], row["is_negated"]) == form),
            None,
        )
