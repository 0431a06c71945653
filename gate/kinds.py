"""Find what kind of thing a sentence takes each entity for: "the disease X", "X is a symptom", "takes X"."""

from collections.abc import Iterator, Sequence
from functools import lru_cache

from gate.entities import SLOTS
from gate.lexicon import ARTICLES, COPULAS, tag_word
from gate.vocabulary import CACHE_SIZE, compile_lists, load_lists, load_words
from gate.words import list_words

_list_kinds = compile_lists(load_lists("kinds"))
# What a thing of one kind may be called as well.
_ALSO_CALLED = {
    "drug": ("product", "procedure"),
    "finding": ("disease", "change", "event"),
    "change": ("disease", "finding"),
    "disease": ("change", "event"),
    "site": ("tissue", "cell"),
    "cell": ("tissue", "site"),
    "tissue": ("site", "cell"),
    "event": ("disease", "finding", "change", "procedure"),
    "procedure": ("drug", "event"),
    "effect": ("finding", "change", "event"),
    "function": ("process",),
    "process": ("function",),
    "product": ("gene",),
}
# A text may use these kinds only for an entity whose kind the statement gives.
_SPECIFIC = ("change", "function", "process")
# Kinds of what somebody may have.
_STATES = frozenset(("disease", "finding", "change", "event", "effect", "had"))
_COURSES = _STATES | {"process", "function"}
# These say how a person relates to an entity, and not what the entity is.
_GOVERNED = frozenset(("had", "with", "given"))
_KINDS_AFTER_NAME = frozenset(["disease", "gene", "cell", "tissue", "product", "site"])
# "This finding" may refer to anything; "this drug" cannot.
_KINDS_OF_REFERENCE = frozenset(["disease", "drug", "gene", "cell", "tissue", "site", "procedure", "product"])
# What a person has, and what a person is given; the noun or verb is before the name.
_find_governed = compile_lists(
    {
        "had": "suffer* ill diagnosed afflicted case cases",
        "given": "take takes taking receiv* administ* prescri* dose doses performing",
    }
)
_SKIPPED = COPULAS | list_words(
    "a an the one of its those not no also commonly some may might can could such never"
)
_LINKS = load_words("links")
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


def find_entity_kinds(tokens: Sequence[str], premise: str | None) -> Kinds:
    """Return slot -> the kinds that the sentence takes it for; "this disease" may refer to the premise."""
    found: dict[str, set[str]] = {slot: set() for slot in SLOTS}
    seen: list[str] = []
    for at, token in enumerate(tokens):
        if token in found:
            found[token].update(_list_mention_kinds(tokens, at))
            seen.append(token)
        elif token in ("this", "that", "such") and seen and (kinds := _find_next_kinds(tokens, at)):
            referent = seen[0] if len(set(seen)) == 1 else premise
            if referent is not None:
                found[referent].update(kinds)
    return {slot: frozenset(kinds) for slot, kinds in found.items()}


def _find_next_kinds(tokens: Sequence[str], at: int) -> frozenset[str]:
    """Return the kinds in "this disease" or "such an event"."""
    is_followed = tokens[at] == "such" and tokens[at + 1 : at + 2] and tokens[at + 1] in ARTICLES
    after = tokens[at + 2 : at + 3] if is_followed else tokens[at + 1 : at + 2]
    return find_noun_kinds(after[0]) & _KINDS_OF_REFERENCE if after else frozenset()


def _list_mention_kinds(tokens: Sequence[str], at: int) -> Iterator[str]:
    """Yield the kinds beside one mention, or of its predicate."""
    start = at
    while start and tokens[start - 1] in ARTICLES:
        start -= 1
    linked = start
    while linked and tokens[linked - 1] in _LINKS:
        linked -= 1
    is_linked = linked < start and tokens[start - 1] in ("as", "called", "named", "termed", "of", "known")
    if (start and (kind := find_noun_kinds(tokens[start - 1]))) or (
        is_linked
        and tokens[linked:start] != ("of",)
        and linked
        and (kind := find_noun_kinds(tokens[linked - 1]))
    ):
        yield from kind
    elif start and (governed := _find_governor_kind(tokens, start)):
        yield governed
    if at + 1 < len(tokens) and (kind := find_noun_kinds(tokens[at + 1])) & _KINDS_AFTER_NAME:
        yield from kind
    yield from _find_predicate_kinds(tokens, at)


def _find_governor_kind(tokens: Sequence[str], start: int) -> str | None:
    """Return how a person relates to the entity: "had" if ill with it, "with" if having it, "given"."""
    before = tokens[start - 1]
    noun = tokens[start - 2] if start > 1 else ""
    if before in ("of", "from", "with", "by"):
        if before == "with" and "person" in tag_word(noun):
            return "with"
        return min(_find_governed(noun), default=None)
    if before in ("has", "have") and any(
        "person" in tag_word(token) for token in tokens[max(0, start - 3) : start]
    ):
        return "with"
    return "given" if "given" in _find_governed(before) else None


def _find_predicate_kinds(tokens: Sequence[str], at: int) -> frozenset[str]:
    """Return the kinds in "X is a common symptom of …", "has X as a sign" or "has X among its signs"."""
    j = at + 1
    while j < len(tokens) and tokens[j] in _SKIPPED:
        j += 1
    if COPULAS.isdisjoint(tokens[at + 1 : j]):
        return frozenset()
    return _find_last_kinds(tokens[j : j + 1 + _MAX_ADJECTIVES])


def _find_last_kinds(tokens: Sequence[str]) -> frozenset[str]:
    """Return the kinds of the head of a noun phrase: the last noun before its end."""
    found: frozenset[str] = frozenset()
    for token in tokens:
        is_participle = token.endswith("ing") and bool(found)
        if token in SLOTS or token in _STOPS or token in COPULAS or token in LIST_VERBS or is_participle:
            break
        found = find_noun_kinds(token) or found
    return found


def are_kinds_swapped(statement: Kinds, text: Kinds, names: Kinds) -> bool:
    """Return whether the text gives an entity the kind of the other one, or a kind that it cannot have.

    Args:
        statement, text: slot -> the kinds for which the sentence takes the entity.
        names: slot -> the kinds that its name shows.
    """
    statement = {slot: statement[slot] or names[slot] for slot in SLOTS}
    # A name shows less clearly than a noun beside it which state it is: "thrombosis" may be an effect.
    taken = {
        slot: kinds | _STATES if kinds == names[slot] and kinds & _COURSES else kinds
        for slot, kinds in statement.items()
    }
    if any(_is_reclassified(taken[slot] - _GOVERNED, text[slot] - _GOVERNED) for slot in SLOTS):
        return True
    return any(
        kind in statement[other] and kind not in statement[slot]
        for slot, other in (SLOTS, SLOTS[::-1])
        if statement[slot] or text[other]
        for kind in text[slot] - text[other] - {"with"}
        if statement[slot].isdisjoint(("had", "with")) or kind not in _STATES
    )


@lru_cache(CACHE_SIZE)
def _is_reclassified(one: frozenset[str], other: frozenset[str]) -> bool:
    """Return whether the text says of an entity that it is another kind of thing than in the statement."""
    if not one:
        return not other.isdisjoint(_SPECIFIC)
    return bool(other) and other.isdisjoint(one.union(*(_ALSO_CALLED.get(kind, ()) for kind in one)))
