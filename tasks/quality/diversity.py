"""Stage diversity: distances of samples from their statements and from each other (method, section 4).

Every distance is an edit distance (Levenshtein 1966) divided by the length of the longer sequence, so it is
between 0 and 1. Lexical diversity compares words, structural diversity compares parts of speech; the doctors
of PretexEval grade the same two (appendix H).

- lexical_distance, structural_distance: from the sample to its statement, or to the statement `none` of its
  triplet if the sample has no variant (llmeval). They measure what rewording changes, and are 0 for a sample
  that is its statement.
- lexical_spread, structural_spread: mean distance to the other samples of the same triplet and method. They
  measure how much the method as a whole varies, including its transformations, and so compare methods. Their
  mean over samples is the mean pairwise distance (as in self-BLEU, Zhu et al. 2018, with a distance).
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from statistics import fmean

import polars as pl

from pretexeval.gate.lexicon import load_tagger
from pretexeval.knowledge.names import fold_name
from pretexeval.primitives.hashing import draw_order
from schemas.stages import DIVERSITY

HEAD, TAIL = "headentity", "tailentity"
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
            lambda match: f" {masks[names[(match.lastindex or 1) - 1]]} ",
            plain,
            flags=re.IGNORECASE,
        )
    for contraction, words in _CONTRACTIONS:
        plain = contraction.sub(words, plain)
    return plain


@lru_cache(N_KEPT)
def _match_name(folded: str) -> str:
    """Return a pattern of the name: its words and signs with any punctuation between them, and a plural."""
    pattern = ""
    for word in folded.split():
        is_word, is_dash = word[0].isalnum(), word == "-"
        between = (r"[\W_]+" if pattern else "") if is_word else r"[\W_]*?"
        pattern += between + ("[-‐-―−]" if is_dash else re.escape(word))
    return pattern + "(?:e?s)?"


@lru_cache(N_KEPT)
def _tag_tokens(tokens: tuple[str, ...]) -> tuple[str, ...]:
    """Return tags of BNC's basic tag set (C5), by HanTa.

    The cache is effective because entities are masked: a prototype is tagged once for all its triplets.
    """
    is_entity = [token in (HEAD, TAIL) for token in tokens]
    read = [NOUN if masked else token for token, masked in zip(tokens, is_entity, strict=True)]
    tags = load_tagger().tag_sent(read, taglevel=0)
    named = [NOUN_TAG if masked else tag for tag, masked in zip(tags, is_entity, strict=True)]
    return tuple(tag for tag in named if tag not in PUNCTUATION)


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


N_TRIPLETS = 20
"""Triplets of a relation whose samples are measured."""
DIVERSITY_VERSION = 1
"""Count it up when the function `measure_diversity` gives other rows for the same samples."""


def measure_diversity(
    triplets: pl.DataFrame, samples: pl.DataFrame, statements: pl.DataFrame, n_triplets: int = N_TRIPLETS
) -> pl.DataFrame:
    """Return one row per sample of up to ``n_triplets`` test triplets of each relation; columns of the stage.

    The triplets are drawn by their hash, so they are the same for every method.
    """
    drawn = draw_measured_triplets(triplets, n_triplets)
    texts = (
        _add_statements(samples, statements)
        .join(drawn, on="triplet_id")
        .sort("relation", "method", "triplet_id", "sample_index", "sample_id")
    )
    siblings = texts.group_by("relation", "method", "triplet_id", maintain_order=True)
    rows = [row for _, frame in siblings for row in _measure_siblings(frame)]
    return pl.DataFrame(rows, schema=DIVERSITY.empty.schema, orient="row")


def draw_measured_triplets(triplets: pl.DataFrame, n_triplets: int = N_TRIPLETS) -> pl.DataFrame:
    """Return triplet_id, head and tail of up to ``n_triplets`` test triplets of each relation."""
    tested = triplets.filter(pl.col("split") == "test")
    drawn = [
        triplet_id
        for (relation,), frame in tested.group_by("relation")
        for triplet_id in draw_order(frame["triplet_id"], "diversity", str(relation))[:n_triplets]
    ]
    return tested.filter(pl.col("triplet_id").is_in(drawn)).select("triplet_id", "head", "tail")


def _add_statements(samples: pl.DataFrame, statements: pl.DataFrame) -> pl.DataFrame:
    """Return the samples with the statement of their variant, or else the `none` of their triplet."""
    plain = statements.filter(pl.col("transformation") == "none")
    return (
        samples.join(statements.select("variant_id", "statement"), on="variant_id", how="left")
        .join(plain.select("triplet_id", pl.col("statement").alias("plain")), on="triplet_id", how="left")
        .with_columns(pl.coalesce("statement", "plain").alias("statement"))
    )


def _measure_siblings(frame: pl.DataFrame) -> Iterator[tuple[object, ...]]:
    """Yield the rows of the samples of one triplet by one method."""
    columns = ("sample_id", "triplet_id", "relation", "method", "text", "statement", "head", "tail")
    rows = list(frame.select(columns).iter_rows())
    read = [read_sentence(text, head, tail) for *_, text, _, head, tail in rows]
    for i, (*keys, _, statement, head, tail) in enumerate(rows):
        others = read[:i] + read[i + 1 :]
        origin = read_sentence(statement, head, tail)
        yield (
            *keys,
            measure_distance(read[i].words, origin.words),
            measure_distance(read[i].tags, origin.tags),
            fmean(measure_distance(read[i].words, other.words) for other in others) if others else None,
            fmean(measure_distance(read[i].tags, other.tags) for other in others) if others else None,
        )
