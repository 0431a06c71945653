"""Judgements of revision and true-false questions; each case is a trap."""

import pytest

from tasks.answers.reading import Reading, read_answer

OPTIONS = ("Aspirin", "Atropine", "Clonidine", "Dopamine", "Warfarin")

REVISIONS = {
    # The offered answer, D, is called right.
    "correct": "T|D",
    "**Correct**": "T|D",
    "Yes": "T|D",
    "True.": "T|D",
    "D is correct.": "T|D",
    "The given answer is correct.": "T|D",
    "The answer is right.": "T|D",
    "I agree with the answer D.": "T|D",
    "Alice's answer: D is correct.": "T|D",
    "Alice's answer is correct. Option A is incorrect because it is harmful.": "T|D",
    "Correct, the correct answer is B": "T|B",
    # The offered answer is called wrong, and corrected.
    # A judgement that is stated as the answer counts before words about options and findings in the thought.
    "D is false for this patient, one could think. Therefore, the answer is: True. The answer is D.": "T|D",
    "It is true that D helps, but not here. Therefore, the answer is: False. The answer is B.": "F|B",
    "The test was a false positive. So Alice's answer is correct.": "T|D",
    "D is true of adults. In children it is harmful. Her answer is incorrect. The answer is B.": "F|B",
    "No fever was reported, and the right lung is clear. The given answer is correct.": "T|D",
    "No treatment is needed here. Final judgement: incorrect. The correct answer is B.": "F|B",
    "The effect on D is false to assume. I agree with the answer.": "T|D",
    "Alice's answer is correct. The correct answer is D. This answer is wrong only in adults.": "T|D",
    "incorrect, the correct answer is B": "F|B",
    "incorrect, the correct answer is atropine": "F|B",
    "False. The correct answer is C": "F|C",
    "No. B": "F|B",
    "Not correct. B": "F|B",
    "✗ Incorrect → B": "F|B",
    "The provided answer is incorrect. The correct answer is **B**.": "F|B",
    "The given answer (D) is wrong; it should be B.": "F|B",
    "The answer D is not correct. The right answer is B.": "F|B",
    "The provided answer D is not right; B is the correct answer.": "F|B",
    "The answer is incorrect. Option A is wrong, option B is correct.": "F|B",
    "Alice's answer is incorrect. The answer is B.": "F|B",
    "I disagree. The answer is B": "F|B",
    "**Judgment:** Incorrect\n\n**Corrected answer:** B": "F|B",
    '{"judgement": "incorrect", "answer": "B"}': "F|B",
    '{"correct": false, "corrected_answer": "B"}': "F|B",
    "Her answer: C. Please determine whether her answer is correct, and if it's incorrect, "
    "provide the correct answer.\nAnswer: correct": "T|D",
}


@pytest.mark.parametrize(("response", "answer"), REVISIONS.items())
def test_a_revision_is_a_judgement_and_a_letter(response: str, answer: str) -> None:
    assert read_answer("RQ", response, OPTIONS, "D").answer == answer


HALVES = {
    "incorrect, the correct answer is": "F|?",
    "Incorrect.": "F|?",
    "D": "?|D",
    "The correct answer is B": "?|B",
    "B: Atropine": "?|B",
    # An adjective of a noun judges nothing.
    "The correct mechanism is blocked here. The answer is B": "?|B",
    "A trial gives a more accurate estimate. The answer is B": "?|B",
}


@pytest.mark.parametrize(("response", "fragment"), HALVES.items())
def test_half_a_revision_is_a_fragment_and_no_answer(response: str, fragment: str) -> None:
    reading = read_answer("RQ", response, OPTIONS, "D")
    assert (reading.answer, reading.fragment) == (None, fragment)
    assert reading.rule


@pytest.mark.parametrize(
    "response",
    [
        "Please determine whether her answer is correct, and if it's incorrect, give the correct answer.",
        "The patient has no fever. The right lung is clear.",
        "Her symptoms began yesterday.",
        "I cannot judge this.",
        "Option C is incorrect.",
        "No fever was seen.",
        "False positive results are common.",
        "The correct answer is not among the options.",
    ],
)
def test_words_of_the_prompt_and_of_prose_are_no_judgement(response: str) -> None:
    assert read_answer("RQ", response, OPTIONS, "D") == Reading(None, None)


TRUTHS = {
    "true": "T",
    "**True**": "T",
    "Yes": "T",
    "not false": "T",
    "A: True": "T",
    r"\boxed{True}": "T",
    "The patient has no fever. Therefore, the statement is true.": "T",
    "The statement is true. The rash is not a false alarm.": "T",
    "The statement is accurate": "T",
    "False.": "F",
    "No": "F",
    "untrue": "F",
    "The statement is not true.": "F",
    'The statement "Sarcoidosis is likely" is not entirely true.': "F",
    "It is not true that the drug helps.": "F",
    "The correct treatment is aspirin. So the statement is false": "F",
    "The statement above is **false**.": "F",
    "True or false? False": "F",
    '{"answer": "false"}': "F",
    "Therefore, the answer is: false": "F",
    "No signs of infection were seen. The statement is true.": "T",
    "False positive tests are common. The statement is true.": "T",
    "It is true that gout hurts. So the answer is: False": "F",
    "**True** Gout hurts.": "T",
    "The correct diagnosis is gout.": None,
    "": None,
    "Yesterday she had pain": None,
    "True or false?": None,
    "The symptoms are consistent with gout.": None,
    "Gout is the most likely diagnosis.": None,
    "Question: Another statement is true or false?\nAnswer: true": None,
}


@pytest.mark.parametrize(("response", "answer"), TRUTHS.items())
def test_a_truth_is_what_the_response_says_of_the_statement(response: str, answer: str | None) -> None:
    assert read_answer("TFQ", response).answer == answer
