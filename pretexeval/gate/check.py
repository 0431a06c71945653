"""Run all checks of the gate on one rewording or on a frame of rewordings."""

import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache

import polars as pl

from pretexeval.gate.features import SentenceFeatures, compare_polarity, extract_features
from pretexeval.gate.kinds import Kinds, are_kinds_swapped, find_name_kind, find_noun_kinds
from pretexeval.gate.lexicon import (
    ARTICLES,
    CACHE_SIZE,
    FUNCTION_WORDS,
    load_lists,
    load_words,
    make_singular,
    split_words,
)
from pretexeval.gate.names import HEAD, SLOTS, TAIL, MaskedText, mask_entities
from pretexeval.gate.predicate import (
    is_claim_narrowed,
    is_entity_changed,
    is_part_lost,
    is_predicate_changed,
    list_known_stems,
    names_other_thing,
)
from pretexeval.gate.roles import (
    are_changes_exchanged,
    are_entities_exchanged,
    are_sources_swapped,
    is_condition_asserted,
    is_person_called,
)
from pretexeval.gate.statement_form import contradicts_itself, is_malformed, is_not_a_sentence
from pretexeval.primitives.errors import InputError

# In the order of the checks. The caller adds "collision" itself, from the result of `find_collisions`.
REASONS: tuple[str, ...] = (
    "no text",
    "unchanged",
    "not one statement",
    "head lost",
    "tail lost",
    "other entity",
    "contradiction",
    "polarity",
    "modality",
    "roles",
    "predicate",
    "addition",
    "new words",
    "collision",
)


@dataclass(frozen=True)
class Rewording:
    """A statement, the text that should mean the same, and the two names that the statement contains."""

    statement: str
    text: str
    head: str
    tail: str
    head_aliases: tuple[str, ...] = ()
    """Other names of the head that the text may use instead."""
    tail_aliases: tuple[str, ...] = ()


_GROUPS = [group.split() for group in load_lists("words")["interchangeable"].split(";")]
_SAME = {word: group[0] for group in _GROUPS for word in group}
_DROPPED = load_words("dropped")


def count_changed_words(statement: Sequence[str], text: Sequence[str]) -> int:
    """Return the number of words that were added, dropped or exchanged, apart from harmless changes.

    Harmless are: articles, commas and "then"; singular and plural; words of one group of the vocabulary; and
    to leave out what the statement calls an entity ("the condition X" said as "X"). A text without any other
    change says what its statement says, whoever wrote it.
    The sequences are matched by the longest blocks that they share (`difflib`; Ratcliff and Metzener, 1988).

    Args:
        statement, text: words in which the entities are slots.
    """
    own = _simplify(statement, ())
    other = _simplify(text, own)
    own = [word if word in other else word.split("/")[0] for word in own]
    if own == other:
        return 0
    changes = SequenceMatcher(None, own, other, autojunk=False).get_opcodes()
    return sum(max(i2 - i1, j2 - j1) for tag, i1, i2, j1, j2 in changes if tag != "equal")


def _simplify(words: Sequence[str], called: Collection[str]) -> list[str]:
    """Return the words without harmless differences; "the condition X" becomes "X/condition".

    Args:
        called: "the condition of X" becomes "X/condition" as well if that is among these.
    """
    kept: list[str] = []
    nouns: list[str] | None = None  # What the next entity is called, from an article on.
    for word, following in zip(words, [*words[1:], ""], strict=False):
        if word in SLOTS and nouns:
            kept[-len(nouns) :] = ["/".join((word, *nouns))]
            nouns = None
        elif word in ARTICLES:
            nouns = []
        elif nouns and word == "of" and "/".join((following, *nouns)) in called:
            continue
        elif word not in _DROPPED:
            kept.append(_find_group(word))
            nouns = [*nouns, kept[-1]] if nouns is not None and find_noun_kinds(word) else None
    return kept


def _find_group(word: str) -> str:
    """Return the first word of the word's group, or its singular; "anatomic" for "anatomical"."""
    singular = make_singular(word)
    singular = singular.removesuffix("al") if singular.endswith("ical") else singular
    return _SAME.get(word) or _SAME.get(singular, singular)


_NO_WORD = re.compile(r"[\W_]+")


def fold_text(text: str) -> str:
    """Return the words in order, without case and punctuation; colliding texts have the same result."""
    return _NO_WORD.sub(" ", unicodedata.normalize("NFKC", text).casefold()).strip()


def find_collisions(texts: Sequence[str], labels: Sequence[bool], taken: Mapping[str, bool]) -> list[bool]:
    """Return for each text whether ``texts`` or ``taken`` has the same folded text with the opposite label.

    Args:
        labels: one for each text.
        taken: folded text -> label, for the texts that were accepted before.
    """
    folds = [fold_text(text) for text in texts]
    said: dict[str, set[bool]] = {}
    for fold, label in zip(folds, labels, strict=True):
        said.setdefault(fold, set()).add(label)
    return [
        taken.get(fold, label) != label or label not in said[fold] or len(said[fold]) == 2
        for fold, label in zip(folds, labels, strict=True)
    ]


# Marks and spaces that a text may have besides the words of its statement and still be unchanged.
_MAX_MARKS = 10
Names = tuple[str, ...]
Words = tuple[str, ...]


