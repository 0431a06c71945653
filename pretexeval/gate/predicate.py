"""Compare the relations of two sentences: "follows in time" is not "is caused by"."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

from pretexeval.gate.features import SentenceFeatures
from pretexeval.gate.kinds import (
    REMEDIES,
    Kinds,
    find_noun_kinds,
    find_phrase_start,
    is_class_lost,
    list_added,
    list_hinted,
    list_stated,
)
from pretexeval.gate.lexicon import CACHE_SIZE, MARKS, fold_word, load_words, stem_word, tag_word
from pretexeval.gate.names import SLOTS
from pretexeval.gate.roles import is_predicate_noun

# With one of these, a class noun has a complement: "X is among the drugs for this disease".
_COMPLEMENTS = load_words("prepositions")


def is_predicate_changed(statement: SentenceFeatures, text: SentenceFeatures) -> bool:
    """Return whether the text adds a class of relation to those of the statement, or loses its class."""
    added = list_added(text.stated, statement.hinted)
    # "The protein encoded by X" is the gene product X.
    if "encode" in added and _only_names_products(text.tokens, statement.entity_kinds):
        added -= {"encode"}
    # In "if X, then Y", X leads to Y only figuratively.
    if added == {"cause"} and statement.premise is not None and "lead_to" in text.tokens:
        return False
    # What raises a risk leads to a higher risk.
    if "hazard" in statement.hinted & text.hinted:
        added -= {"cause"}
    if added:
        return True
    if _says_only_class(text.tokens) or _is_risk_lost(statement, text):
        return True
    if "time" in statement.stated and "hazard" in text.hinted - statement.hinted:
        return True
    return _adds_direction(statement.vocabulary, text.vocabulary, statement.stated) or is_class_lost(
        statement.stated, text.hinted
    )


def _only_names_products(tokens: Sequence[str], kinds: Kinds) -> bool:
    """Return whether "encoded by" only says which gene product is meant, and is no predicate of the sentence.

    Args:
        kinds: slot -> the kinds of thing for which the statement takes the entity.
    """
    others = [slot for slot in SLOTS if kinds[slot] and kinds[slot].isdisjoint(("gene", "product"))]
    return all(
        word.endswith("ed")
        and tokens[i + 1 : i + 2] == ("by",)
        and "product" in find_noun_kinds(tokens[i - 1])
        and not is_predicate_noun(tokens, i)
        and next((token for token in tokens[i:] if token in SLOTS), None) not in (None, *others)
        for i, word in enumerate(tokens)
        if "encode" in list_stated(word)
    )


def _is_risk_lost(statement: SentenceFeatures, text: SentenceFeatures) -> bool:
    """Return whether the text is about a patient who has the condition, not about one at risk of it."""
    is_lost = "risk" in statement.vocabulary - text.vocabulary
    return is_lost and any(pair == ("has", statement.premise) for pair in pairwise(text.tokens))


def _says_only_class(tokens: Sequence[str]) -> bool:
    """Return whether the sentence ends by saying what one entity is: "if a patient has Y, X is a drug"."""
    last = max(at for at, token in enumerate(tokens) if token in SLOTS)
    tail = tokens[last + 1 :]
    if tail[:1] not in (("is",), ("are",)) or not find_noun_kinds(tail[-1]):
        return False
    return _COMPLEMENTS.isdisjoint(tail) and not any("may" in tag_word(token) for token in tail)


def _adds_direction(statement: frozenset[str], text: frozenset[str], stated: frozenset[str]) -> bool:
    """Return whether the text adds that something rises, falls or is abnormal."""
    if "normal" in statement and "abnormal" in text - statement:
        return True
    if statement & {"up", "down"}:
        return False
    if "up" in text and ("risk" not in text or stated & REMEDIES):
        return True
    return "down" in text and not stated & REMEDIES


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
