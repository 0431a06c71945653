"""Classes of relations (cause, treatment, time, …): the words that state each class, and their direction.

The source of a relation is the entity that comes first in it: the cause, the treatment, the earlier event,
what something comes from, what encodes, or what has a feature. No class is for one relation of a base.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from gate.kinds import find_next_slot
from gate.vocabulary import CACHE_SIZE, compile_lists, load_lists


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
