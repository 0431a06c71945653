"""Compare the relations of two sentences: "follows in time" is not "is caused by"."""

from collections.abc import Sequence
from itertools import pairwise

from gate.entities import SLOTS
from gate.features import SentenceFeatures
from gate.governors import is_predicate_noun
from gate.kinds import Kinds, find_noun_kinds
from gate.lexicon import tag_word
from gate.relations import REMEDIES, is_class_lost, list_added, list_stated
from gate.vocabulary import load_words

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
