"""The questions that are right in one reading only, for scores to which the authors add no random draw."""

from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from benchmarks.extraction import read_row, read_rows
from benchmarks.extraction_classes import Comparison, classify

KIND = "MAQ"
NOT_FOUND = "no answer found by the authors"
EFFECT_COLUMNS = ("model", "right in", "class", "n", "questions")
N_NAMED = 9


@dataclass(frozen=True)
class Effect:
    """The MAQs of a model that are right in one reading only, for one class of disagreement."""

    model: str
    right_in: str
    """"ours" or "theirs"."""
    label: str
    questions: list[str] = field(default_factory=list)
    """The numbers of the knowledge points; "-" follows the number of a negated question."""

    def render(self) -> list[str]:
        """Return the cells of the row."""
        named = " ".join(self.questions[:N_NAMED]) + (" ..." if len(self.questions) > N_NAMED else "")
        return [self.model, self.right_in, self.label, str(len(self.questions)), named]


def list_effects(folder: Path, names: Collection[str] = ()) -> Iterator[Effect]:
    """Yield the MAQs of the answer-only setting that only one reading calls right, by model and class.

    Args:
        folder: the folder of the reference data.
        names: the models; all if it is empty.
    """
    questions = pl.read_parquet(folder / "multifacet_questions.parquet").filter(split="test", type=KIND)
    right = {
        (number, form): answer
        for number, form, answer in questions.select("knowledge_point", "form", "label").iter_rows()
    }
    found: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for row in read_rows(folder, "ao", KIND):
        if names and row["model"] not in names:
            continue
        answer = right[row["knowledge_point"], row["form"]]
        ours, theirs = read_row(row, KIND, row["raw_response"]), row["authors_prediction"] or None
        if (ours.answer == answer) == (theirs == answer):
            continue
        comparison = Comparison(
            "ao",
            row["model"],
            KIND,
            row["raw_response"],
            tuple(row["options"]),
            "",
            row["question"],
            theirs,
            ours,
        )
        number = f"{row['knowledge_point']}{'-' if row['form'] == 'negated' else ''}"
        side = "ours" if ours.answer == answer else "theirs"
        found[row["model"], side, classify(comparison) or NOT_FOUND].append(number)
    for key, numbers in sorted(found.items()):
        yield Effect(*key, numbers)
