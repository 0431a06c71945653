"""One short example of each class in which our reading differs from that of the authors of MultifacetEval."""

import pytest

from benchmarks.extraction_classes import AUTHORS_WRONG, Comparison, classify
from tasks.answers.reading import read_answer

OPTIONS = ("Ifosfamide", "Mesna", "Mesna", "Prednisone", "Rest")
LIST = "A: Ifosfamide\nB: Mesna\nC: Mesna\nD: Prednisone\nE: Rest"
STATED = "another option than the stated one"
CALLED_RIGHT = "another option than the one called right"
# (type, response, what the authors extract, what we read, class)
EXAMPLES = (
    ("MCQ", "Question: A new case.\nOptions: A: x\tB: y\nAnswer: B", "E", "B", "answer to another question"),
    ("MCQ", "Question: A new case without end", "A", None, "answer to another question"),
    ("MAQ", LIST, "A", None, "list of all options"),
    ("MAQ", "A: Ifosfamide\nD: Prednisone", "A", "A,D", "one of several letters"),
    ("MCQ", "Therefore, the answer is: C and E.", "C", None, "one of several letters"),
    ("MAQ", "Mesna", "C", "B,C", "one of identical options"),
    ("MCQ", "Autosomal recessive", "A", None, "letter inside a word"),
    ("MCQ", "Cef", "C", None, "letter inside a word"),
    ("MAQ", "Answer: B,C", "A", "B,C", "letter inside a word"),
    ("MCQ", "She has hepatitis B. Prednisone is the best drug.", "B", "D", "letter inside a word"),
    ("MCQ", "A digital rectal exam helps", "A", None, "article A"),
    ("MCQ", "Prednisone (option D) is wrong. The correct answer is A: Ifosfamide.", "D", "A", STATED),
    ("RQ", "A: Statins lower it.\n\nThe correct answer is D.", "?|A", "?|D", STATED),
    ("MCQ", "The best drug is prednisone. Ifosfamide is too toxic.", "A", "D", CALLED_RIGHT),
    (
        "RQ",
        "The answer to question 1 is A. The answer to question 2 is B.",
        "?|B",
        "?|A",
        "answer to another question",
    ),
    ("RQ", "Correct. Option A is incorrect.", "F|?", "T|D", "judgement of something else"),
    ("RQ", "The correct answer is D", "T|D", "?|D", "judgement in 'correct answer'"),
    ("TFQ", "The statement is not true.", "T", "F", "judgement of something else"),
    ("TFQ", "The rash is consistent with lupus.", "T", None, "'consistent' in prose"),
    ("RQ", "The pain is consistent with gout.", "T|D", None, "'consistent' in prose"),
    ("TFQ", "Please answer true or false.", "F", None, "words of the prompt"),
    # In these classes the text allows both readings, or none is safe.
    ("MCQ", "The answer is E. The correct answer is D.", "E", "D", "several statements"),
    ("MCQ", "E. The correct answer is D.", "E", "D", "several statements"),
    ("MAQ", "The correct answer is B. Mesna", "B,C", "B", "other"),
    ("MCQ", "1. Rest is common. 2. Prednisone works.", "D", None, "text of an option"),
)


@pytest.mark.parametrize(("question_type", "response", "theirs", "ours", "label"), EXAMPLES)
def test_a_disagreement_has_its_class(
    question_type: str, response: str, theirs: str, ours: str | None, label: str
) -> None:
    options = () if question_type == "TFQ" else OPTIONS
    reading = read_answer(question_type, response, options, "D", "A woman is ill.")
    assert (reading.answer or reading.fragment) == ours
    comparison = Comparison(
        "ao", "model", question_type, response, options, "D", "A woman is ill.", theirs, reading
    )
    assert classify(comparison) == label


def test_every_class_in_which_the_authors_are_wrong_has_an_example() -> None:
    assert {example[-1] for example in EXAMPLES} >= set(AUTHORS_WRONG)


def test_the_same_text_is_no_disagreement() -> None:
    reading = read_answer("MCQ", "B", OPTIONS)
    assert classify(Comparison("ao", "model", "MCQ", "B", OPTIONS, "", "", "B", reading)) is None
