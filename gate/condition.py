"""Which entity a sentence takes as given before it claims something of the other: "if X, then …"."""

from collections.abc import Sequence

from gate.labels import SLOTS
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
_ENDS = list_words("prevent avoid treat avert minimize reduce forestall protect cure")
_LIGHT = frozenset(["the", "a", "an", "of", "in", "any", "some", "no", "none", "every", "each", "such"])
_EXPLANATIONS = frozenset(("cause", "reason", "explanation", "source", "basis"))
_CLAUSES = frozenset(("if", "when", "whenever"))
_TRAILING = _CLAUSES | {"in", "among", "amongst", "for"}


def find_given(tokens: Sequence[str]) -> str | None:
    """The slot that is taken as given; None if the sentence does not tell."""
    tokens = _skip_frame(tokens)
    places = [i for i, token in enumerate(tokens) if token in SLOTS]
    if len({tokens[i] for i in places}) < 2:
        return None
    first = places[0]
    second = next(i for i in places if tokens[i] != tokens[first])
    if _opens_with_condition(tokens, first):
        return tokens[first]
    if _ends_with_condition(tokens, first, second):
        return tokens[second]
    if _opens_with_person(tokens, first) or _is_of_person(tokens, first):
        return tokens[first]
    if _opens_with_state(tokens, first):
        return tokens[second if _explains(tokens, first, second) else first]
    return None


def _skip_frame(tokens: Sequence[str]) -> Sequence[str]:
    """The tokens without an opening "it is true that"."""
    if tuple(tokens[:2]) == ("it", "is") and "that" in tokens[2:5]:
        return tokens[tokens.index("that") + 1 :]
    return tokens


def _opens_with_condition(tokens: Sequence[str], first: int) -> bool:
    opening = tokens[0]
    if opening in _OPENERS:
        return True
    if opening in ("for", "in", "among", "with"):
        return any(token in _SETTINGS or _is_person(token) for token in tokens[1:first])
    return opening == "to" and tokens[1] in _ENDS


def _ends_with_condition(tokens: Sequence[str], first: int, second: int) -> bool:
    """Whether the sentence closes with "in patients with Y" or "when a person has Y"."""
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
    """Whether the word behind a person begins to say who it is."""
    return token in _PREPOSITIONS or token.endswith(("ing", "ed"))


def _opens_with_person(tokens: Sequence[str], first: int) -> bool:
    """Whether the sentence is about a person who is described by the first slot."""
    at = next((i for i, token in enumerate(tokens[:first]) if token not in _LIGHT), first)
    if at == first or not _is_person(tokens[at]) or at + 1 >= first:
        return False
    following = tokens[at + 1]
    return _describes(following) or (following not in _AUXILIARIES and tokens[first + 1] in _AUXILIARIES)


def _is_of_person(tokens: Sequence[str], first: int) -> bool:
    """Whether a person comes right behind the first slot: "the condition diagnosed as X in somebody"."""
    behind = [token for token in tokens[first + 1 : first + 5] if token not in ("a", "an", "the")][:2]
    return len(behind) == 2 and behind[0] in ("in", "from", "of") and _is_person(behind[1])


def _opens_with_state(tokens: Sequence[str], first: int) -> bool:
    opening = next((token for token in tokens[:first] if token not in _LIGHT), "")
    return opening in _STATES or opening in _CHANGES


def _explains(tokens: Sequence[str], first: int, second: int) -> bool:
    """Whether the sentence names the cause of what is given: "is the cause of Y"."""
    return any(
        tokens[i] in _EXPLANATIONS and tokens[i + 1] == "of" and tokens[i - 1] not in ("to",)
        for i in range(first + 1, second - 1)
    )


def _is_person(token: str) -> bool:
    return "person" in tag_word(token)
