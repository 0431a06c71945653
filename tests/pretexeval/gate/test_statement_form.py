"""The form of a rewording: one statement without surroundings, and its names in any form."""

import csv
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pretexeval.gate import Rewording, check_rewording, clean_reply
from pretexeval.gate.lexicon import split_words
from pretexeval.gate.names import mask_entities

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


def read_names() -> list[dict[str, str]]:
    with Path(__file__).with_name("names.tsv").open(encoding="utf-8") as table:
        return list(csv.DictReader(table, delimiter="\t", quoting=csv.QUOTE_NONE))


def is_found(name: str, mention: str) -> bool:
    masked = mask_entities(f"The body shows {mention} beside quartz.", [name], ["quartz"])
    return not masked.is_head_lost


def test_the_name_in_another_form_is_the_same_entity_and_another_name_is_not() -> None:
    wrong = [
        row for row in read_names() if is_found(row["name"], row["mention"]) != (row["meaning"] == "same")
    ]
    assert wrong == []


def test_a_name_inside_the_other_name_does_not_count_as_a_mention() -> None:
    masked = mask_entities("Hepatitis B virus causes fever.", ["hepatitis B virus"], ["hepatitis B"])
    assert masked.tokens == ("X", "causes", "fever")
    assert masked.is_tail_lost


def test_names_that_differ_only_in_number_are_distinguished_by_their_order() -> None:
    masked = mask_entities("Crystal shows crystals.", ["crystal"], ["crystals"])
    assert masked.tokens == ("X", "shows", "Y")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("X isn't, can't, cannot", ["x", "is", "not", ",", "can", "not", ",", "can", "not"]),
        ("Parkinson’s oedema does", ["parkinson", "edema", "does"]),
        ("minimised tumour disease", ["minimized", "tumor", "disease"]),
    ],
)
def test_words_are_folded(text: str, words: list[str]) -> None:
    assert split_words(text) == words
