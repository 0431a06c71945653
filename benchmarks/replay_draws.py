"""What the authors of MultifacetEval draw at random: missing answers and ties of repeats."""

from math import sqrt
from typing import Any

from tasks.answers.reading import NOTHING, Reading, read_answer
from tasks.answers.vote import list_winners

N_OPTIONS = 5


def measure_draws(kind: str, rows: list[dict[str, object]]) -> dict[str, Any]:
    """Return the fields of a replayed score about random draws and other readings."""
    weights = _weigh(kind, rows)
    draw = variance = effect = 0.0
    n_none = n_tied = n_other = 0
    for row, weight in zip(rows, weights, strict=True):
        right, prediction, theirs = str(row["right_answer"]), row["prediction"], row["authors_prediction"]
        winners = _list_winners(kind, row)
        chance = expect_right(kind, winners, right)
        draw += weight * (chance - (prediction == right))
        variance += weight**2 * chance * (1 - chance)
        n_none += prediction is None
        n_tied += len(winners) > 1
        if prediction is not None and prediction != theirs:
            n_other += 1
            effect += weight * ((prediction == right) - (theirs == right))
    return {
        "n_no_answer": n_none,
        "n_tied": n_tied,
        "expected_draw": 100 * draw,
        "own_sd": 100 * sqrt(variance),
        "n_other_readings": n_other,
        "effect": 100 * effect,
    }


def _weigh(kind: str, rows: list[dict[str, object]]) -> list[float]:
    """Return what a right answer to each question adds to the score: 1/n, or its part of the debiased one."""
    if kind != "RQ":
        return [1 / len(rows) for _ in rows]
    is_right = [str(row["right_answer"]).startswith("T") for row in rows]
    n_right = sum(is_right)
    n_wrong = len(rows) - n_right
    return [1 / N_OPTIONS / n_right if right else (N_OPTIONS - 1) / N_OPTIONS / n_wrong for right in is_right]


def _list_winners(kind: str, row: dict[str, object]) -> list[Reading]:
    """Return the readings among which the authors draw."""
    if row["prediction"] is not None and len(row["responses"]) == 1:  # type: ignore[arg-type]
        return [Reading(str(row["prediction"]), None)]
    return list_winners(
        [
            read_answer(kind, response, row["options"] or (), row["offered"], row["text"])  # type: ignore[arg-type]
            for response in row["responses"]  # type: ignore[attr-defined]
            if response is not None
        ]
    )


def expect_right(kind: str, winners: list[Reading], right: str) -> float:
    """Return the probability that the answer is right after the draws.

    The authors draw among the answers that are equally frequent, and then what is missing of the one drawn.
    """
    chances = [
        float(winner.answer == right) if winner.answer else expect_fill(kind, winner.fragment, right)
        for winner in winners or [NOTHING]
    ]
    return sum(chances) / len(chances)


def expect_fill(kind: str, fragment: str | None, right: str) -> float:
    """Return the probability that a random fill of what is missing gives the right answer.

    The authors draw a letter (MCQ), a judgement (TFQ), and the missing halves of an RQ; an MAQ stays wrong.
    An RQ that is judged true names the offered option, and one that is judged false one of the others.
    """
    if kind == "MAQ":
        return 0.0
    if kind != "RQ":
        return 1 / N_OPTIONS if kind == "MCQ" else 1 / 2
    # The answer to another question is no half of this one.
    judgement, letter = (fragment if fragment and "?" in fragment else "?|?").split("|")
    right_judgement, right_letter = right.split("|")
    of_judgement = 1 / 2 if judgement == "?" else float(judgement == right_judgement)
    if letter != "?":
        return of_judgement * (letter == right_letter)
    return of_judgement * (1 if right_judgement == "T" else 1 / (N_OPTIONS - 1))
