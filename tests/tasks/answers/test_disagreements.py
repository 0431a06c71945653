"""Readings of responses that MultifacetEval's authors read otherwise, one or two of each kind."""

import pytest

from tasks.answers.reading import read_answer

OPTIONS = ("Ifosfamide", "Mesna", "Mesna", "Prednisone", "Rest")
LIST = "A: Ifosfamide\nB: Mesna\nC: Mesna\nD: Prednisone\nE: Rest"
# (type, response, the answer or the fragment that is read)
EXAMPLES = (
    ("MCQ", "Question: A new case.\nOptions: A: x\tB: y\nAnswer: B", "B"),
    ("MCQ", "Question: A new case without end", None),
    ("MAQ", LIST, None),
    ("MAQ", "A: Ifosfamide\nD: Prednisone", "A,D"),
    ("MCQ", "Therefore, the answer is: C and E.", None),
    ("MAQ", "Mesna", "B,C"),
    ("MCQ", "Autosomal recessive", None),
    ("MCQ", "Cef", None),
    ("MAQ", "Answer: B,C", "B,C"),
    ("MCQ", "She has hepatitis B. Prednisone is the best drug.", "D"),
    ("MCQ", "A digital rectal exam helps", None),
    ("MCQ", "Prednisone (option D) is wrong. The correct answer is A: Ifosfamide.", "A"),
    ("RQ", "A: Statins lower it.\n\nThe correct answer is D.", "?|D"),
    ("MCQ", "The best drug is prednisone. Ifosfamide is too toxic.", "D"),
    ("RQ", "The answer to question 1 is A. The answer to question 2 is B.", "?|A"),
    ("RQ", "Correct. Option A is incorrect.", "T|D"),
    ("RQ", "The correct answer is D", "?|D"),
    ("TFQ", "The statement is not true.", "F"),
    ("TFQ", "The rash is consistent with lupus.", None),
    ("RQ", "The pain is consistent with gout.", None),
    ("TFQ", "Please answer true or false.", None),
    ("MCQ", "The answer is E. The correct answer is D.", "D"),
    ("MCQ", "E. The correct answer is D.", "D"),
    ("MAQ", "The correct answer is B. Mesna", "B"),
    ("MCQ", "1. Rest is common. 2. Prednisone works.", None),
)


@pytest.mark.parametrize(("question_type", "response", "found"), EXAMPLES)
def test_a_response_is_read(question_type: str, response: str, found: str | None) -> None:
    options = () if question_type == "TFQ" else OPTIONS
    reading = read_answer(question_type, response, options, "D", "A woman is ill.")
    assert (reading.answer or reading.fragment) == found
