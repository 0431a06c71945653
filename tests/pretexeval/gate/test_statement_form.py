import pytest
from hypothesis import given
from hypothesis import strategies as st

from pretexeval.gate import Rewording, check_rewording, clean_reply

STATEMENT = "aspirin may treat fever."
NOT_ONE_STATEMENT = [
    "Here is the rephrased statement: aspirin may treat fever.",
    "Sure, aspirin may treat fever.",
    "Sure! Aspirin may treat fever.",
    "Yes, aspirin may treat fever.",
    "True. Aspirin may treat fever.",
    "Aspirin may treat fever. It is a drug.",
    "Aspirin may treat fever. True",
    "May aspirin treat fever?",
    "Aspirin may treat fever; it is a drug.",
    "Aspirin may treat fever\nAspirin can treat fever",
    "1. Aspirin may treat fever.",
    "- Aspirin can treat fever.",
    "**Aspirin** can treat fever.",
    "[X] aspirin may treat fever [Y].",
    "Aspirin may treat fever because it acts on the body.",
    "Aspirin may treat fever, however it is a drug.",
    "Aspirin may treat fever and the",
    "Aspirin can treat fever...",
    "Please rephrase: aspirin may treat fever.",
    "The rephrased version of aspirin may treat fever is here.",
    "Aspirin, fever.",
    "Aspirin of the fever",
    "Aspirin kann Fieber fever behandeln und heilen, wenn nötig",
    "阿司匹林 aspirin may treat fever 发烧",
    "aspirin fever aspirin fever aspirin fever may treat",
    "I am sorry, aspirin may treat fever.",
    "As an AI language model, aspirin may treat fever.",
]


@pytest.mark.parametrize("text", NOT_ONE_STATEMENT)
def test_a_text_that_is_not_one_statement_is_rejected(text: str) -> None:
    assert "not one statement" in check_rewording(Rewording(STATEMENT, text, "aspirin", "fever"))


@pytest.mark.parametrize(
    "text",
    ["Aspirin can treat fever", "Fever may be treated with aspirin.", '"Aspirin" can treat "fever".'],
)
def test_one_statement_passes(text: str) -> None:
    assert check_rewording(Rewording(STATEMENT, text, "aspirin", "fever")) == ()


@pytest.mark.parametrize(
    ("head", "tail"),
    [
        ("E. coli: [X] strain", "5'-AMP; cyclic?"),
        ("Yes, no. Sure", "Dyskinesia, drug-induced (disorder)"),
        ("α-synuclein", "infección* #1"),
        ("because syndrome", 'so-called "soft" exudate'),
    ],
)
def test_names_may_contain_any_marks(head: str, tail: str) -> None:
    rewording = Rewording(f"{head} may treat {tail}.", f"{tail} may be treated with {head}.", head, tail)
    assert check_rewording(rewording) == ()


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ("  A treats B.\n", "A treats B."),
        ('"A treats B."', "A treats B."),
        ('"A treats B".', "A treats B."),
        ("“A treats B.”", "A treats B."),
        ("Statement: A treats B.", "A treats B."),
        ("Rephrased statement: A treats B..", "A treats B."),
        ('Rephrased statement: "A treats B. ."', "A treats B."),
        ('"A" treats "B"', '"A" treats "B"'),
        ("A treats B", "A treats B"),
        ("Here is one: A treats B.", "Here is one: A treats B."),
        ("A treats B...", "A treats B..."),
        ("A treats B. Note: C.", "A treats B. Note: C."),
        ("", ""),
        ('"', '"'),
    ],
)
def test_only_what_surrounds_the_statement_is_removed(reply: str, text: str) -> None:
    assert clean_reply(reply) == text


@given(st.text(max_size=40))
def test_cleaning_a_reply_twice_changes_nothing_more(reply: str) -> None:
    assert clean_reply(clean_reply(reply)) == clean_reply(reply)
