"""What a masked sentence says, as far as words and their order tell."""

from dataclasses import dataclass
from functools import lru_cache

from gate.condition import find_given
from gate.labels import find_labels
from gate.lexicon import tag_word
from gate.modality import read_modes
from gate.opposites import find_directions
from gate.phrases import join_phrases
from gate.polarity import Polarity, read_polarity
from gate.relation_kinds import find_hinted, find_stated
from gate.roles import find_sources
from gate.words import CACHE


@dataclass(frozen=True)
class Reading:
    """The reading of one sentence whose entities are slots."""

    tokens: tuple[str, ...]
    tags: tuple[frozenset[str], ...]
    vocabulary: frozenset[str]
    """All tags that occur."""
    polarity: Polarity
    modes: frozenset[str]
    sources: dict[str, str]
    """Family of relation -> the slot that is its source."""
    labels: dict[str, frozenset[str]]
    """Slot -> the kinds of thing that the sentence calls it."""
    directions: dict[str, str]
    """Slot -> whether what is said of it goes up or down."""
    given: str | None
    """The slot that is taken as given."""
    stated: frozenset[str]
    """Kinds of relation that it states by name."""
    hinted: frozenset[str]
    """Kinds of relation that it states or may be meant to."""


@lru_cache(CACHE)
def read_sentence(masked: tuple[str, ...]) -> Reading:
    """The reading of the masked words of a sentence."""
    tokens = join_phrases(masked)
    tags = tuple(tag_word(token) for token in tokens)
    return Reading(
        tokens,
        tags,
        frozenset().union(*tags),
        read_polarity(tokens, tags),
        read_modes(tags),
        find_sources(tokens),
        find_labels(tokens),
        find_directions(tokens, tags),
        find_given(tokens),
        find_stated(tokens),
        find_hinted(tokens),
    )
