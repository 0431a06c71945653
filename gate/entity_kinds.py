"""Find the kind of thing that a sentence calls each entity: "the disease X", "X is a symptom of Y"."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from gate.entities import SLOTS
from gate.words import CACHE_SIZE, list_words

_KINDS = {
    "disease": r"""
        diseases?|conditions?|disorders?|illness(?:es)?|syndromes?|diagnos[ei]s|ailments?|malad(?:y|ies)
        |comorbidit(?:y|ies)
    """,
    "site": r"sites?|organs?|regions?|locations?|structures?|anatomy|compartments?|places?|area|parts",
    "cell": r"cells?",
    "tissue": r"tissues?",
    "gene": r"genes?",
    "product": r"products?|proteins?|molecules?|enzymes?|polypeptides?",
    "drug": r"""
        drugs?|agents?|medications?|medicines?|substances?|compounds?|therap(?:y|ies)|treatments?
        |remed(?:y|ies)
    """,
    "finding": r"findings?|symptoms?|signs?|manifestations?|observations?",
    "change": r"morpholog(?:y|ies)|abnormalit(?:y|ies)|alterations?|changes?|aberrations?|mutations?",
    "process": r"process(?:es)?|phenomen(?:on|a)",
    "function": r"functions?|roles?|capacity|activity",
    "event": r"events?|antecedents?|precursors?",
    "procedure": r"procedures?|operations?|interventions?|techniques?|surger(?:y|ies)",
    "effect": r"effects?|responses?|reactions?",
}
# One thing may have several kinds of the same genus, but not kinds of two genera.
_GENUS = {
    kind: genus
    for genus, kinds in {
        "state": "disease finding change event effect process function",
        "anatomy": "site cell tissue",
        "matter": "gene product drug procedure",
    }.items()
    for kind in kinds.split()
}
_KINDS_AFTER_NAME = frozenset(["disease", "gene", "cell", "tissue", "change", "product", "site"])
_COMPILED = [(re.compile(pattern, re.VERBOSE), kind) for kind, pattern in _KINDS.items()]
_BE = frozenset(("is", "are", "be", "was", "were", "being", "been"))
_DETERMINERS = list_words(
    """
    a an the one of among those not no also commonly some may might can could such
    """
)
_PARTITIVES = frozenset(("among", "one", "none", "absent", "from", "of", "the"))
_LINKS = frozenset(("known", "called", "named", "termed"))
_STOPS = list_words("that which with without by in to from of on at part ,")
LIST_VERBS = frozenset(("include", "includes", "exclude", "excludes", "contain", "contains"))
_MAX_ADJECTIVES = 5


@lru_cache(CACHE_SIZE)
def find_noun_kind(word: str) -> str | None:
    """Return the kind of thing that the noun names; None if it names none of the known kinds."""
    return next((kind for pattern, kind in _COMPILED if pattern.fullmatch(word)), None)


def find_entity_kinds(tokens: Sequence[str]) -> dict[str, frozenset[str]]:
    """Return slot -> the kinds of thing that the sentence calls the entity."""
    found: dict[str, set[str]] = {slot: set() for slot in SLOTS}
    for at, token in enumerate(tokens):
        if token in found:
            found[token].update(_list_mention_kinds(tokens, at))
    return {slot: frozenset(kinds) for slot, kinds in found.items()}


def _list_mention_kinds(tokens: Sequence[str], at: int) -> Iterator[str]:
    """Yield the kinds that come before or after one mention, or that are its predicate."""
    before = [token for token in tokens[max(0, at - 4) : at] if token not in ("the", "a", "an")]
    if before and before[-1] == "as" and len(before) > 1 and before[-2] in _LINKS:
        before = before[:-2]
    elif before and before[-1] in _LINKS:
        before = before[:-1]
    if before and (kind := find_noun_kind(before[-1])):
        yield kind
    if at + 1 < len(tokens) and (kind := find_noun_kind(tokens[at + 1])) in _KINDS_AFTER_NAME:
        yield kind
    if kind := _find_predicate_kind(tokens, at) or _find_list_kind(tokens, at):
        yield kind


def _find_predicate_kind(tokens: Sequence[str], at: int) -> str | None:
    """Return the kind in "X is a common symptom of …" or "has X as an associated morphology"."""
    j = at + 1
    while j < len(tokens) and tokens[j] in _DETERMINERS:
        j += 1
    if j >= len(tokens) or not (tokens[j] in _BE or tokens[j] == "as"):
        return None
    if tokens[j + 1 : j + 2] and tokens[j + 1].endswith(("ed", "ing", "_to")):
        return None
    for token in tokens[j + 1 : j + 3 + _MAX_ADJECTIVES]:
        if token in SLOTS or token in _STOPS:
            return None
        if kind := find_noun_kind(token):
            return kind
    return None


def _find_list_kind(tokens: Sequence[str], at: int) -> str | None:
    """Return the kind in "the symptoms of Y include X": the first noun of the clause names what is listed."""
    start = at - 1
    while start >= 0 and tokens[start] in ("the", "a", "an"):
        start -= 1
    clause = tokens[: max(start, 0)]
    is_list = start >= 0 and tokens[start] in LIST_VERBS
    if not is_list and not (clause and tokens[start] in _BE and clause[0] in _PARTITIVES):
        return None
    if "," in clause:
        clause = clause[len(clause) - 1 - list(reversed(clause)).index(",") + 1 :]
    while clause and clause[0] in _PARTITIVES:
        clause = clause[1:]
    for token in clause:
        if token in _STOPS:
            return None
        if kind := find_noun_kind(token):
            return kind
    return None


def are_kinds_swapped(statement: Mapping[str, frozenset[str]], text: Mapping[str, frozenset[str]]) -> bool:
    """Return whether the text gives an entity the kind of the other one, or a kind that it cannot have."""
    if any(_are_incompatible(statement[slot], text[slot]) for slot in SLOTS):
        return True
    return any(
        kind in statement[other] and kind not in statement[slot]
        for slot, other in (SLOTS, SLOTS[::-1])
        for kind in text[slot] - text[other]
    )


def _are_incompatible(one: frozenset[str], other: frozenset[str]) -> bool:
    """Return whether no thing can have kinds of both sets."""
    return bool(one) and bool(other) and not ({_GENUS[k] for k in one} & {_GENUS[k] for k in other})
