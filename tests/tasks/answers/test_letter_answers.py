"""Letters of multiple-choice and multiple-answer questions in real forms of prose; each case is a trap."""

from typing import Any

import pytest

from tasks.answers.reading import OTHER_QUESTION, Reading, read_answer

OPTIONS = ("Aspirin", "Atropine", "Clonidine", "Difficile toxin assay", 'Warfarin therapy\n"')
ALL_OPTIONS = "A: Aspirin\nB: Atropine\nC: Clonidine\nD: Difficile toxin assay\nE: Warfarin therapy\n"
QUESTION = "A woman has bradycardia. Which drug is best?"

# Responses with the answer B, and the rule that finds it.
ONE_LETTER = {
    **dict.fromkeys(("B", "b", "(B)", "**B**", "`B`", "- B", "1. B", "Option B", "Ｂ"), "letters_alone"),
    # A letter with its text, or with a reason.
    "**B.** Atropine": "leading",
    "B) Atropine": "leading",
    "B — Atropine": "leading",
    "Option B: Atropine\n\nOption A is incorrect because it is harmful.": "leading",
    # The answer is stated.
    "### Answer\nB": "stated",
    "The answer is option (B).": "stated",
    "<answer>B</answer>": "boxed",
    "The answer is not A but B.": "stated",
    "At first the answer is A, but on reflection the correct answer is B.": "stated",
    "Therefore, the answer is: B\n\nQuestion: A man has a rash. Answer: C": "stated",
    "Therefore, B is the best answer.": "called_right",
    "Option A is wrong. Option B is correct.": "called_right",
    # Machine formats.
    '{"answer": "B"}': "json",
    '{"answer": "A"} No: {"answer": "B"}': "json",
    r"$\boxed{\text{B}}$": "boxed",
    r"The answer is A... no, \boxed{B}.": "boxed",
    # The option's text instead of its letter.
    "Atropine.": "text_alone",
    "The answer is atropine.": "stated",
    "Atropine is the most appropriate drug, aspirin is not.": "concluded_text",
    "The best drug is a vagal blocker such as atropine. Aspirin is no blocker.": "concluded_text",
    "The pulse suggests a diagnosis of atropine intoxication. Aspirin is out.": "concluded_text",
    # A response that was cut after an article states no option A.
    "The best drug is atropine. Aspirin (option A) is a": "concluded_text",
    "One gives atropine, which blocks the vagus.": "only_text",
    "Atropine blocks the vagus. Aspirin does not.": "opening_text",
}
NO_ANSWER = (
    *(None, "", "   \n ", "A pulmonary embolus", "A patient with this disease should rest."),
    *("Autosomal dominant", "C. difficile is the cause.", "E. coli", "E coli"),
    *("B cell lymphoma", "B-cell lymphoma", "The answer is hepatitis B.", "Vitamin B is the cause."),
    *("The answer is a combination of drugs.", "The answer is A patient-centred approach.", "A and C"),
    *("The answer is F.", "None of the above", "All of the above", "The answer is A or B.", ALL_OPTIONS),
    "As an AI, I cannot give medical advice.",
    "As shown in figure A, the graph rises.",
    "A doctor decides if aspirin is an appropriate drug. Atropine is a drug, too.",
    # The last line of a list, or of a list that was cut, is no answer.
    "What helps?\nA: Aspirin\nB: Atropine\nC: Clonidine\nD: Difficile toxin",
)
A_AND_C = (
    *("A,C", "C, A", "A and C", "A C", "A\nC", "AC", "A & C", "A/C", "**A** and **C**", "(A), (C)"),
    "- A: Aspirin\n- C: Clonidine",
    "A (Aspirin) and C (Clonidine)",
    "1. A\n2. C",
    "The correct options are:\n\n- **A: Aspirin**\n- **C: Clonidine**\n\nExplanation: B is not.",
    "Answer: A. Aspirin, C. Clonidine",
    "The correct answers are A and C. The other options (B, D, E) are incorrect.",
    "Correct answers: A, C\nIncorrect answers: B, D, E",
    "I choose A and C.",
    '{"answer": ["A", "C"]}',
    '{"answers": "A, C"}',
    "Aspirin\nClonidine",
    "Aspirin and clonidine",
    "The correct answers are aspirin and clonidine.",
    "A: correct\nB: incorrect\nC: true\nD: false\nE: no",
)
SEVERAL = {
    **dict.fromkeys(A_AND_C, "A,C"),
    "B": "B",
    "The correct answers are A, C, and D.": "A,C,D",
    "All of the above": "A,B,C,D,E",
    **dict.fromkeys(("ACE inhibitors", "None of the above", ALL_OPTIONS)),
}


def test_one_letter_is_read_with_the_rule_that_finds_it() -> None:
    expected = {response: Reading("B", rule) for response, rule in ONE_LETTER.items()}
    assert {response: read_answer("MCQ", response, OPTIONS) for response in ONE_LETTER} == expected


def test_no_answer_is_its_own_value() -> None:
    found = {response: read_answer("MCQ", response, OPTIONS) for response in NO_ANSWER}
    assert found == dict.fromkeys(NO_ANSWER, Reading(None, None))


def test_letters_of_multiple_answers_are_sorted() -> None:
    assert {response: read_answer("MAQ", response, OPTIONS).answer for response in SEVERAL} == SEVERAL


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
