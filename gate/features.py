"""Extract from the words of a masked sentence the features that the checks compare."""

from dataclasses import dataclass
from functools import lru_cache

from gate.kinds import find_entity_kinds
from gate.lexicon import join_phrases, tag_word
from gate.polarity import Polarity, find_directions, read_modes, read_polarity
from gate.premises import find_premise
from gate.relations import find_hinted, find_stated
from gate.roles import find_sources
from gate.vocabulary import CACHE_SIZE


@dataclass(frozen=True)
class SentenceFeatures:
    """The features of one sentence whose entities are slots."""

    tokens: tuple[str, ...]
    tags: tuple[frozenset[str], ...]
    vocabulary: frozenset[str]
    """All tags that occur in the sentence."""
    polarity: Polarity
    modes: frozenset[str]
    sources: dict[str, str]
    """Class of relation -> the slot that is its source."""
    entity_kinds: dict[str, frozenset[str]]
    """Slot -> the kinds of thing that the sentence calls the entity."""
    directions: dict[str, str]
    """Slot -> "up" or "down", if the sentence says that something about it rises or falls."""
    premise: str | None
    """The slot that the sentence assumes: X in "if X, then Y"."""
    stated: frozenset[str]
    """Classes of relations that the sentence states explicitly."""
    hinted: frozenset[str]
    """Classes of relations that the sentence states or hints at."""


@lru_cache(CACHE_SIZE)
def extract_features(masked: tuple[str, ...]) -> SentenceFeatures:
    """Return the features of a sentence, given its masked words."""
    tokens = join_phrases(masked)
    tags = tuple(tag_word(token) for token in tokens)
    premise = find_premise(tokens)
    return SentenceFeatures(
        tokens,
        tags,
        frozenset().union(*tags),
        read_polarity(tokens, tags),
        read_modes(tags),
        find_sources(tokens),
        find_entity_kinds(tokens),
        find_directions(tokens, tags),
        premise,
        find_stated(tokens),
        find_hinted(tokens),
    )
