"""Judgements of revision and true-false questions; each case is a trap."""

from tasks.answers.reading import Reading, read_answer

OPTIONS = ("Aspirin", "Atropine", "Clonidine", "Dopamine", "Warfarin")
# The offered answer, D, is called right.
RIGHT = (
    *("correct", "**Correct**", "Yes", "True.", "D is correct.", "The given answer is correct."),
    # A judgement that is stated as the answer counts before words about options and findings in the thought.
    "No fever was reported, and the right lung is clear. The given answer is correct.",
    "The effect on D is false to assume. I agree with the answer.",
    "Alice's answer is correct. The correct answer is D. This answer is wrong only in adults.",
    "Her answer: C. Please determine whether her answer is correct, and if it's incorrect, "
    "provide the correct answer.\nAnswer: correct",
)
# It is called wrong, and corrected to B.
WRONG = (
    *("incorrect, the correct answer is atropine", "No. B", "Not correct. B", "✗ Incorrect → B"),
    "It is true that D helps, but not here. Therefore, the answer is: False. The answer is B.",
    "D is true of adults. In children it is harmful. Her answer is incorrect. The answer is B.",
    "No treatment is needed here. Final judgement: incorrect. The correct answer is B.",
    "The given answer (D) is wrong; it should be B.",
    "The provided answer D is not right; B is the correct answer.",
    "The answer is incorrect. Option A is wrong, option B is correct.",
    "I disagree. The answer is B",
    '{"judgement": "incorrect", "answer": "B"}',
    '{"correct": false, "corrected_answer": "B"}',
)
REVISIONS = {
    **dict.fromkeys(RIGHT, "T|D"),
    **dict.fromkeys(WRONG, "F|B"),
    "Correct, the correct answer is B": "T|B",
}
HALVES = {
    **dict.fromkeys(("incorrect, the correct answer is", "Incorrect."), "F|?"),
    **dict.fromkeys(("The correct answer is B", "B: Atropine"), "?|B"),
    "A: Statins lower it.\n\nThe correct answer is D.": "?|D",
    "The answer to question 1 is A. The answer to question 2 is B.": "?|A",
    # An adjective of a noun judges nothing.
    "The correct mechanism is blocked here. The answer is B": "?|B",
    "A trial gives a more accurate estimate. The answer is B": "?|B",
}
PROSE = (
    "Please determine whether her answer is correct, and if it's incorrect, give the correct answer.",
    "Option C is incorrect.",
    "No fever was seen.",
    "False positive results are common.",
    "The correct answer is not among the options.",
)
TRUTHS = {
    **dict.fromkeys(("true", "**True**", "Yes", "not false", "A: True", r"\boxed{True}"), "T"),
    "The patient has no fever. Therefore, the statement is true.": "T",
    "False positive tests are common. The statement is true.": "T",
    "The statement Psoriasis is not the most likely diagnosis is true.": "T",
    **dict.fromkeys(("False.", "No", "untrue", "That is wrong.", '{"answer": "false"}'), "F"),
    'The statement "Sarcoidosis is likely" is not entirely true.': "F",
    "The statement “Psoriasis is not the most likely diagnosis.” is false.": "F",
    "It is true that gout hurts. So the answer is: False": "F",
    '"The statement is false."': "F",
    'My answer is "False, because gout hurts".': "F",
    "After thinking about it, I would say no.": "F",
    # Doubts in the clause that states the answer do not take it away.
    "False, as far as I can't tell.": "F",
    **dict.fromkeys(("", "Yesterday she had pain", "True or false?", "Please answer true or false.")),
    "The correct diagnosis is gout.": None,
    "Question: Another statement is true or false?\nAnswer: true": None,
}


def test_a_revision_is_a_judgement_and_a_letter() -> None:
    found = {response: read_answer("RQ", response, OPTIONS, "D").answer for response in REVISIONS}
    assert found == REVISIONS


def test_half_a_revision_is_a_fragment_and_no_answer() -> None:
    found = {response: read_answer("RQ", response, OPTIONS, "D") for response in HALVES}
    assert {response: (reading.answer, reading.fragment) for response, reading in found.items()} == {
        response: (None, fragment) for response, fragment in HALVES.items()
    }
    assert all(reading.rule for reading in found.values())


def test_words_of_the_prompt_and_of_prose_are_no_judgement() -> None:
    found = {response: read_answer("RQ", response, OPTIONS, "D") for response in PROSE}
    assert found == dict.fromkeys(PROSE, Reading(None, None))


def test_a_truth_is_what_the_response_says_of_the_statement() -> None:
    assert {response: read_answer("TFQ", response).answer for response in TRUTHS} == TRUTHS


# What is read in responses to statements that a model may be unsure of (docs/models.md).
UNSURE = (
    *("Unsure", "**Unsure**", "Answer: Unsure", '{"answer": "Unsure"}'),
    *("I am not sure.", "I'm not entirely sure.", "I’m really not certain", "I don't know.", "Uncertain."),
    *("Unknown", "Not sure", "Cannot be determined.", "The statement cannot be verified."),
    "I don’t know if the answer is True.",
    "I am unsure. The statement is true only if the patient is an adult.",
    "Unsure, but it could be true.",
    "I'm not sure, so I would say Unsure.",
    "I'm not sure. True. Actually, I don't know.",
    "True or false? I don't know.",
    "It is hard to say whether it is true. I am not sure.",
    "Some sources call it true, others do not.\nFinal answer: Unsure",
    "True.\nOn reflection, the answer is: Unsure",
    'The statement "Gout is true, not false" is one that I cannot judge.',
)
TRUE = (
    *("True", "True, but I am not sure.", "True. The mechanism is unknown.", "Unsure? True"),
    "I'm not sure, but the answer is True",
    "I do not know much, but yes.",
    "Unsure at first; however, the statement is true.",
    "I don't know. My best guess is True.",
    "Unsure is not needed here. The answer is True.",
)
FALSE = (
    *("False", "No, I am sure.", "I am sure that it is false.", "I'm not unsure: it is false"),
    "I'm not sure, but it is not true.",
    "I don't know. If I had to guess, I would say false.",
    "It is false. Whether it was known earlier, I cannot say.",
)
NEITHER = (
    *("", "Gout is a disease of the joints.", "The cause of gout is uncertain."),
    'The statement is "I do not know gout".',
    "True or False, or Unsure if you do not",
)
ANSWERS = {
    text: answer
    for texts, answer in ((UNSURE, "U"), (TRUE, "T"), (FALSE, "F"), (NEITHER, None))
    for text in texts
}


def test_doubt_counts_unless_it_is_taken_back() -> None:
    found = {text: read_answer("TFU", text) for text in ANSWERS}
    assert {text: reading.answer for text, reading in found.items()} == ANSWERS
    assert all((reading.rule is None) == (reading.answer is None) for reading in found.values())


def test_two_answers_are_read_without_doubts() -> None:
    assert "U" not in {read_answer("TFQ", text).answer for text in ANSWERS}
    assert read_answer("TFQ", "I'm not sure, so I would say Unsure.").answer is None
