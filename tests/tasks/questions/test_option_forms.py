import pytest

from tasks.questions.option_forms import Form, find_form, find_forms, make_singular


@pytest.mark.parametrize(
    ("option", "form"),
    [
        ("Acute gout of the knees", Form.SINGULAR),
        ("Diabetes", Form.SINGULAR),
        ("Staphylococcus aureus", Form.SINGULAR),
        ("AIDS", Form.SINGULAR),
        ("480 mg", Form.SINGULAR),
        ("3,000 units", Form.SINGULAR),
        ("C. difficile infection", Form.SINGULAR),
        ("Loss of calcium, sodium, and water", Form.SINGULAR),
        ("Swollen cells in the skin", Form.PLURAL),
        ("NSAIDs", Form.PLURAL),
        ("Gram-negative bacilli", Form.PLURAL),
        ("Oxygen and rest", Form.JOINED),
        ("Oxygen + rest", Form.JOINED),
        ("Dry and painful cough", Form.JOINED),
        ("Thick and thin film", Form.OTHER),
        ("Low sodium, high potassium", Form.OTHER),
        ("No further treatment", Form.OTHER),
        ("Ratio > 2", Form.OTHER),
        ("Administer oxygen", Form.INSTRUCTION),
        ("Immediately administer oxygen", Form.INSTRUCTION),
        ("Change the drug to another", Form.INSTRUCTION),
        ("Change in mood", Form.SINGULAR),
        ("Test for blood", Form.INSTRUCTION),
        ("Test of memory", Form.SINGULAR),
        ("Increase the dose", Form.INSTRUCTION),
        ("Increase in dose", Form.SINGULAR),
        ("Extubate", Form.INSTRUCTION),
        ("It is harmless", Form.SENTENCE),
        ("The cells cannot divide", Form.SENTENCE),
        ("Blocks the uptake of iodine", Form.SENTENCE),
        ("Preventable by a vaccine", Form.SENTENCE),
        ("The patient needs to rest", Form.SENTENCE),
        ('"I am well."', Form.SENTENCE),
        ("Stop the drug. Start another.", Form.SENTENCE),
        ("WAS gene", Form.SINGULAR),
    ],
)
def test_form_of_an_option(option: str, form: Form) -> None:
    assert find_form(option) is form


def test_options_are_parallel() -> None:
    options = ["It is harmless", "It is painful", "Gout spreads quickly"]
    assert find_forms(options, are_sentences_likely=False) == [Form.SENTENCE] * 3
    one = ["Gout", "It is harmless"]
    assert find_forms(one, are_sentences_likely=False) == [Form.SINGULAR, Form.SENTENCE]
    assert find_forms(one, are_sentences_likely=True) == [Form.SENTENCE] * 2


@pytest.mark.parametrize(
    ("noun", "singular"),
    [
        ("laboratory findings", "laboratory finding"),
        ("modes of inheritance", "mode of inheritance"),
        ("diagnoses", "diagnosis"),
        ("abnormalities", "abnormality"),
        ("viruses", "virus"),
        ("diabetes", "diabetes"),
        ("bacteria", "bacterium"),
    ],
)
def test_singular_of_a_noun(noun: str, singular: str) -> None:
    assert make_singular(noun) == singular
