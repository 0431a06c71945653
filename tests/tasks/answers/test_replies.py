"""Replies as models write them: they state the answer, name other options, quote, or change their mind."""

import pytest

from tasks.answers.reading import read_answer

OPTIONS = ("Megestrol acetate", "Aspirin", "Clonidine", "Mifepristone", "Warfarin")

ONE = {
    "The correct answer is D: Mifepristone.\n\nAlternative answers: A: Megestrol acetate B: Aspirin": "D",
    "Therefore, the correct answer is D: Mifepristone.\nIncorrect answers: A: Megestrol acetate is old.": "D",
    "The correct answer is D. The other answers: A: Megestrol acetate, B: Aspirin, C, E": "D",
    "The answer is D. Other options: A: Megestrol acetate, B: Aspirin": "D",
    "Answer: D. Wrong answers: A, B, C, E": "D",
    "The answer is A. Wait, A is a progestin. The answer is D.": "D",
    "The answer is D. Therefore, it should be given soon, and option A is no alternative.": "D",
    "Let us think step by step. A is a progestin. B thins blood. So the answer is D.": "D",
    "My first thought was option B. However, the correct answer is D.": "D",
    "Among the options, mifepristone blocks the receptor, so the best answer is D.": "D",
    "**Answer: D**\n\n**Explanation:** A is wrong because it is a progestin.": "D",
    "D) Mifepristone\n\nA) Megestrol acetate is incorrect.": "D",
    "I would go with option D, although option A is tempting.": "D",
    "The incorrect options are A, B, C and E. The correct answer is D.": "D",
    "The correct answer is D. The wrong answer would be A.": "D",
    "The correct answer is not A but D.": "D",
    "Not A, B, C or E. The answer is D.": "D",
    "Option A is incorrect. Option D is correct.": "D",
    "The most appropriate drug is mifepristone.": "D",
    "mifepristone": "D",
    "<answer>D</answer>": "D",
    '{"reasoning": "A is a progestin", "answer": "D"}': "D",
    r"Thus \boxed{D}.": "D",
    "(D)": "D",
    "The answer is D.\n\nQuestion: Another drug?\nOptions: A: x\tB: y\nAnswer: A": "D",
    "The answer is A. Actually, I made a mistake: the answer is D.": "D",
    "The answer is D. The answer is A.": "D",
    "A possible answer is A. The correct answer is D.": "D",
}
SEVERAL = {
    "The correct answers are A and D. The other options (B, C, E) are incorrect.": "A,D",
    "A, D": "A,D",
    "Correct answers: A, D\nIncorrect answers: B, C, E": "A,D",
    "A: correct\nB: incorrect\nC: incorrect\nD: correct\nE: incorrect": "A,D",
    "Both megestrol acetate and mifepristone act there. Answer: A,D": "A,D",
    "The answer is A and D, but not B.": "A,D",
    "I choose A and D.": "A,D",
}
TRUTHS = {
    'The statement "Psoriasis is not the most likely diagnosis" is true.': "T",
    "The statement Psoriasis is not the most likely diagnosis is true.": "T",
    "The statement “Psoriasis is not the most likely diagnosis.” is false.": "F",
    'Therefore, the statement "Gout is false gout" is true.': "T",
    'The claim that "it is not true that gout hurts" is false.': "F",
    "It is true that psoriasis is not the most likely diagnosis.": "T",
    'No, the statement "Gout hurts" is not correct.': "F",
    "The statement is not accurate, because the drug is no antibiotic.": "F",
    "Psoriasis has no such rash. Hence the statement is true.": "T",
    "The statement is true, since no other disease fits.": "T",
    "Is the statement true? Yes.": "T",
    '"Gout is not likely" is true.': "T",
    '"The statement is false."': "F",
    'My answer is "False, because gout hurts".': "F",
    '{"reason": "Gout hurts", "answer": "not true"}': "F",
    "After thinking about it, I would say no.": "F",
    "I believe that this is correct.": "T",
    "That is wrong.": "F",
    "The rash is not caused by a virus.": None,
    "I am not sure.": None,
    "Please answer true or false.": None,
}
REVISIONS = {
    "Bob's answer is incorrect. The correct answer is D. The incorrect answer is B.": "F|D",
    "The answer is wrong. It should be D, not B.": "F|D",
    "Incorrect. Alternative answers: A, C. The correct answer is D.": "F|D",
    "Yes, B is correct. The other options are wrong.": "T|B",
    "The given answer is correct. Incorrect options: A, C, D, E.": "T|B",
    "Correct.": "T|B",
    "The provided answer, B, is not correct. D is the correct answer.": "F|D",
    "No, the correct answer is D: Mifepristone.": "F|D",
}
REPLIES = [
    (kind, *reply)
    for kind, replies in (("MCQ", ONE), ("MAQ", SEVERAL), ("TFQ", TRUTHS), ("RQ", REVISIONS))
    for reply in replies.items()
]


@pytest.mark.parametrize(("kind", "response", "answer"), REPLIES)
def test_a_reply_is_read(kind: str, response: str, answer: str | None) -> None:
    assert read_answer(kind, response, () if kind == "TFQ" else OPTIONS, "B").answer == answer
