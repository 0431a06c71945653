"""The prompts with which a language model is asked for the cells that no rule writes."""

_HEAD = (
    "Below is a sentence about two medical terms, which are written as [X] and [Y]. Write it in another "
    "form. Keep [X] and [Y] as they are, each exactly once, keep its meaning and its certainty, and add "
    "nothing. Output the new sentence only.\n"
)
_EXAMPLE = "Sentence: The drug [X] may treat the disease [Y].\n"
FORMS = {
    "inv": (
        "The new sentence says the same from the side of [Y], which it names first.",
        "The disease [Y] may be treated by the drug [X].",
    ),
    "ins": (
        "The new sentence says the same of one patient with [X], which it names first, and says no more than "
        "the sentence does.",
        "If a patient takes the drug [X], then this drug is among those that may treat [Y].",
    ),
    "inv_ins": (
        "The new sentence says the same of one patient with [Y], which it names first, and says no more than "
        "the sentence does.",
        "If a patient has the disease [Y], then [X] is among the drugs that may treat this disease.",
    ),
}
"""Transformation -> the rule, and the new form of the example."""


def build_instruction(transformation: str, sentence: str) -> str:
    """Return the prompt that asks for a cell."""
    rule, example = FORMS[transformation]
    return f"{_HEAD}{rule}\n\n{_EXAMPLE}New sentence: {example}\n\nSentence: {sentence}\nNew sentence:"
