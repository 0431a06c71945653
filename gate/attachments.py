"""Find words beside a mention that make it another entity: "X vaccine", "microscopic X", "X and Z"."""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from gate.entities import SLOTS
from gate.kinds import find_noun_kinds, find_phrase_start
from gate.lexicon import tag_word
from gate.relations import list_hinted
from gate.vocabulary import CACHE_SIZE, load_words
from gate.words import MARKS, fold_word, stem_word

_DETERMINERS = load_words("determiners")
_PREPOSITIONS = load_words("prepositions")
_CLAUSE_WORDS = load_words("clause_words")
BOUNDARIES = _DETERMINERS | _PREPOSITIONS | _CLAUSE_WORDS | MARKS
# A verb may follow these directly.
_BEFORE_VERB = load_words("before_verb")
# These describe any entity without changing which one it is.
_NEUTRAL = load_words("neutral")
# After a name, or before "of" or "to" and a name, these nouns name a thing of another type.
_TYPE_CHANGING = frozenset(map(stem_word, load_words("type_changing")))
# A form of an entity that a statement speaks of must not get lost.
_FORMS = frozenset(map(stem_word, ("variant", "mutation", "deletion", "deficiency", "overexpression")))
_RELATIVE = frozenset(("that", "which"))
Stems = frozenset[str]


def list_known_stems(statement: Iterable[str], name_words: Iterable[str]) -> Stems:
    """Return the stems of the words that a rewording may use next to a name without changing the entity."""
    return frozenset(stem_word(word) for word in (*statement, *name_words))


_CAPITALIZED = re.compile(r"(?<=[\w,;:(] )[\"'(]?([A-Z][\w-]*)|^([A-Z]\w+),")


def names_other_thing(text: str, masked: Sequence[str], known: frozenset[str]) -> bool:
    """Return whether the text has a capitalized word that is neither in a name nor in the statement."""
    new = {word for word in masked if word not in known and not _is_neutral(word)}
    return bool(new) and any(
        fold_word(word) in new
        for match in _CAPITALIZED.finditer(text)
        for word in (match[1] or match[2]).split("-")
    )


def is_entity_changed(text: Sequence[str], known: Stems) -> bool:
    """Return whether a word next to a slot, absent from the statement, makes it another entity."""
    places = (i for i, token in enumerate(text) if token in SLOTS)
    return any(
        _is_narrowed(text, at, known)
        or _is_extended(text, at, known)
        or _is_part_of_other(text, at, known)
        or _describes_other(text, at)
        for at in places
    )


@lru_cache(CACHE_SIZE)
def _is_neutral(word: str) -> bool:
    """Return whether the word can stand beside any entity: a class of things, or a part of any predicate."""
    is_listed = word in _NEUTRAL or word in BOUNDARIES or bool(find_noun_kinds(word) or tag_word(word))
    return is_listed or word.endswith("ly")


def is_foreign(word: str, known: Stems) -> bool:
    """Return whether the word is neither known nor neutral beside any entity."""
    return not _is_neutral(word) and stem_word(word) not in known


def is_part_lost(statement: Sequence[str], text: Sequence[str]) -> bool:
    """Return whether the statement speaks of a form of an entity, "a variant of X", and the text not."""
    forms = {word for word in statement if stem_word(word) in _FORMS}
    new = [word for word in text if word not in statement or word in forms]
    return bool(forms) and not any(stem_word(word) in _FORMS or "abnormal" in tag_word(word) for word in new)


def _is_narrowed(text: Sequence[str], at: int, known: Stems) -> bool:
    """Return whether the noun phrase that ends in the slot has a foreign adjective: "microscopic X"."""
    start = at
    while start and text[start - 1] not in BOUNDARIES and text[start - 1] not in SLOTS:
        start -= 1
    words = text[start:at]
    # "A typical X" is not every X.
    if words and "often" in tag_word(words[-1]):
        return True
    before = text[start - 1] if start else ""
    if not words or find_noun_kinds(words[-1]):
        return False
    verbs = [i for i, word in enumerate(words) if _is_verb(word, words[i - 1] if i else before)]
    return any(is_foreign(word, known) for word in words[verbs[-1] + 1 if verbs else 0 :])


def _is_verb(word: str, before: str) -> bool:
    """Return whether the word is a verb, by its ending and by the word before it."""
    if word.endswith("ing") or list_hinted(word):
        return True
    is_finite = before in SLOTS or before in _BEFORE_VERB or before.endswith("ly")
    return is_finite or _ends_like_verb(word) or (word.endswith("ed") and before in _CLAUSE_WORDS)


def _ends_like_verb(word: str) -> bool:
    return word.endswith("s") and not word.endswith(("ous", "us", "ss", "is"))


def _is_extended(text: Sequence[str], at: int, known: Stems) -> bool:
    """Return whether a foreign noun follows the slot: "X vaccine", "X and amlodipine", "X of the lung"."""
    after = text[at + 1 : at + 5]
    if not after:
        return False
    if after[0] in ("and", "or", "plus", "of"):
        following = [word for word in after[1:] if word not in _DETERMINERS]
        return bool(following) and is_noun(following[0], following[1:2], known, is_listed=after[0] != "of")
    if after[0] == "(":
        return any(is_foreign(word, known) for word in after[1:2])
    if after[0].isdigit() or (stem_word(after[0]) in _TYPE_CHANGING and stem_word(after[0]) not in known):
        return True
    return is_noun(after[0], after[1:2], known)


def is_noun(word: str, after: Sequence[str], known: Stems, is_listed: bool = False) -> bool:
    """Return whether the word is foreign and no verb, by its ending and by the word after it."""
    if not is_foreign(word, known) or list_hinted(word):
        return False
    if word.endswith(("ed", "ing")) or _ends_like_verb(word):
        return is_listed and (not after or after[0] in _CLAUSE_WORDS)
    return not after or (after[0] not in _DETERMINERS and after[0] not in SLOTS)


def _describes_other(text: Sequence[str], at: int) -> bool:
    """Return whether the slot only describes the object of a verb: "makes an enzyme that produces X"."""
    ends = (i for i in range(at - 1, 0, -1) if text[i] in _RELATIVE or text[i] in SLOTS or text[i] == ",")
    that = next(ends, 0)
    if text[that] not in _RELATIVE or not find_noun_kinds(text[that - 1]):
        return False
    start = find_phrase_start(text, that)
    governor = text[start - 1] if start else "of"
    is_verb = governor not in BOUNDARIES and not governor.endswith(("ly", "ing"))
    return is_verb and text[start] in _DETERMINERS


def _is_part_of_other(text: Sequence[str], at: int, known: Stems) -> bool:
    """Return whether the slot only describes another thing: "resistance to X", "amlodipine and X"."""
    start = at - 1
    while start > 0 and text[start] in _DETERMINERS:
        start -= 1
    if start < 1:
        return False
    before = text[start - 1]
    # "The function and growth of X" is more than X; a denial with "or" denies both.
    if text[start] == "of" and text[start - 2] == "and" and is_noun(before, (), known, is_listed=True):
        return True
    if text[start] in ("of", "to", "against", "for"):
        return stem_word(before) in _TYPE_CHANGING and stem_word(before) not in known
    return text[start] in ("and", "or", "plus", "(") and is_noun(before, (), known)
