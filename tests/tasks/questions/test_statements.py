import pytest

from tasks.questions.clauses import Clause, parse_clause
from tasks.questions.statements import ask, find_option_forms, state


def parse(sentence: str) -> Clause:
    clause = parse_clause(sentence)
    assert isinstance(clause, Clause), clause
    return clause


def state_both(sentence: str, option: str) -> tuple[str, str]:
    clause = parse(sentence)
    (form,) = find_option_forms(clause, [option])
    return state(clause, option, form, is_negated=False), state(clause, option, form, is_negated=True)


@pytest.mark.parametrize(
    ("sentence", "negated"),
    [
        ("Which of the following is the likely cause", "Which of the following is not the likely cause?"),
        ("Which of the following are true", "Which of the following are not true?"),
        ("Which of the following was found on exam", "Which of the following was not found on exam?"),
        ("What is the likely cause", "Which of the following is not the likely cause?"),
        ("What should be the next step", "Which of the following should not be the next step?"),
        ("What is best treatment option", "Which of the following is not the best treatment option?"),
        (
            "Which of the following is the most likely to heal it",
            "Which of the following is not most likely to heal it?",
        ),
        ("Which of the following best explains it", "Which of the following does not best explain it?"),
        ("Which of the following best explain it", "Which of the following do not best explain it?"),
        (
            "Which of the following most likely caused it",
            "Which of the following did not most likely cause it?",
        ),
        (
            "Which of the following has the highest risk",
            "Which of the following does not have the highest risk?",
        ),
        ("Which of the following has caused it", "Which of the following has not caused it?"),
        (
            "Which of the following tests would most likely heal it",
            "Which of the following tests would not most likely heal it?",
        ),
        (
            "Which of the following mechanisms explains it",
            "Which of the following mechanisms does not explain it?",
        ),
        ("Which of the following causes is likely", "Which of the following causes is not likely?"),
        (
            "In addition to rest, which of the following is best",
            "In addition to rest, which of the following is not best?",
        ),
        (
            "If he smokes, what would be the next step",
            "If he smokes, which of the following would not be the next step?",
        ),
        (
            "A lack of which of the following is the cause",
            "A lack of which of the following is not the cause?",
        ),
        (
            "A drug that blocks which of the following nerves would help",
            "A drug that blocks which of the following nerves would not help?",
        ),
        (
            "An exam is likely to show which of the following",
            "An exam is not likely to show which of the following?",
        ),
        (
            "The drug that was given is due to which of the following",
            "The drug that was given is not due to which of the following?",
        ),
        (
            "The drug that caused it is due to which of the following",
            "The drug that caused it is not due to which of the following?",
        ),
        (
            "The boy most likely has which of the following",
            "The boy does not most likely have which of the following?",
        ),
        ("Which of the following would NOT be expected", "Which of the following would be expected?"),
        (
            "Which of the following effects would the drug also have on him",
            "Which of the following is not among the effects that the drug would also have on him?",
        ),
        (
            "What would the film be expected to show",
            "Which of the following is not what the film would be expected to show?",
        ),
        ("What share of it could heal", "Which of the following shares of it could not heal?"),
        ("What other sign is most likely present", "Which of the following is not most likely present?"),
        ("Which statement about it is true", "Which of the following is not true?"),
        ("Of the following options, which is the cause", "Which of the following is not the cause?"),
        (
            "The target of the drug she was given is which of the following",
            "The target of the drug she was given is not which of the following?",
        ),
        ("It can be due to which of the following", "It cannot be due to which of the following?"),
        (
            "What is the name of it, and what is the best drug",
            "Which of the following does not give the name of it and the best drug?",
        ),
    ],
)
def test_negated_question(sentence: str, negated: str) -> None:
    assert ask(parse(sentence), is_negated=True) == negated


def test_a_question_that_is_not_negated_keeps_its_words() -> None:
    sentence = "If he smokes, which of the following nerves is most likely hurt"
    assert ask(parse(sentence), is_negated=False) == f"{sentence}?"


STEP = "What is the next step in management"
CAUSE = "Which of the following is the likely cause"
SEEN = "Which of the following is likely to be seen"


