"""Answers read and scored in the tasks for other tools, as in an evaluation (method, sections 3 and 4).

This module imports only the standard library and modules that the tasks contain a copy of.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pretexeval.engines.thoughts import split_reply
from tasks.answers.reading import read_answer, read_statement
from tasks.answers.segments import cut_completion

Grade = tuple[str, str, int, bool]
"""Pair and triplet of a sample, number of samples of a complete triplet, and whether the answer is right.

A point of questions is both the pair and the triplet.
"""


def read_row(response: str, row: Mapping[str, Any], prompt_style: str) -> str | None:
    """Return what the response answers, written as the right answer is; None if it contains no answer.

    Args:
        row: a row of the files of JSON lines: a sample, or a question, which has options.
        prompt_style: chat or completion; of a completion, only the first line with text is read.
    """
    answer = split_reply(response).answer
    if answer is not None and prompt_style == "completion":
        answer = cut_completion(answer)
    if "point_id" in row:
        return read_answer(row["type"], answer, row["options"], row["offered"], row["text"]).answer
    prediction = read_statement(answer)
    return None if prediction is None else str(prediction)


def grade_row(row: Mapping[str, Any], *, is_right: bool) -> Grade:
    """Return the grade of an answer to a row."""
    if "point_id" in row:
        return str(row["point_id"]), str(row["point_id"]), int(row["n_in_point"]), is_right
    return str(row["pair_id"]), str(row["triplet_id"]), int(row["n_in_triplet"]), is_right


def compute_accuracy(grades: Iterable[Grade]) -> float:
    """Return the share of the answers that are right; NaN if there are none."""
    return _mean([is_right for *_, is_right in grades])


def compute_joint_accuracy(grades: Iterable[Grade]) -> float:
    """Return the share of the complete triplets or points that are all right; NaN if none is complete."""
    return _mean([is_right for _, is_right in _list_triplets(grades)])


def compute_mastery(grades: Iterable[Grade]) -> float:
    """Return the share of the pairs with two complete triplets that are all right; NaN if there are none."""
    pairs: dict[str, list[bool]] = defaultdict(list)
    for pair_id, is_right in _list_triplets(grades):
        pairs[pair_id].append(is_right)
    return _mean([all(triplets) for triplets in pairs.values() if len(triplets) == 2])


def _list_triplets(grades: Iterable[Grade]) -> list[tuple[str, bool]]:
    """Return the pair of every complete triplet, and whether all samples of the triplet are right."""
    triplets: dict[tuple[str, str, int], list[bool]] = defaultdict(list)
    for pair_id, triplet_id, n_in_triplet, is_right in grades:
        triplets[pair_id, triplet_id, n_in_triplet].append(is_right)
    return [(pair_id, all(answers)) for (pair_id, _, n), answers in triplets.items() if len(answers) == n]


def _mean(values: Sequence[bool]) -> float:
    return sum(values) / len(values) if values else math.nan
