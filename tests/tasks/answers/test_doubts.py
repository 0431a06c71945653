"""What is read in responses to statements that a model may be unsure of (docs/unsure.md)."""

from tasks.answers.reading import read_answer

UNSURE = (
    *(
        "Unsure",
        " unsure.",
        "**Unsure**",
        "Answer: Unsure",
        'The answer is "Unsure".',
        '{"answer": "Unsure"}',
    ),
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
NOTHING = (
    *("", "Gout is a disease of the joints.", "The cause of gout is uncertain."),
    'The statement is "I do not know gout".',
    "True or False, or Unsure if you do not",
)
ANSWERS = {
    text: answer
    for texts, answer in ((UNSURE, "U"), (TRUE, "T"), (FALSE, "F"), (NOTHING, None))
    for text in texts
}


def test_doubt_counts_unless_it_is_taken_back() -> None:
    found = {text: read_answer("TFU", text) for text in ANSWERS}
    assert {text: reading.answer for text, reading in found.items()} == ANSWERS
    assert all((reading.rule is None) == (reading.answer is None) for reading in found.values())


def test_two_answers_are_read_without_doubts() -> None:
    assert "U" not in {read_answer("TFQ", text).answer for text in ANSWERS}
    assert read_answer("TFQ", "I'm not sure, so I would say Unsure.").answer is None
