"""How a response is read in the tasks for other tools: as in an evaluation (tasks/evaluation/predictions.py).

This module imports only the standard library and modules that the tasks contain a copy of.
"""

from tasks.asking.answer_extraction import cut_completion, extract_answer
from tasks.asking.thoughts import ReasoningMarks, remove_reasoning


def read_prediction(
    response: str, prompt_style: str, opening_mark: str = "<think>", closing_mark: str = "</think>"
) -> bool | None:
    """Return whether the response says true or false; None if it contains no answer.

    Args:
        prompt_style: chat or completion; of a completion, only the first line with text is read.
        opening_mark: the text that opens a thought; empty if the chat template opens it.
        closing_mark: the text that closes a thought; empty if nothing is a mark.
    """
    answer = remove_reasoning(response, ReasoningMarks(opening_mark, closing_mark))
    return extract_answer(cut_completion(answer) if prompt_style == "completion" else answer)
