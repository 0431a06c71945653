"""Ties of repeats in what the authors extracted from chains of thought, which they draw at random."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from typing import Any

import polars as pl

from benchmarks.extraction import read_rows
from benchmarks.replay_draws import expect_right
from tasks.answers.reading import Reading
from tasks.answers.vote import list_winners

KIND = "MCQ"
TIE_COLUMNS = ("model", "questions", "drawn from", "ties", "first drawn", "score", "expected", "sd")


@dataclass(frozen=True)
class Ties:
    """How the authors' predictions of a model (MCQ, chain of thought) follow from what they extracted."""

    model: str
    n_questions: int
    n_drawn_from: int
    """Predictions that are one of the most frequent extracted letters, or of which nothing was extracted."""
    n_tied: int
    n_first: int
    """Ties in which the prediction is the letter that was extracted first."""
    score: float
    expected: float
    sd: float

    def render(self) -> list[str]:
        """Return the cells of the row; scores in percent."""
        counts = (self.n_questions, self.n_drawn_from, self.n_tied, self.n_first)
        return [self.model, *map(str, counts), f"{self.score:.2f}", f"{self.expected:.2f}", f"{self.sd:.2f}"]


def list_ties(folder: Path) -> Iterator[Ties]:
    """Yield the ties of each model whose extracted letters are recorded.

    Args:
        folder: the folder of the reference data.
    """
    questions = pl.read_parquet(folder / "multifacet_questions.parquet").filter(split="test", type=KIND)
    right = dict(questions.select("knowledge_point", "label").iter_rows())
    models: dict[str, list[dict[str, Any]]] = {}
    for row in read_rows(folder, "cot", KIND):
        models.setdefault(row["model"], []).append(row)
    for model, rows in models.items():
        winners = [_list_winners(row["extracted"]) for row in rows]
        answers = [right[row["knowledge_point"]] for row in rows]
        predictions = [row["authors_prediction"] for row in rows]
        chances = [expect_right(KIND, drawn, answer) for drawn, answer in zip(winners, answers, strict=True)]
        named = [[winner.answer for winner in found] for found in winners]
        pairs = list(zip(named, predictions, strict=True))
        yield Ties(
            model,
            len(rows),
            sum(not letters or said in letters for letters, said in pairs),
            sum(len(letters) > 1 for letters in named),
            sum(len(letters) > 1 and letters[0] == said for letters, said in pairs),
            100 * sum(map(str.__eq__, predictions, answers)) / len(rows),
            100 * sum(chances) / len(rows),
            100 * sqrt(sum(chance * (1 - chance) for chance in chances)) / len(rows),
        )


def _list_winners(extracted: str) -> list[Reading]:
    """Return the most frequent letters; "-" is a repeat in which nothing was found."""
    return list_winners([Reading(letter, None) for letter in extracted if letter != "-"])
