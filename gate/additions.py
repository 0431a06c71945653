"""Find what a text adds to the claim: a rank, a condition, or a clause with new content."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from gate.attachments import BOUNDARIES, Stems, is_foreign
from gate.entities import SLOTS
from gate.lexicon import tag_word
from gate.relations import list_hinted
from gate.vocabulary import load_words
from gate.words import stem_word

# New in a text, these say which of several the entity is.
_RANKS = load_words("ranks")
_CONFIRMING = load_words("confirming")
_CONDITIONAL = load_words("conditional")
_FRAMES = load_words("frames")
_VERBS = frozenset(("is", "are", "was", "were", "has", "have", "can", "may"))
_INSERTING = frozenset(("also", "a", "an", "the", "which", "who", "known", "called"))
# Endings of fields of knowledge: "in human genetics" narrows no claim.
_FIELDS = ("ics", "logy")


def is_claim_narrowed(text: Sequence[str], known: Stems) -> bool:
    """Return whether the text adds a rank ("its first finding") or a condition ("in overdose")."""
    if any(word in _RANKS and stem_word(word) not in known for word in text):
        return True
    if _has_foreign_tail(text, known) or _has_foreign_insertion(text, known):
        return True
    if any(word == "not" and _limits_denial(after, known) for word, after in pairwise(text)):
        return True
    return any(
        is_foreign(phrase[-1], known) and not list_hinted(phrase[-1])
        for phrase in _list_outer_phrases(text)
        if phrase and _FRAMES.isdisjoint(phrase[:3]) and not phrase[-1].endswith(_FIELDS)
    )


def _has_foreign_tail(text: Sequence[str], known: Stems) -> bool:
    """Return whether foreign nouns follow the last mention: ", which is a disease of the kidneys"."""
    last = max(i for i, token in enumerate(text) if token in SLOTS)
    tail = text[last + 1 :]
    if "due_to" in tail and "due" not in known:
        return True
    foreign = [
        word for word in tail if is_foreign(word, known) and word not in _FRAMES and not list_hinted(word)
    ]
    nouns = [word for word in foreign if not word.endswith(("ed", "ing", *_FIELDS)) and word not in tail[:1]]
    is_relative = tail[:2] in ((",", "which"), (",", "a"), (",", "an"))
    n_said = sum(word not in BOUNDARIES for word in tail)
    if (is_relative and n_said > 2) or (tail[:1] == (",",) and tail[1] in _VERBS):
        return True
    is_relative = is_relative or any(word == "by" and after.endswith("ing") for word, after in pairwise(tail))
    return len(nouns) > 1 or (is_relative and bool(nouns))


def _has_foreign_insertion(text: Sequence[str], known: Stems) -> bool:
    """Return whether foreign nouns are between commas: ", a condition that affects the muscles,"."""
    commas = [i for i, token in enumerate(text) if token == ","]
    return any(
        text[start + 1] in _INSERTING
        and any(is_foreign(word, known) and not list_hinted(word) for word in text[start + 1 : end])
        for start, end in pairwise(commas)
    )


def _limits_denial(adverb: str, known: Stems) -> bool:
    """Return whether the word after "not" leaves a part of the claim undenied: "not directly"."""
    is_adverb = adverb.endswith("ly") and adverb not in _CONFIRMING and not tag_word(adverb)
    return is_adverb and stem_word(adverb) not in known


def _list_outer_phrases(text: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield the words after a preposition that opens or ends the text, if they name no entity."""
    if text[0] in _CONDITIONAL and "," in text and not _has_slot(opening := text[1 : text.index(",")]):
        yield opening
    for i in range(len(text) - 1, 0, -1):
        if text[i] in SLOTS or text[i] == ",":
            return
        if text[i] in _CONDITIONAL:
            yield text[i + 1 :]


def _has_slot(words: Sequence[str]) -> bool:
    return any(word in SLOTS for word in words)
