"""The sentences that are made of a question of MedQA and its options."""

from tasks.questions.clauses import Clause, parse_clause
from tasks.questions.option_forms import Form, find_form, find_forms, make_singular
from tasks.questions.statements import ask, find_option_forms, state

# One case a line: the sentence, an option, and what becomes of it. "@w" stands for "which of the following".
NEGATED = """
@W is the likely cause | @W is not the likely cause?
What is best treatment option | @W is not the best treatment option?
@W is the most likely to heal it | @W is not most likely to heal it?
@W best explains it | @W does not best explain it?
@W best explain it | @W do not best explain it?
@W most likely caused it | @W did not most likely cause it?
@W has the highest risk | @W does not have the highest risk?
@W has caused it | @W has not caused it?
@W mechanisms explains it | @W mechanisms does not explain it?
@W causes is likely | @W causes is not likely?
In addition to rest, @w is best | In addition to rest, @w is not best?
A drug that blocks @w nerves would help | A drug that blocks @w nerves would not help?
An exam is likely to show @w | An exam is not likely to show @w?
The drug that was given is due to @w | The drug that was given is not due to @w?
The drug that caused it is due to @w | The drug that caused it is not due to @w?
The boy most likely has @w | The boy does not most likely have @w?
@W effects would the drug also have on him | @W is not among the effects that the drug would also have on him?
What would the film be expected to show | @W is not what the film would be expected to show?
What share of it could heal | @W shares of it could not heal?
What other sign is most likely present | @W is not most likely present?
Which statement about it is true | @W is not true?
Of the following options, which is the cause | @W is not the cause?
The target of the drug she was given is @w | The target of the drug she was given is not @w?
It can be due to @w | It cannot be due to @w?
What is the name of it, and what is the best drug | @W does not give the name of it and the best drug?
"""
STATED = """
@W is the likely cause | Gout | Gout is[ not] the likely cause.
@W is the likely cause | Stones in the bile | The likely cause is[ not] stones in the bile.
@W is the likely cause | Infection and fever | The likely cause is[ not] infection and fever.
What is the next step in care | Administer oxygen | To administer oxygen is[ not] the next step in care.
What is the next step | Stop it, give rest | The following is[ not] the next step: Stop it, give rest.
What is the next step | No treatment | The following is[ not] the next step: No treatment.
What would be the next step | Give rest | To give rest would[ not] be the next step.
At once, what is the next step | Give rest | At once, to give rest is[ not] the next step.
What is the dose | 480 mg | The dose is[ not] 480 mg.
What is the origin | 6th arch | The origin is[ not] the 6th arch.
@W is likely to be seen | A rash | A rash is[ not] likely to be seen.
@W is likely to be seen | Red cells in urine | Red cells in urine are[ not] likely to be seen.
@W are likely to be seen | A rash | A rash is[ not] likely to be seen.
@W is a risk factor | Cats and dogs | The following is[ not] a risk factor: Cats and dogs.
@W is true | It is rare. | The following is[ not] true: It is rare.
@W statements are true | Gout is rare | The following statement is[ not] true: Gout is rare.
@W are normal values | 5 mmHg | The following are[ not] normal values: 5 mmHg.
What inference could be made | It is rare | The following inference could[ not] be made: It is rare.
What changes should be made | Add rest daily | The following change should[ not] be made: Add rest daily.
If so, @w is the cause | Infection | If so, infection is[ not] the cause.
If so, @w is the cause | Crohn's disease | If so, Crohn's disease is[ not] the cause.
Injury of @w vessels is likely | Uterine artery | Injury of the uterine artery is[ not] likely.
A defect of @w chromosomes is likely | 5 | A defect of chromosome 5 is[ not] likely.
A lack of @w is likely | It is rare | A lack of the following is[ not] likely: It is rare.
An exam would show @w findings | Infection | An exam would[ not] show infection.
An exam would show @w findings | Skin is dry | An exam would[ not] show the following finding: Skin is dry.
What would the film show | Red cells | Red cells are[ not] what the film would show.
@W is the best response | "You are well." | The following is[ not] the best response: 'You are well.'
@W best explains it | Swollen cells | Swollen cells best explain it. | Swollen cells do not best explain it.
It has @w modes | Slow | It has the following mode: Slow. | It does not have the following mode: Slow.
@W would NOT be expected | Fever | Fever would not be expected. | Fever would be expected.
"""
NOT_TURNED = """
How does it spread | does not ask with
@W drugs did he take | the gap is an object
@W is this patient at risk of | the gap is an object
What is a film likely to show | the gap is an object
During @w stages does it grow | preposition at the beginning
@W zorps it | no known verb
Which of these is it | other words than
Of these drugs, which is it | asks 'which' without
@W drugs, if given now, is best | a clause of its own
@W leads to @w | asks for several things
He is given a drug, which has @w effects | in a relative clause
"""


