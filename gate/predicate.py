"""Compare the relations of two sentences: "follows in time" is not "is caused by"."""

from collections.abc import Sequence
from functools import lru_cache

from gate.entities import SLOTS
from gate.features import SentenceFeatures
from gate.governors import is_predicate_noun
from gate.kinds import Kinds, find_noun_kinds
from gate.lexicon import tag_word
from gate.relations import REMEDIES, is_class_lost, list_added, list_stated
from gate.vocabulary import CACHE_SIZE, load_words
from gate.words import FUNCTION_WORDS, MARKS, stem_word

# To have, to show, to be found in and to be linked with are often said for each other.
_LOOSE = frozenset(("have", "host", "link"))
# A noun of these kinds says what an entity is, and not how it is related.
_CLASSES = frozenset(("disease", "gene", "product", "drug", "procedure"))
# These tags say what something is like; the others only how it is said.
_CONTENT_TAGS = frozenset(("up", "down", "risk", "normal", "abnormal", "good", "bad"))
_IDENTITY = load_words("identity")


def is_predicate_changed(statement: SentenceFeatures, text: SentenceFeatures) -> bool:
    """Return whether the text adds a class of relation to those of the statement, or loses its class."""
    added = list_added(text.stated, statement.hinted)
    # "Treatment with X prevents Y" and "X leads to the prevention of Y" still state the own class.
    if "prevent" in statement.stated & text.stated or "treat" in statement.stated & text.stated:
        added -= {"treat", "cause"}
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
    if not _share_predicate(statement, text) or _says_only_class(text.tokens):
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


def _says_only_class(tokens: Sequence[str]) -> bool:
    """Return whether the sentence ends by saying what one entity is: "if a patient has Y, X is a drug"."""
    return (
        bool(find_noun_kinds(tokens[-1]))
        and tokens[-4] in SLOTS
        and tokens[-3] == "is"
        and tokens[-2] in ("a", "an")
    )


def _share_predicate(statement: SentenceFeatures, text: SentenceFeatures) -> bool:
    """Return whether the text has a word, or a word of the same class, of what the statement says."""
    own = _list_content(statement.tokens)
    is_shared = not own.isdisjoint(_list_content(text.tokens)) or bool(statement.hinted & text.hinted)
    return not own or is_shared or bool(statement.hinted & _LOOSE and text.hinted & _LOOSE)


@lru_cache(CACHE_SIZE)
def _list_content(tokens: tuple[str, ...]) -> frozenset[str]:
    """Return the stems and the kinds of the words that say how the entities are related.

    Nouns of one kind say much the same: "the site of its activity" for "where it functions".
    """
    words = [
        token
        for token in tokens
        if token not in _IDENTITY and token not in SLOTS and token not in MARKS and _says_relation(token)
    ]
    return frozenset(map(stem_word, words)).union(*map(find_noun_kinds, words))


@lru_cache(CACHE_SIZE)
def _says_relation(word: str) -> bool:
    is_class = not find_noun_kinds(word).isdisjoint(_CLASSES)
    return not is_class and tag_word(word) <= _CONTENT_TAGS and word not in FUNCTION_WORDS


def _adds_direction(statement: frozenset[str], text: frozenset[str], stated: frozenset[str]) -> bool:
    """Return whether the text adds that something rises, falls or is abnormal."""
    if "normal" in statement and "abnormal" in text - statement:
        return True
    if statement & {"up", "down"}:
        return False
    if "up" in text and ("risk" not in text or stated & REMEDIES):
        return True
    return "down" in text and not stated & REMEDIES
