"""Deny an English sentence by rule, or decline if no rule is sure to give its contradictory."""

import re
from dataclasses import dataclass

from pretexeval.gate.lexicon import list_words
from prototypes.templates import SLOTS, count_negations

# Auxiliary of the claim -> its denial. "may not" would leave open that it may: both sentences could be true.
DENIED = {"may": "cannot", "can": "cannot", "is": "is not", "are": "are not"}


# With one of these, "not" would deny less or more than the sentence says ("is not always", "not in some").
QUANTIFIERS = list_words(
    "all any both each either every few many more most often only several some always usually sometimes "
    "generally mainly typically rarely"
)
# The next auxiliary belongs to another clause than the claim.
CLAUSE_OPENERS = list_words("that which who whom whose where when if because although while unless")
COORDINATORS = list_words("and or but because although while unless if when")
CONDITIONS = list_words("if when once whenever")
# Only such a first word loses its capital in "It is not true that …", because any other could be a name.
LOWERED = list_words("A Against Among An For In It One Possible Some The There This Treatment Use What With")
_WORD = re.compile(r"\[[XY]\]|[A-Za-z][A-Za-z'-]*|[;:]")


@dataclass(frozen=True)
class _Word:
    text: str
    start: int
    end: int


def deny_sentence(sentence: str) -> str | None:
    """Return the contradictory of an affirmative sentence, or None if no rule is sure to give it.

    The auxiliary of the claim is denied ("may" becomes "cannot"). If it is not sure which one that is, the
    whole sentence is denied ("It is not true that …"), unless it has a condition, because "if P, then Q" is
    denied in its claim: P ⇒ not Q.
    """
    if count_negations(sentence):
        return None
    start = _find_claim(sentence)
    if start is None:
        return None
    if (auxiliary := _find_auxiliary(sentence, start)) is not None:
        denied = DENIED[auxiliary.text]
        return f"{sentence[: auxiliary.start]}{denied}{sentence[auxiliary.end :]}"
    return _deny_whole(sentence) if start == 0 else None


def _find_claim(sentence: str) -> int | None:
    """Return where the claim begins: 0 without a condition; None if the end of the condition is not clear."""
    if sentence.split(" ", 1)[0].lower() not in CONDITIONS:
        return 0
    return sentence.index(",") + 1 if sentence.count(",") == 1 else None


def _find_auxiliary(sentence: str, start: int) -> _Word | None:
    """Return the auxiliary whose denial is the contradictory of the claim; None if that is not sure."""
    matches = _WORD.finditer(sentence, start)
    words = [_Word(match[0].lower(), match.start(), match.end()) for match in matches]
    texts = [word.text for word in words]
    first = next((i for i, text in enumerate(texts) if text in DENIED), None)
    if first is None or not QUANTIFIERS.isdisjoint(texts):
        return None
    before, after = texts[:first], texts[first + 1 :]
    has_other_clause = not CLAUSE_OPENERS.isdisjoint(before) or not {";", ":"}.isdisjoint(texts)
    has_second_claim = any(
        text in COORDINATORS and not DENIED.keys().isdisjoint(after[i:]) for i, text in enumerate(after)
    )
    # "It is known that [X] may cause [Y]" says nothing about [X] itself.
    has_subject = any(slot in sentence[: words[first].start] for slot in SLOTS)
    is_sure = has_subject and not has_other_clause and not has_second_claim
    return words[first] if is_sure else None


def _deny_whole(sentence: str) -> str | None:
    """Return the denial of the sentence as a whole; None if its first word could be a name."""
    first, _, rest = sentence.partition(" ")
    if first in LOWERED:
        first = first[0].lower() + first[1:]
    elif not first.startswith(SLOTS):
        return None
    return f"It is not true that {first} {rest}"