def read_table(text: str) -> list[tuple[str, ...]]:
    full = text.replace("@W", "Which of the following").replace("@w", "which of the following")
    return [tuple(line.split(" | ")) for line in full.strip().splitlines()]


def parse(sentence: str) -> Clause:
    clause = parse_clause(sentence)
    assert isinstance(clause, Clause), clause
    return clause


def state_both(sentence: str, option: str) -> tuple[str, str]:
    clause = parse(sentence)
    (form,) = find_option_forms(clause, [option])
    return state(clause, option, form, is_negated=False), state(clause, option, form, is_negated=True)


def test_negated_question() -> None:
    table = read_table(NEGATED)
    assert [(sentence, ask(parse(sentence), is_negated=True)) for sentence, _ in table] == table
    # A question that is not negated keeps its words.
    sentence = "If he smokes, which of the following nerves is most likely hurt"
    assert ask(parse(sentence), is_negated=False) == f"{sentence}?"


def test_statement_and_its_contradictory() -> None:
    expected = {
        (sentence, option): (text.replace("[ not]", ""), *(negation or [text.replace("[ not]", " not")]))
        for sentence, option, text, *negation in read_table(STATED)
    }
    assert {case: state_both(*case) for case in expected} == expected


def test_what_cannot_be_turned_has_a_reason() -> None:
    found = {sentence: (str(parse_clause(sentence)), reason) for sentence, reason in read_table(NOT_TURNED)}
    assert {sentence: text for sentence, (text, reason) in found.items() if reason not in text} == {}


FORMS = {
    Form.SINGULAR: (
        *("Acute gout of the knees", "Diabetes", "Staphylococcus aureus", "AIDS", "480 mg", "3,000 units"),
        *("C. difficile infection", "Loss of calcium, sodium, and water", "WAS gene"),
        *("Change in mood", "Test of memory", "Increase in dose"),
    ),
    Form.PLURAL: ("Swollen cells in the skin", "NSAIDs", "Gram-negative bacilli"),
    Form.JOINED: ("Oxygen and rest", "Oxygen + rest", "Dry and painful cough"),
    Form.OTHER: (
        *("Thick and thin film", "Low sodium, high potassium", "No further treatment", "Ratio > 2"),
    ),
    Form.INSTRUCTION: (
        *("Administer oxygen", "Immediately administer oxygen", "Extubate"),
        *("Change the drug to another", "Test for blood", "Increase the dose"),
    ),
    Form.SENTENCE: (
        *("It is harmless", "The cells cannot divide", "Blocks the uptake of iodine"),
        *("Preventable by a vaccine", "The patient needs to rest", "Stop the drug. Start another."),
        '"I am well."',
    ),
}
SINGULARS = {
    "laboratory findings": "laboratory finding",
    "modes of inheritance": "mode of inheritance",
    "diagnoses": "diagnosis",
    "abnormalities": "abnormality",
    "viruses": "virus",
    "diabetes": "diabetes",
    "bacteria": "bacterium",
}


def test_form_of_an_option() -> None:
    expected = {option: form for form, options in FORMS.items() for option in options}
    assert {option: find_form(option) for option in expected} == expected


def test_options_are_parallel() -> None:
    options = ["It is harmless", "It is painful", "Gout spreads quickly"]
    assert find_forms(options, are_sentences_likely=False) == [Form.SENTENCE] * 3
    one = ["Gout", "It is harmless"]
    assert find_forms(one, are_sentences_likely=False) == [Form.SINGULAR, Form.SENTENCE]
    assert find_forms(one, are_sentences_likely=True) == [Form.SENTENCE] * 2


def test_singular_of_a_noun() -> None:
    assert {noun: make_singular(noun) for noun in SINGULARS} == SINGULARS
