"""How the response to a question is read in the tasks for other tools: as in an evaluation.

See tasks/evaluation/question_predictions.py. This module imports only the standard library and modules that
the tasks contain a copy of.
"""

from collections.abc import Mapping
from typing import Any

from exports.graded_samples import GradedSample
from tasks.answers.reading import read_answer
from tasks.asking.answer_extraction import cut_completion
from tasks.asking.thoughts import ReasoningMarks, remove_reasoning


def read_question_answer(
    response: str,
    question: Mapping[str, Any],
    prompt_style: str,
    opening_mark: str = "<think>",
    closing_mark: str = "</think>",
) -> str | None:
    """Return what the response answers, written as the right answer is; None if it contains no answer.

    Args:
        question: a row of questions.jsonl.
        prompt_style: chat or completion; of a completion, only the first line with text is read.
        opening_mark: the text that opens a thought; empty if the chat template opens it.
        closing_mark: the text that closes a thought; empty if nothing is a mark.
    """
    answer = remove_reasoning(response, ReasoningMarks(opening_mark, closing_mark))
    if answer is not None and prompt_style == "completion":
        answer = cut_completion(answer)
    options, offered = question["options"], question["offered"]
    return read_answer(question["type"], answer, options, offered, question["text"]).answer


def grade_question(question: Mapping[str, Any], *, is_right: bool) -> GradedSample:
    """Return the grade of an answer. A point is what a triplet is for samples: all of it must be right.

    Args:
        question: a row of questions.jsonl.
    """
    point = str(question["point_id"])
    return GradedSample(point, point, int(question["n_in_point"]), is_right)
