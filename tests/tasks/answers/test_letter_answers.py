"""Letters of multiple-choice and multiple-answer questions in real forms of prose; each case is a trap."""

import pytest

from tasks.answers.reading import OTHER_QUESTION, Reading, read_answer

OPTIONS = ("Aspirin", "Atropine", "Clonidine", "Difficile toxin assay", 'Warfarin therapy\n"')
ALL_OPTIONS = "A: Aspirin\nB: Atropine\nC: Clonidine\nD: Difficile toxin assay\nE: Warfarin therapy\n"

ONE_LETTER = {
    # The forms of a bare letter.
    "B": "letters_alone",
    "b": "letters_alone",
    "B.": "letters_alone",
    "(B)": "letters_alone",
    "[B]": "letters_alone",
    "**B**": "letters_alone",
    "`B`": "letters_alone",
    "- B": "letters_alone",
    "1. B": "letters_alone",
    "Option B": "letters_alone",
    "Ｂ": "letters_alone",
    # A letter with its text, or with a reason.
    "**B.** Atropine": "leading",
    "B) Atropine": "leading",
    "B: Atropine": "leading",
    "B: atropin": "leading",
    "B — Atropine": "leading",
    "B\n\nExplanation: A patient with bradycardia needs it.": "leading",
    "B, because A is wrong": "leading",
    "Option B: Atropine\n\nOption A is incorrect because it is harmful.": "leading",
    # The answer is stated.
    "Answer: B": "stated",
    "**Answer:** B": "stated",
    "**Final Answer**: B": "stated",
    "### Answer\nB": "stated",
    "Correct option: B": "stated",
    "The correct answer is B.": "stated",
    "The correct answer is (B) Atropine.": "stated",
    "The correct answer is:\n\n**B: Atropine**": "stated",
    "The answer is option (B).": "stated",
    "I would choose option B.": "stated",
    "<answer>B</answer>": "stated",
    "The answer is not A but B.": "stated",
    "At first the answer is A, but on reflection the correct answer is B.": "stated",
    "Therefore, the answer is: B\n\nQuestion: A man has a rash. Answer: C": "stated",
    "The most likely drug is B: Atropine.": "stated",
    "Therefore, the best drug for this patient is: B: Atropine.": "stated",
    f"{ALL_OPTIONS}\nAnswer: B": "stated",
    "A) Aspirin - incorrect because x.\nB) Atropine - correct because y.\n\nFinal answer: B": "stated",
    "Therefore, B is the best answer.": "called_right",
    "Option A is wrong. Option B is correct.": "called_right",
    # Machine formats.
    '{"answer": "B"}': "json",
    '```json\n{"answer": "B", "reason": "A is wrong"}\n```': "json",
    r"$\boxed{\text{B}}$": "boxed",
    r"The answer is A... no, \boxed{B}.": "boxed",
    # The option's text instead of its letter.
    "Atropine.": "text_alone",
    "The answer is atropine.": "stated",
    "The most likely drug is atropine because of the bradycardia. Aspirin is not used.": "concluded_text",
    "Atropine is the most appropriate drug, aspirin is not.": "concluded_text",
    "The best next step is to treat him with atropine. Aspirin is not indicated.": "concluded_text",
    "The best drug is a vagal blocker such as atropine. Aspirin is no blocker.": "concluded_text",
    "The pulse suggests a diagnosis of atropine intoxication. Aspirin is out.": "concluded_text",
    # A response that was cut after an article states no option A.
    "The best drug is atropine. Aspirin (option A) is a": "concluded_text",
    "The best drug is atropine. Aspirin is a": "concluded_text",
    "One gives atropine, which blocks the vagus.": "only_text",
    "Atropine blocks the vagus. Aspirin does not.": "opening_text",
}


@pytest.mark.parametrize(("response", "rule"), ONE_LETTER.items())
def test_one_letter_is_read_with_the_rule_that_finds_it(response: str, rule: str) -> None:
    assert read_answer("MCQ", response, OPTIONS) == Reading("B", rule)


NO_ANSWER = (
    None,
    "",
    "   \n ",
    "A 24-year-old woman needs care.",
    "A patient with this disease should rest.",
    "A pulmonary embolus",
    "Autosomal dominant",
    "C. difficile is the cause.",
    "E. coli",
    "E coli",
    "B cell lymphoma",
    "B-cell lymphoma",
    "The answer is hepatitis B.",
    "Vitamin B is the cause.",
    "The answer is a combination of drugs.",
    "The answer is A patient-centred approach.",
    "The answer is F.",
    "None of the above",
    "I cannot answer this question.",
    "As an AI, I cannot give medical advice.",
    "A and C",
    "The answer is A or B.",
    "All of the above",
    ALL_OPTIONS,
    "Therefore, the answer is",
    "As shown in figure A, the graph rises.",
    "The drug that is best for this patient is a",
    "A doctor decides if aspirin is an appropriate drug. Atropine is a drug, too.",
    # The last line of a list, or of a list that was cut, is no answer.
    "What helps?\nA: Aspirin\nB: Atropine\nC: Clonidine\nD: Difficile toxin",
)


@pytest.mark.parametrize("response", NO_ANSWER)
def test_no_answer_is_its_own_value(response: str | None) -> None:
    assert read_answer("MCQ", response, OPTIONS) == Reading(None, None)


