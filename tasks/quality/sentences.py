"""Sentences as sequences that can be compared: their words, and the parts of speech of the words.

The head and the tail count as one token each. Every wording of a triplet must contain them, so a long name
would only dilute what the wording changes.
"""

import re
import unicodedata
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from knowledge.spelling import fold_name

HEAD, TAIL = "headentity", "tailentity"
MODEL = "morphmodel_en.pgz"
# The tagger gets this word in place of an entity: it knows the word only as a noun, with this tag.
NOUN, NOUN_TAG = "disease", "NN1"
# Tags of punctuation. The tagger needs punctuation, but it is not a part of speech.
PUNCTUATION = frozenset({"PUN", "PUL", "PUR", "PUQ"})
N_KEPT = 100_000
_TOKEN = re.compile(r"'s\b|\w+(?:-\w+)*|[^\w\s]")
# Contractions are split as in the tagger's corpus: it would take "cannot" for a noun.
_CONTRACTIONS = (
    (re.compile(r"\b(?:cannot|can't)", re.IGNORECASE), "can not"),
    (re.compile(r"\bwon't\b", re.IGNORECASE), "will not"),
    (re.compile(r"n't\b", re.IGNORECASE), " not"),
)


@dataclass(frozen=True)
class Sentence:
    """The case-folded words of a text, and the tags of their parts of speech, without punctuation."""

    words: tuple[str, ...]
    tags: tuple[str, ...]


def read_sentence(text: str, head: str, tail: str) -> Sentence:
    """Return the text as words and tags, with the head and the tail as one token each.

    The head and the tail are found in any case and punctuation and in a regular plural. A name that the text
    words differently counts as changed words.
    """
    tokens = tuple(_TOKEN.findall(_mask_entities(text, head, tail)))
    words = tuple(token.casefold() for token in tokens if token[0].isalnum() or len(token) > 1)
    return Sentence(words, _tag_tokens(tokens))


def _mask_entities(text: str, head: str, tail: str) -> str:
    """Return the text with both names replaced, contractions spelled out, and plain apostrophes."""
    plain = unicodedata.normalize("NFKC", text).replace("’", "'")
    masks = {fold_name(tail): TAIL, fold_name(head): HEAD}
    # Longer names come first: in "iron deficiency anemia", "anemia" must not be found.
    names = sorted((name for name in masks if name), key=lambda name: (-len(name), name))
    pattern = "|".join(f"({_match_name(name)})" for name in names)
    if pattern:
        plain = re.sub(
            rf"(?<!\w)(?:{pattern})(?!\w)",
            lambda found: f" {masks[names[(found.lastindex or 1) - 1]]} ",
            plain,
            flags=re.IGNORECASE,
        )
    for contraction, words in _CONTRACTIONS:
        plain = contraction.sub(words, plain)
    return plain


@lru_cache(N_KEPT)
def _match_name(folded: str) -> str:
    """Return a pattern of the name: its words with any punctuation between them, and an optional plural."""
    return r"[\W_]+".join(re.escape(word) for word in folded.split()) + "(?:e?s)?"


@lru_cache(N_KEPT)
def _tag_tokens(tokens: tuple[str, ...]) -> tuple[str, ...]:
    """Return tags of BNC's basic tag set (C5), by HanTa, whose English model is part of its package.

    The cache is effective because entities are masked: a prototype is tagged once for all its triplets.
    """
    is_entity = [token in (HEAD, TAIL) for token in tokens]
    read = [NOUN if masked else token for token, masked in zip(tokens, is_entity, strict=True)]
    tags = _load_tagger().tag_sent(read, taglevel=0)
    named = [NOUN_TAG if masked else tag for tag, masked in zip(tags, is_entity, strict=True)]
    return tuple(tag for tag in named if tag not in PUNCTUATION)


@cache
def _load_tagger() -> Any:  # noqa: ANN401  (HanTa has no types)
    from HanTa.HanoverTagger import HanoverTagger  # type: ignore[import-untyped]

    return HanoverTagger(MODEL)


def measure_distance(left: tuple[str, ...], right: tuple[str, ...]) -> float:
    """Return Levenshtein's edit distance divided by the length of the longer sequence: 0 to 1."""
    if left == right:
        return 0.0
    shorter, longer = sorted((left, right), key=lambda sequence: (len(sequence), sequence))
    return _count_edits(shorter, longer) / len(longer)


@lru_cache(N_KEPT)
def _count_edits(left: tuple[str, ...], right: tuple[str, ...]) -> int:
    """Return the least number of insertions, deletions and replacements, by Wagner and Fischer (1974)."""
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, start=1):
        edits, diagonal = i, i - 1
        for j, b in enumerate(right, start=1):
            # min() of three values takes twice as long, and this loop takes most of the time.
            above = row[j]
            edits = (above if above < edits else edits) + 1
            kept = diagonal if a == b else diagonal + 1
            edits = kept if kept < edits else edits
            diagonal = above
            row[j] = edits
    return row[-1]
