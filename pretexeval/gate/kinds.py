"""Find what a sentence takes each entity for: "the disease X", "X is a symptom", "affects the site X"."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from pretexeval.gate.lexicon import (
    ARTICLES,
    CACHE_SIZE,
    COPULAS,
    compile_lists,
    fold_word,
    list_words,
    load_lists,
    load_words,
)
from pretexeval.gate.names import SLOTS

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


# Endings of medical words that show the kind of thing.
_ENDINGS = (
    (re.compile(r"(?:itis|osis|emia|uria|algia|pathy|trophy|oma|penia|plegia)$"), "disease"),
    (re.compile(r"(?:ectomy|otomy|ostomy|plasty|scopy|desis|pexy)$"), "procedure"),
    (re.compile(r"(?:mab|tinib|pril|olol|statin|cillin|mycin|sartan)$"), "drug"),
    (re.compile(r"(?:[a-z]{3}ase)$(?<!disease)"), "product"),
)


@lru_cache(CACHE_SIZE)
def find_name_kind(name: str) -> frozenset[str]:
    """Return the kind that the last word of a name shows; nothing if it shows none."""
    last = fold_word(name.split()[-1]) if name.split() else ""
    kinds = find_noun_kinds(last) or frozenset(kind for pattern, kind in _ENDINGS if pattern.search(last))
    return kinds | {"site"} if "cell" in kinds else kinds


@dataclass(frozen=True)
class Cue:
    """A word that relates its subject to its object."""

    kind: str
    is_source_subject: bool
    """Whether the subject of the word is the source of the relation."""
    is_adverb: bool = False
    """Whether the word describes a single event: "afterwards" makes that event the later one."""


_find_vague = compile_lists(load_lists("relations"))
# (the words of each class, whether their subject is the source, whether they describe a single event)
_CUES = [
    (compile_lists(load_lists(name)), is_source, is_adverb)
    for name, is_source, is_adverb in (
        ("forward", True, False),
        ("backward", False, False),
        ("earlier", True, True),
        ("later", False, True),
    )
]
# Further words that a rewording of the class may use instead; they show no direction.
_find_hints = compile_lists(load_lists("hints"))
_TIME_PREPOSITIONS = frozenset(("before", "after", "following", "follow", "follows"))
# A rewording must name these classes, because no other wording implies them.
_NEVER_IMPLIED = frozenset(("cause", "treat", "prevent", "time", "encode", "origin"))
_NEVER_ADDED = frozenset(
    ("treat", "cure", "prevent", "time", "worse", "cause", "encode", "bind", "map", "origin")
)
# What a gene encodes, or what a cause brings about, also originates from it.
_IMPLIED = {"given": frozenset(["treat"]), "encode": frozenset(["origin"]), "cause": frozenset(["origin"])}
REMEDIES = frozenset(("treat", "prevent"))


@lru_cache(CACHE_SIZE)
def find_cue(word: str) -> Cue | None:
    """Return the cue for the word; None if the word is no cue."""
    for find_kinds, is_source, is_adverb in _CUES:
        for kind in sorted(find_kinds(word)):
            return Cue(kind, is_source, is_adverb)
    return None


@lru_cache(CACHE_SIZE)
def list_hinted(word: str) -> frozenset[str]:
    """Return the classes that the word states or hints at."""
    cue = find_cue(word)
    return _find_hints(word) | ({cue.kind} if cue else set())


@lru_cache(CACHE_SIZE)
def list_stated(word: str) -> frozenset[str]:
    """Return the classes that the word states on its own."""
    cue = None if _find_vague(word) else find_cue(word)
    return (_find_hints(word) & {"worse", "bind", "map"}) | ({cue.kind} if cue else set())


def find_hinted(tokens: Sequence[str]) -> frozenset[str]:
    """Return the classes that a sentence states or hints at."""
    return frozenset().union(*map(list_hinted, tokens))


def find_stated(tokens: Sequence[str]) -> frozenset[str]:
    """Return the classes that a sentence states; "before" and "after" count only next to an entity."""
    found: set[str] = set()
    for at, token in enumerate(tokens):
        if token not in _TIME_PREPOSITIONS or find_next_slot(tokens, at + 1) is not None:
            found |= list_stated(token)
    return frozenset(found)


def list_added(stated: frozenset[str], hinted: frozenset[str]) -> frozenset[str]:
    """Return the classes that a text states although its statement does not even hint at them."""
    implied = frozenset().union(*(_IMPLIED.get(kind, ()) for kind in hinted))
    return (stated & _NEVER_ADDED) - hinted - implied


def is_class_lost(stated: frozenset[str], hinted: frozenset[str]) -> bool:
    """Return whether the statement states a class that the text does not even hint at."""
    own = stated & _NEVER_IMPLIED
    return bool(own) and not own & hinted