def check_rewording(rewording: Rewording, max_new_words: int | None = None) -> tuple[str, ...]:
    """Return the reasons against the rewording, in the order of REASONS; empty if it passes.

    Args:
        max_new_words: the most words that may be changed besides harmless ones, with both names as they are
            written (`count_changed_words`); None for any number.

    Raises:
        InputError: if the statement itself does not contain both names.
    """
    heads = (rewording.head, *rewording.head_aliases)
    tails = (rewording.tail, *rewording.tail_aliases)
    return tuple(_list_reasons(rewording.statement, rewording.text, heads, tails, max_new_words))


def check_rewordings(rows: pl.DataFrame, max_new_words: int | None = None) -> list[tuple[str, ...]]:
    """Return the reasons against each row, in the order of the rows.

    Args:
        rows: columns statement, text, head, tail; optionally head_aliases and tail_aliases, lists of names.
        max_new_words: as in `check_rewording`.
    """
    columns = rows.select("statement", "text", "head", "tail")
    aliases = [
        rows[name].to_list() if name in rows.columns else [None] * len(rows)
        for name in ("head_aliases", "tail_aliases")
    ]
    return [
        tuple(
            _list_reasons(statement, text, (head, *(of_head or ())), (tail, *(of_tail or ())), max_new_words)
        )
        for (statement, text, head, tail), of_head, of_tail in zip(columns.iter_rows(), *aliases, strict=True)
    ]


def _list_reasons(
    statement: str, text: str | None, heads: Names, tails: Names, max_new_words: int | None
) -> Sequence[str]:
    if text is None or not text.strip():
        return ("no text",)
    if abs(len(text) - len(statement)) < _MAX_MARKS and fold_text(text) == fold_text(statement):
        return ("unchanged",)
    if is_malformed(text, (heads[0], tails[0])):
        return ("not one statement",)
    masked = mask_entities(text, heads, tails)
    if masked.is_head_lost or masked.is_tail_lost:
        return ["head lost"] * masked.is_head_lost + ["tail lost"] * masked.is_tail_lost
    own = _mask_statement(statement, heads, tails).tokens
    # Words of the names that are outside a mention do not make it another entity.
    known = _list_name_words(heads, tails).intersection(masked.tokens)
    kinds = (find_name_kind(heads[0]), find_name_kind(tails[0]))
    reasons = {*_compare_sentences(own, masked.tokens, known, *kinds)}
    if names_other_thing(text, masked.tokens, known.union(own)):
        reasons.add("other entity")
    if max_new_words is not None and (
        count_changed_words(own, masked.tokens) > max_new_words
        or not _are_names_literal(statement, text, heads, tails)
    ):
        reasons.add("new words")
    return sorted(reasons, key=REASONS.index)


def _are_names_literal(statement: str, text: str, heads: Names, tails: Names) -> bool:
    """Return whether the text has both names as written, apart from case and punctuation.

    It has no new bracket either: an abbreviation after a name may be one that a weak writer made up.
    """
    folded = f" {fold_text(text)} "
    return text.count("(") <= statement.count("(") and all(
        any(f" {fold_text(name)} " in folded for name in names) for names in (heads, tails)
    )


@lru_cache(4096)
def _list_name_words(heads: Names, tails: Names) -> frozenset[str]:
    return frozenset(word for name in (*heads, *tails) for word in split_words(name)) - FUNCTION_WORDS


@lru_cache(4096)
def _mask_statement(statement: str, heads: Names, tails: Names) -> MaskedText:
    masked = mask_entities(statement, heads, tails)
    for names, is_lost in ((heads, masked.is_head_lost), (tails, masked.is_tail_lost)):
        if is_lost:
            raise InputError(
                f"the statement {statement!r} does not contain the name {names[0]!r}: give the head and "
                "the tail that its prototype was filled with"
            )
    return masked


@lru_cache(CACHE_SIZE)
def _compare_sentences(
    statement: Words, text: Words, name_words: frozenset[str], head: frozenset[str], tail: frozenset[str]
) -> tuple[str, ...]:
    """Return the reasons against the masked words of a text, given those of its statement.

    Args:
        name_words: words of the names that the text has outside a mention.
        head, tail: the kinds of thing that the two names show.
    """
    if statement == text:
        return ()
    own, other = extract_features(statement), extract_features(text)
    known = list_known_stems(own.tokens, name_words)
    changed = compare_polarity(own, other)
    checks = {
        "not one statement": is_not_a_sentence(own.tokens, other.tokens, own.premise is not None),
        "other entity": is_entity_changed(other.tokens, known) or is_part_lost(own.tokens, other.tokens),
        "contradiction": contradicts_itself(other.tokens, other.tags),
        "polarity": changed == "polarity",
        "modality": changed == "modality",
        "roles": _are_roles_changed(own, other, {HEAD: head, TAIL: tail}),
        "predicate": is_predicate_changed(own, other),
        "addition": is_claim_narrowed(other.tokens, known),
    }
    return tuple(reason for reason, is_found in checks.items() if is_found)


def _are_roles_changed(statement: SentenceFeatures, text: SentenceFeatures, kinds: Kinds) -> bool:
    return (
        are_sources_swapped(statement.sources, text.sources)
        or (None not in (statement.premise, text.premise) and statement.premise != text.premise)
        or are_changes_exchanged(statement.tokens, text.tokens)
        or are_entities_exchanged(statement.tokens, text.tokens, statement.entity_kinds)
        or (statement.premise is not None and text.premise is None and is_condition_asserted(text.tokens))
        or (is_person_called(text.tokens) and not is_person_called(statement.tokens))
        or are_kinds_swapped(statement.entity_kinds, text.entity_kinds, kinds)
    )
