"""The published items of MultiMedQA, as the reference data holds them, and the synonyms that they used.

The items are those of Zhou et al., "MultifacetEval", IJCAI 2024: 795 test points and 5 for demonstrations.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from knowledge.medqa import fold_option
from knowledge.spelling import fold_name

PREFIX = "Question: "
_TFQ_END = ", is the statement above true or false? Please answer true/false."


@dataclass(frozen=True)
class PublishedQuestion:
    """One published question: its text without what surrounds every question, its options and its label."""

    text: str
    options: tuple[str, ...]
    offered: str | None
    label: str


@dataclass(frozen=True)
class PublishedPoint:
    """The published questions of a point, by type and form, such as ("TFQ", "true_option/negated")."""

    split: str
    number: int
    questions: Mapping[tuple[str, str], PublishedQuestion]

    @property
    def mcq(self) -> PublishedQuestion:
        """The multiple-choice question, which is the MedQA item."""
        return self.questions["MCQ", "forward"]

    @property
    def answer(self) -> str:
        """The text of the right option of the multiple-choice question."""
        return self.mcq.options["ABCDE".index(self.mcq.label)]

    @property
    def key(self) -> str:
        """The folded text by which a point is found among the items of MedQA."""
        return fold_name(self.mcq.text)


def read_published_points(path: Path) -> list[PublishedPoint]:
    """Return the points of the file, in its order."""
    points: list[PublishedPoint] = []
    frame = pl.read_parquet(path)
    for (split, number), rows in frame.group_by("split", "knowledge_point", maintain_order=True):
        questions = {
            (row["type"], row["form"]): PublishedQuestion(
                row["question"].removeprefix(PREFIX).removesuffix(_TFQ_END),
                tuple(row["options"] or ()),
                row["offered"],
                row["label"],
            )
            for row in rows.iter_rows(named=True)
        }
        points.append(PublishedPoint(str(split), int(str(number)), questions))
    return points


def derive_synonyms(points: list[PublishedPoint]) -> pl.DataFrame:
    """Return the synonyms that the multiple-answer questions used: answer and synonym, sorted and distinct.

    A right option that is not the multiple-choice question's option in its place replaced a wrong one. One in
    the answer's own spelling is no synonym and is left out.
    """
    pairs = {
        (point.answer.strip(), option.strip())
        for point in points
        for option in list_replacements(point)
        if fold_option(option) != fold_option(point.answer)
    }
    return pl.DataFrame(sorted(pairs), schema={"answer": pl.String, "synonym": pl.String}, orient="row")


def list_replacements(point: PublishedPoint) -> list[str]:
    """Return the options of the multiple-answer question that stand in place of wrong options."""
    options = point.questions["MAQ", "forward"].options
    return [new for new, old in zip(options, point.mcq.options, strict=True) if new != old]
