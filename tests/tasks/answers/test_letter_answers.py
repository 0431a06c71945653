"""Letters of options that look like each other, and of replies about several questions."""

from typing import Any

import pytest

from tasks.answers.reading import OTHER_QUESTION, Reading, read_answer

OPTIONS = ("Aspirin", "Atropine", "Clonidine", "Difficile toxin assay", 'Warfarin therapy\n"')
ALL_OPTIONS = "A: Aspirin\nB: Atropine\nC: Clonidine\nD: Difficile toxin assay\nE: Warfarin therapy\n"
QUESTION = "A woman has bradycardia. Which drug is best?"

# Replies that state the answer, D, name other options or change their mind.
REPLIES = (
    "The correct answer is D: Mifepristone.\n\nAlternative answers: A: Megestrol acetate B: Aspirin",
    "The answer is A. Wait, A is a progestin. The answer is D.",
    "My first thought was option B. However, the correct answer is D.",
    "D) Mifepristone\n\nA) Megestrol acetate is incorrect.",
    "I would go with option D, although option A is tempting.",
    "The incorrect options are A, B, C and E. The correct answer is D.",
    "The answer is D. The answer is A.",
)


def test_the_stated_answer_counts_and_not_the_other_options_of_a_reply() -> None:
    options = ("Megestrol acetate", "Aspirin", "Clonidine", "Mifepristone", "Warfarin")
    found = {reply: read_answer("MCQ", reply, options).answer for reply in REPLIES}
    assert found == dict.fromkeys(REPLIES, "D")
    assert read_answer("MCQ", "1. Warfarin is common. 2. Mifepristone works.", options).answer is None


def test_texts_of_options_that_look_like_letters_or_like_each_other() -> None:
    twice = ("Ifosfamide", "Mesna", "Mesna", "Prednisone")
    letters = ("A pacemaker", "Observation", "E. coli", "C. difficile", "CD4")
    numbers = ("5", "7", "13", "18", "21")
    cases: dict[tuple[str, str, tuple[str, ...]], str | None] = {
        # A text stands for all identical options, and a letter for its own.
        ("MAQ", "Mesna", twice): "B,C",
        ("MAQ", "B: Mesna", twice): "B",
        ("MCQ", "Mesna", twice): None,
        ("MCQ", "A pacemaker", letters): "A",
        ("MCQ", "E. coli", letters): "C",
        ("MCQ", "The answer is C. difficile.", letters): "D",
        ("MCQ", "D. C. difficile", letters): "D",
        ("MCQ", "The answer is CD4.", letters): "E",
        # A longer option hides the shorter one inside it.
        ("MCQ", "The finding is increased cortisol.", ("Cortisol", "Increased cortisol", "Fever")): "B",
        # A quotation may have other articles, commas and conjunctions.
        (
            "MCQ",
            "The best step is to rest and start an infusion.",
            ("Start infusion", "Rest, start infusion"),
        ): "B",
        # Short options count only where they stand alone.
        ("MCQ", "21\n\nQuestion: A man is 5 years old.", numbers): "E",
        ("MCQ", "The patient is 18 years old.", numbers): None,
    }
    assert {case: read_answer(*case).answer for case in cases} == cases


def test_the_answer_to_another_question_is_a_fragment() -> None:
    invented = "Question: A man has a rash.\nOptions: A: Lupus\tB: Psoriasis\nAnswer: B"
    numbered = (
        "The correct answer for the first question is C. The correct answer for the second question is B.",
        "The answer to question 1 is C: Rest.\n\nFor question 2, the correct answer is B: Surgery.",
        "1. The correct answer is C.\n2. The correct answer is B.",
    )
    expected = {response: Reading(None, OTHER_QUESTION, "C") for response in numbered}
    others = "A: Oral rehydration\nB. Chest radiograph\nC: Lumbar puncture\nD: Observation\n"
    expected |= dict.fromkeys((invented, f"{others}Answer: B"), Reading(None, OTHER_QUESTION, "B"))
    found = {response: read_answer("MCQ", response, OPTIONS, None, QUESTION) for response in expected}
    assert found == expected
    assert read_answer("MCQ", f"C\n\n{invented}", OPTIONS, None, QUESTION).answer == "C"
    explained = (
        "A: It is wrong in bradycardia.\nB: A vagal blocker.\nC: It slows the heart.\nThe answer is B."
    )
    assert read_answer("MCQ", explained, OPTIONS, None, QUESTION).answer == "B"


def test_an_option_that_is_only_denied_or_copied_from_the_question_is_no_answer() -> None:
    question = (
        "A woman who takes aspirin for her joints came to the hospital with bradycardia. Which drug is best?"
    )
    expected: dict[str, str | None] = {
        "Her heart rate calls for atropine": "B",
        "There is no need to give atropine": None,
        question: None,
    }
    assert {text: read_answer("MCQ", text, OPTIONS, None, question).answer for text in expected} == expected


def test_the_answer_to_this_question_is_found_beside_others_and_after_its_repetition() -> None:
    responses = (
        # Only one of the answers quotes an option of this question.
        "The answer to the first question is C: Rest. The answer to the second question is B: Atropine.",
        "The answer to the first sample is C. The answer to the final question is B.",
        "The first question asks for a drug. The answer is B.",
        f"Question: {QUESTION}\nOptions: {ALL_OPTIONS}Answer: B",
        f"Question: {QUESTION}\nAnswer: B",
    )
    found = {response: read_answer("MCQ", response, OPTIONS, None, QUESTION).answer for response in responses}
    assert found == dict.fromkeys(responses, "B")


def test_a_question_that_cannot_be_read_is_refused() -> None:
    refused: dict[str, tuple[Any, ...]] = {
        "The question type 'FITB' is unknown": ("FITB", "A", OPTIONS),
        "needs the letter of the answer that it offers": ("RQ", "A", OPTIONS),
        "needs its options": ("MCQ", "A"),
    }
    for message, arguments in refused.items():
        with pytest.raises(ValueError, match=message):
            read_answer(*arguments)