@pytest.mark.parametrize(
    ("sentence", "option", "statement"),
    [
        (CAUSE, "Gout", "Gout is[ not] the likely cause."),
        (CAUSE, "Stones in the bile", "The likely cause is[ not] stones in the bile."),
        (CAUSE, "Infection and fever", "The likely cause is[ not] infection and fever."),
        (STEP, "Administer oxygen", "To administer oxygen is[ not] the next step in management."),
        (
            STEP,
            "Stop aspirin, start heparin",
            "The following is[ not] the next step in management: Stop aspirin, start heparin.",
        ),
        (STEP, "Surgery", "Surgery is[ not] the next step in management."),
        (STEP, "No treatment", "The following is[ not] the next step in management: No treatment."),
        ("What would be the next step", "Give rest", "To give rest would[ not] be the next step."),
        ("At once, what is the next step", "Give rest", "At once, to give rest is[ not] the next step."),
        ("What is the dose", "480 mg", "The dose is[ not] 480 mg."),
        ("What is the origin", "6th arch", "The origin is[ not] the 6th arch."),
        (SEEN, "A rash", "A rash is[ not] likely to be seen."),
        (SEEN, "Red cells in urine", "Red cells in urine are[ not] likely to be seen."),
        ("Which of the following are likely to be seen", "A rash", "A rash is[ not] likely to be seen."),
        (
            "Which of the following is a risk factor",
            "Cats and dogs",
            "The following is[ not] a risk factor: Cats and dogs.",
        ),
        ("Which of the following is true", "It is rare.", "The following is[ not] true: It is rare."),
        (
            "Which of the following statements are true",
            "Gout is rare",
            "The following statement is[ not] true: Gout is rare.",
        ),
        (
            "Which of the following are normal values",
            "5 mmHg",
            "The following are[ not] normal values: 5 mmHg.",
        ),
        (
            "What inference could be made",
            "It is rare",
            "The following inference could[ not] be made: It is rare.",
        ),
        (
            "What changes should be made",
            "Add rest daily",
            "The following change should[ not] be made: Add rest daily.",
        ),
        ("If so, which of the following is the cause", "Infection", "If so, infection is[ not] the cause."),
        (
            "If so, which of the following is the cause",
            "Crohn's disease",
            "If so, Crohn's disease is[ not] the cause.",
        ),
        (
            "Injury of which of the following vessels is likely",
            "Uterine artery",
            "Injury of the uterine artery is[ not] likely.",
        ),
        (
            "A defect of which of the following chromosomes is likely",
            "5",
            "A defect of chromosome 5 is[ not] likely.",
        ),
        (
            "A lack of which of the following is likely",
            "It is rare",
            "A lack of the following is[ not] likely: It is rare.",
        ),
        (
            "An exam would show which of the following findings",
            "Infection",
            "An exam would[ not] show infection.",
        ),
        (
            "An exam would show which of the following findings",
            "Skin is dry",
            "An exam would[ not] show the following finding: Skin is dry.",
        ),
        ("What would the film show", "Red cells", "Red cells are[ not] what the film would show."),
        (
            "Which of the following is the best response",
            '"You are well."',
            "The following is[ not] the best response: 'You are well.'",
        ),
    ],
)
def test_statement_and_its_contradictory(sentence: str, option: str, statement: str) -> None:
    assert state_both(sentence, option) == (
        statement.replace("[ not]", ""),
        statement.replace("[ not]", " not"),
    )


@pytest.mark.parametrize(
    ("sentence", "option", "statement", "negation"),
    [
        (
            "Which of the following best explains it",
            "Swollen cells",
            "Swollen cells best explain it.",
            "Swollen cells do not best explain it.",
        ),
        (
            "It has which of the following modes of inheritance",
            "Recessive",
            "It has the following mode of inheritance: Recessive.",
            "It does not have the following mode of inheritance: Recessive.",
        ),
        (
            "Which of the following would NOT be expected",
            "Fever",
            "Fever would not be expected.",
            "Fever would be expected.",
        ),
    ],
)
def test_statement_and_negation_with_other_words(
    sentence: str, option: str, statement: str, negation: str
) -> None:
    assert state_both(sentence, option) == (statement, negation)


@pytest.mark.parametrize(
    ("sentence", "reason"),
    [
        ("How does it spread", "does not ask with"),
        ("Which of the following drugs did he take", "the gap is an object"),
        ("Which of the following is this patient at risk of", "the gap is an object"),
        ("What is a film likely to show", "the gap is an object"),
        ("During which of the following stages does it grow", "preposition at the beginning"),
        ("Which of the following zorps it", "no known verb"),
        ("Which of these is it", "other words than"),
        ("Of these drugs, which is it", "asks 'which' without"),
        ("Which of the following drugs, if given now, is best", "a clause of its own"),
        ("Which of the following leads to which of the following", "asks for several things"),
        ("He is given a drug, which has which of the following effects", "in a relative clause"),
    ],
)
def test_what_cannot_be_turned_has_a_reason(sentence: str, reason: str) -> None:
    result = parse_clause(sentence)
    assert isinstance(result, str)
    assert reason in result
