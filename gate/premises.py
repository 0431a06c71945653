"""Find the premise of a sentence: the entity that it assumes, such as X in "if X, then Y"."""

from collections.abc import Sequence

from gate.entities import SLOTS
from gate.lexicon import tag_word
from gate.words import list_words

_OPENERS = list_words(
    """
    if when whenever once given where unless having taking following after by using suppose provided
    """
)
_SETTINGS = list_words(
    """
    case cases experiment assay staining research investigation sample specimen tissue study test
    testing
    """
)
_PREPOSITIONS = list_words(
    """
    with who that which whose on in under without lacking taking suffering undergoing having at
    """
)
_AUXILIARIES = list_words("will does do did may might can could has have is are should would must not")
_STATES = list_words(
    """
    presence existence occurrence onset detection diagnosis administration exposure absence
    """
)
_CHANGES = list_words(
    """
    change changes decrease reduction increase rise loss decline alteration impairment drop fall
    elevation reduced decreased increased diminished lowered elevated lower higher
    """
)
_PURPOSES = list_words("prevent avoid treat avert minimize reduce forestall protect cure")
_LIGHT = frozenset(["the", "a", "an", "of", "in", "any", "some", "no", "none", "every", "each", "such"])
_EXPLANATIONS = frozenset(("cause", "reason", "explanation", "source", "basis"))
_CLAUSES = frozenset(("if", "when", "whenever"))
_TRAILING = _CLAUSES | {"in", "among", "amongst", "for"}


def find_premise(tokens: Sequence[str]) -> str | None:
    """Return the slot that the sentence assumes; None if its words do not show one."""
    tokens = _skip_it_is_that(tokens)
    places = [i for i, token in enumerate(tokens) if token in SLOTS]
    if len({tokens[i] for i in places}) < 2:
        return None
    first = places[0]
    second = next(i for i in places if tokens[i] != tokens[first])
    if _opens_with_condition(tokens, first):
        return tokens[first]
    if _ends_with_condition(tokens, first, second):
        return tokens[second]
    if _opens_with_person(tokens, first) or _is_first_slot_of_person(tokens, first):
        return tokens[first]
    if _opens_with_state(tokens, first):
        return tokens[second if _names_cause_of_premise(tokens, first, second) else first]
    return None


def _skip_it_is_that(tokens: Sequence[str]) -> Sequence[str]:
    """Return the tokens without an opening such as "it is true that"."""
    if tuple(tokens[:2]) == ("it", "is") and "that" in tokens[2:5]:
        return tokens[tokens.index("that") + 1 :]
    return tokens


def _opens_with_condition(tokens: Sequence[str], first: int) -> bool:
    opening = tokens[0]
    if opening in _OPENERS:
        return True
    if opening in ("for", "in", "among", "with"):
        return any(token in _SETTINGS or _is_person(token) for token in tokens[1:first])
    return opening == "to" and tokens[1] in _PURPOSES


def _ends_with_condition(tokens: Sequence[str], first: int, second: int) -> bool:
    """Return whether the sentence ends with "in patients with Y" or "when a person has Y"."""
    for i in range(first + 1, second - 1):
        if tokens[i] in _TRAILING:
            following = [token for token in tokens[i + 1 : second] if token not in _LIGHT]
            if (
                len(following) > 1
                and _is_person(following[0])
                and following[0] != "those"
                and (tokens[i] in _CLAUSES or _describes(following[1]))
            ):
                return True
    return False


def _describes(token: str) -> bool:
    """Return whether the word after a person begins a description of that person."""
    return token in _PREPOSITIONS or token.endswith(("ing", "ed"))


def _opens_with_person(tokens: Sequence[str], first: int) -> bool:
    """Return whether the sentence opens with a person whom the first slot describes."""
    at = next((i for i, token in enumerate(tokens[:first]) if token not in _LIGHT), first)
    if at == first or not _is_person(tokens[at]) or at + 1 >= first:
        return False
    following = tokens[at + 1]
    return _describes(following) or (following not in _AUXILIARIES and tokens[first + 1] in _AUXILIARIES)


def _is_first_slot_of_person(tokens: Sequence[str], first: int) -> bool:
    """Return whether a person comes right after the first slot: "the condition X in somebody"."""
    after = [token for token in tokens[first + 1 : first + 5] if token not in ("a", "an", "the")][:2]
    return len(after) == 2 and after[0] in ("in", "from", "of") and _is_person(after[1])


def _opens_with_state(tokens: Sequence[str], first: int) -> bool:
    opening = next((token for token in tokens[:first] if token not in _LIGHT), "")
    return opening in _STATES or opening in _CHANGES


def _names_cause_of_premise(tokens: Sequence[str], first: int, second: int) -> bool:
    """Return whether the sentence calls the first slot the cause of the second: "is the cause of Y"."""
    return any(
        tokens[i] in _EXPLANATIONS and tokens[i + 1] == "of" and tokens[i - 1] not in ("to",)
        for i in range(first + 1, second - 1)
    )


def _is_person(token: str) -> bool:
    return "person" in tag_word(token)