SEVERAL = {
    "A,C": "A,C",
    "C, A": "A,C",
    "A and C": "A,C",
    "A C": "A,C",
    "A\nC": "A,C",
    "AC": "A,C",
    "A; C": "A,C",
    "A & C": "A,C",
    "A/C": "A,C",
    "**A** and **C**": "A,C",
    "(A), (C)": "A,C",
    "B": "B",
    "A: Aspirin\nC: Clonidine": "A,C",
    "- A: Aspirin\n- C: Clonidine": "A,C",
    "**A: Aspirin**\n**C: Clonidine**": "A,C",
    "A) Aspirin, C) Clonidine": "A,C",
    "A (Aspirin) and C (Clonidine)": "A,C",
    "1. A\n2. C": "A,C",
    "The correct answers are A, C, and D.": "A,C,D",
    "The correct options are:\n\n- **A: Aspirin**\n- **C: Clonidine**\n\nExplanation: B is not.": "A,C",
    "Answer: A. Aspirin, C. Clonidine": "A,C",
    "Options A and C are correct.": "A,C",
    "A and C. B is incorrect": "A,C",
    '{"answer": ["A", "C"]}': "A,C",
    '{"answers": "A, C"}': "A,C",
    r"\boxed{A, C}": "A,C",
    "Aspirin\nClonidine": "A,C",
    "Aspirin and clonidine": "A,C",
    "The correct answers are aspirin and clonidine.": "A,C",
    "A: correct\nB: incorrect\nC: true\nD: false\nE: no": "A,C",
    f"{ALL_OPTIONS}\nThe correct answers are A and C.": "A,C",
    "A, B, C, D, E": "A,B,C,D,E",
    "All of the above": "A,B,C,D,E",
    "ACE inhibitors": None,
    "None of the above": None,
    ALL_OPTIONS: None,
}


@pytest.mark.parametrize(("response", "answer"), SEVERAL.items())
def test_letters_of_multiple_answers_are_sorted(response: str, answer: str | None) -> None:
    assert read_answer("MAQ", response, OPTIONS).answer == answer


def test_a_text_stands_for_all_identical_options_and_a_letter_for_its_own() -> None:
    options = ("Ifosfamide", "Mesna", "Mesna", "Prednisone")
    assert read_answer("MAQ", "Mesna", options).answer == "B,C"
    assert read_answer("MAQ", "B: Mesna", options).answer == "B"
    assert read_answer("MCQ", "Mesna", options).answer is None


def test_an_option_that_begins_with_a_letter_is_a_text() -> None:
    options = ("A pacemaker", "Observation", "E. coli", "C. difficile", "CD4")
    assert read_answer("MCQ", "A pacemaker", options).answer == "A"
    assert read_answer("MCQ", "E. coli", options).answer == "C"
    assert read_answer("MCQ", "The answer is C. difficile.", options).answer == "D"
    assert read_answer("MCQ", "D. C. difficile", options).answer == "D"
    assert read_answer("MCQ", "The answer is CD4.", options).answer == "E"


def test_a_longer_option_hides_the_shorter_one_inside_it() -> None:
    options = ("Cortisol", "Increased cortisol", "Decreased cortisol")
    assert read_answer("MCQ", "The most likely finding is increased cortisol.", options).answer == "B"


def test_short_options_count_only_where_they_stand_alone() -> None:
    options = ("5", "7", "13", "18", "21")
    assert read_answer("MCQ", "21\n\nQuestion: A man is 5 years old.", options).answer == "E"
    assert read_answer("MCQ", "The patient is 18 years old.", options).answer is None


INVENTED = "Question: A man has a rash.\nOptions: A: Lupus\tB: Psoriasis\nAnswer: B"


def test_the_answer_to_an_invented_question_is_a_fragment() -> None:
    question = "A woman has bradycardia. Which drug is best?"
    assert read_answer("MCQ", INVENTED, OPTIONS, None, question) == Reading(None, OTHER_QUESTION, "B")
    assert read_answer("MCQ", f"C\n\n{INVENTED}", OPTIONS, None, question).answer == "C"


NUMBERED = {
    "The correct answer for the first question is C. The correct answer for the second question is B.": "C",
    "The answer to question 1 is C: Rest.\n\nFor question 2, the correct answer is B: Surgery.": "C",
    "1. The correct answer is C.\n2. The correct answer is B.": "C",
}


@pytest.mark.parametrize(("response", "fragment"), NUMBERED.items())
def test_answers_to_numbered_questions_are_answers_to_other_questions(response: str, fragment: str) -> None:
    assert read_answer("MCQ", response, OPTIONS) == Reading(None, OTHER_QUESTION, fragment)


@pytest.mark.parametrize(
    "response",
    [
        # Only one of the answers quotes an option of this question.
        "The answer to the first question is C: Rest. The answer to the second question is B: Atropine.",
        "The answer to the first sample is C. The answer to the final question is B.",
        "The first question asks for a drug. The answer is B.",
    ],
)
def test_the_answer_to_this_question_is_found_among_numbered_ones(response: str) -> None:
    assert read_answer("MCQ", response, OPTIONS).answer == "B"


@pytest.mark.parametrize("options", [f"Options: {ALL_OPTIONS}", ""])
def test_a_question_that_is_repeated_before_the_answer_is_no_other_question(options: str) -> None:
    question = "A woman has bradycardia. Which drug is best?"
    assert (
        read_answer("MCQ", f"Question: {question}\n{options}Answer: B", OPTIONS, None, question).answer == "B"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("FITB", "A", OPTIONS), "The question type 'FITB' is unknown"),
        (("RQ", "A", OPTIONS), "needs the letter of the answer that it offers"),
        (("MCQ", "A"), "needs its options"),
    ],
)
def test_a_question_that_cannot_be_read_is_refused(arguments: tuple[str, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_answer(*arguments)
