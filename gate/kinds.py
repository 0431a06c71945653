"""Find what a sentence takes each entity for: "the disease X", "X is a symptom", "affects the site X"."""

from collections.abc import Iterator, Sequence
from functools import lru_cache

from gate.entities import SLOTS
from gate.lexicon import ARTICLES, COPULAS
from gate.vocabulary import CACHE_SIZE, compile_lists, load_lists, load_words
from gate.words import list_words

_list_kinds = compile_lists(load_lists("kinds"))
# What a thing of one kind may be called as well.
_ALSO_CALLED = {
    "drug": ("product", "procedure"),
    "finding": ("disease", "change", "event"),
    "change": ("disease", "finding"),
    "disease": ("change", "event"),
    "site": ("tissue", "cell", "affected"),
    "cell": ("tissue",),
    "tissue": ("site", "cell", "affected"),
    "event": ("disease", "finding", "change", "procedure"),
    "procedure": ("drug", "event"),
    "effect": ("finding", "change", "event", "affected"),
    "function": ("process", "affected"),
    "process": ("function", "affected"),
    "product": ("gene", "affected"),
    "affected": ("site", "tissue", "effect", "function", "process", "product"),
}
# A text may use these kinds only for an entity whose kind the statement gives.
_SPECIFIC = ("change", "function", "process")
# Kinds of what somebody may have.
_STATES = frozenset(("disease", "finding", "change", "event", "effect"))
_COURSES = _STATES | {"process", "function"}
_KINDS_AFTER_NAME = frozenset(["disease", "gene", "cell", "tissue", "product", "site"])
# "This finding" may refer to anything; "this drug" cannot.
_KINDS_OF_REFERENCE = frozenset(["disease", "drug", "gene", "cell", "tissue", "site", "procedure", "product"])
# What is affected is a part of the body, or what happens in it.
_AFFECTING = frozenset(("affect", "affects", "affecting"))
_SKIPPED = COPULAS | list_words(
    "a an the one of its those not no also commonly found present some may might can could such never"
)
_STOPS = load_words("stops")
LIST_VERBS = frozenset(("include", "includes", "exclude", "excludes", "contain", "contains"))
_MAX_ADJECTIVES = 5
Kinds = dict[str, frozenset[str]]


@lru_cache(CACHE_SIZE)
def find_noun_kinds(word: str) -> frozenset[str]:
    """Return the kinds of thing that the noun can name; nothing for a noun of no known kind."""
    return _list_kinds(word)


def find_next_slot(tokens: Sequence[str], at: int) -> str | None:
    """Return the slot that the noun phrase at this position names: X for "the biological process X"."""
    while at < len(tokens) and (
        tokens[at] in ARTICLES or find_noun_kinds(tokens[at]) or is_modifier(tokens, at)
    ):
        at += 1
    return tokens[at] if at < len(tokens) and tokens[at] in SLOTS else None


def find_phrase_start(tokens: Sequence[str], at: int) -> int:
    """Return where the articles, class nouns and their adjectives before this position begin."""
    while at and (
        tokens[at - 1] in ARTICLES or find_noun_kinds(tokens[at - 1]) or is_modifier(tokens, at - 1)
    ):
        at -= 1
    return at


def is_modifier(tokens: Sequence[str], at: int) -> bool:
    """Return whether the word is an adjective in front of a class of things: "the biological process X"."""
    is_adjective = tokens[at].endswith(("al", "ic", "normal"))
    return is_adjective and at + 1 < len(tokens) and bool(find_noun_kinds(tokens[at + 1]))


def find_entity_kinds(tokens: Sequence[str]) -> Kinds:
    """Return slot -> the kinds that the sentence takes it for; "this disease" refers to the first entity."""
    found: dict[str, set[str]] = {slot: set() for slot in SLOTS}
    first = ""
    for at, token in enumerate(tokens):
        if token in found:
            found[token].update(_list_mention_kinds(tokens, at))
            first = first or token
        elif token in ("this", "that", "such", "it") and first:
            found[first].update(_find_reference_kinds(tokens, at))
    return {slot: frozenset(kinds) for slot, kinds in found.items()}


def _find_reference_kinds(tokens: Sequence[str], at: int) -> frozenset[str]:
    """Return the kinds in "this disease" or "it as a symptom"."""
    if tokens[at] == "it":
        return _find_predicate_kinds(tokens, at) if tokens[at + 1 : at + 2] == ("as",) else frozenset()
    after = tokens[at + 1 : at + 2]
    return find_noun_kinds(after[0]) & _KINDS_OF_REFERENCE if after else frozenset()


def _list_mention_kinds(tokens: Sequence[str], at: int) -> Iterator[str]:
    """Yield the kinds beside one mention, or of its predicate."""
    start = at
    while start and tokens[start - 1] in ARTICLES:
        start -= 1
    if start:
        yield from find_noun_kinds(tokens[start - 1])
    phrase = find_phrase_start(tokens, at)
    if phrase and tokens[phrase - 1] in _AFFECTING:
        yield "affected"
    if at + 1 < len(tokens) and (kind := find_noun_kinds(tokens[at + 1])) & _KINDS_AFTER_NAME:
        yield from kind
    yield from _find_predicate_kinds(tokens, at)


def _find_predicate_kinds(tokens: Sequence[str], at: int) -> frozenset[str]:
    """Return the kinds in "X is a common symptom of …", "has X as a sign" or "has X among its signs"."""
    j = at + 1
    while j < len(tokens) and tokens[j] in _SKIPPED:
        j += 1
    if COPULAS.isdisjoint(tokens[at + 1 : j]):
        return frozenset()
    # "A disease in X is a sign of Y" does not call X a sign.
    phrase = find_phrase_start(tokens, at)
    if phrase and tokens[phrase - 1] == "in":
        return frozenset()
    if tokens[j : j + 1] == ("affected",):
        return frozenset(["affected"])
    return _find_last_kinds(tokens[j : j + 1 + _MAX_ADJECTIVES])


def _find_last_kinds(tokens: Sequence[str]) -> frozenset[str]:
    """Return the kinds of the head of a noun phrase: the last noun before its end."""
    found: frozenset[str] = frozenset()
    for token in tokens:
        is_participle = token.endswith("ing") and bool(found)
        if token in SLOTS or token in _STOPS or token in COPULAS or is_participle:
            break
        found = find_noun_kinds(token) or found
    return found


def are_kinds_swapped(statement: Kinds, text: Kinds, names: Kinds) -> bool:
    """Return whether the text gives an entity the kind of the other one, or a kind that it cannot have.

    Args:
        statement, text: slot -> the kinds for which the sentence takes the entity.
        names: slot -> the kinds that its name shows.
    """
    # A name shows less clearly than a noun beside it which state it is: "thrombosis" may be an effect.
    taken = {
        slot: statement[slot] or names[slot] | (_STATES if names[slot] & _COURSES else set())
        for slot in SLOTS
    }
    return any(
        _is_reclassified(taken[slot], text[slot])
        or any(
            kind in taken[other] and kind not in taken[slot]
            for kind in text[slot] - text[other]
            if taken[slot] or text[other]
        )
        for slot, other in (SLOTS, SLOTS[::-1])
    )


@lru_cache(CACHE_SIZE)
def _is_reclassified(one: frozenset[str], other: frozenset[str]) -> bool:
    """Return whether the text says of an entity that it is another kind of thing than in the statement."""
    if not one:
        return not other.isdisjoint(_SPECIFIC)
    return bool(other) and other.isdisjoint(one.union(*(_ALSO_CALLED.get(kind, ()) for kind in one)))
