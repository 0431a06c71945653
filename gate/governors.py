"""Compare the words that govern the mentions of each entity: "for monitoring X", "as a sign of Y"."""

from collections.abc import Sequence

from gate.entities import SLOTS
from gate.kinds import Kinds, find_noun_kinds, find_phrase_start
from gate.lexicon import ARTICLES, COPULAS
from gate.vocabulary import load_words

_GOVERNING_PREPOSITIONS = load_words("governing_prepositions")
_PHRASE_STARTS = COPULAS | _GOVERNING_PREPOSITIONS | frozenset(SLOTS)
_HAVING = frozenset(("has", "have", "having", "with"))
_SYMMETRIC = load_words("symmetric")


def are_entities_exchanged(statement: Sequence[str], text: Sequence[str], kinds: Kinds) -> bool:
    """Return whether each entity stands in the text where the statement has the other one.

    The word that governs a mention is compared by its form: "for monitoring X" is not "X is monitored".
    Words of symmetric relations do not count.

    Args:
        kinds: slot -> the kinds of thing for which the statement takes the entity.
    """
    own = {slot: _find_governors(statement, slot, kinds[slot]) for slot in SLOTS}
    other = {slot: _find_governors(text, slot, kinds[slot]) for slot in SLOTS}
    is_moved = {
        slot: bool(other[slot] & own[opposite]) and not other[slot] & own[slot]
        for slot, opposite in (SLOTS, SLOTS[::-1])
    }
    return any(
        is_moved[slot] and not other[opposite] & own[opposite] for slot, opposite in (SLOTS, SLOTS[::-1])
    )


def _find_governors(tokens: Sequence[str], slot: str, kinds: frozenset[str]) -> set[tuple[str, ...]]:
    """Return for each mention the word before its noun phrase, with the preposition between them.

    A noun that only says the kind of the entity does not govern it: "the morphology of X" for a morphology X.
    """
    found = set()
    for at in (i for i, token in enumerate(tokens) if token == slot):
        at = find_phrase_start(tokens, at)
        words = tuple(token for token in tokens[max(0, at - 4) : at] if token not in ARTICLES)[-2:]
        words = words[-1:] if words and words[-1] not in _GOVERNING_PREPOSITIONS else words
        is_kind = words[1:] == ("of",) and _only_names_kind(tokens, at - 1, kinds)
        if words and not is_kind and _SYMMETRIC.isdisjoint(words[:1]) and not set(SLOTS).intersection(words):
            found.add(words)
    return found


def _only_names_kind(tokens: Sequence[str], at: int, kinds: frozenset[str]) -> bool:
    """Return whether the noun before this "of" only says what the next entity is: "has the effect of X"."""
    noun_kinds = find_noun_kinds(tokens[at - 1])
    if not noun_kinds.isdisjoint(kinds) and not is_predicate_noun(tokens, at):
        return True
    start = find_phrase_start(tokens, at)
    return bool(noun_kinds) and start > 0 and tokens[start - 1] in _HAVING


def is_predicate_noun(tokens: Sequence[str], at: int) -> bool:
    """Return whether the noun phrase before this "of" is a predicate: it follows "as" or a form of "be"."""
    before = reversed(tokens[:at])
    return next((token in COPULAS for token in before if token in _PHRASE_STARTS), False)
