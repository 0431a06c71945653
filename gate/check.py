"""Run all checks of the gate on one rewording or on a frame of rewordings."""

from collections.abc import Sequence
from functools import lru_cache

import polars as pl

from gate.additions import is_claim_narrowed
from gate.attachments import is_entity_changed, is_part_lost, list_known_stems, names_other_thing
from gate.closeness import count_changed_words
from gate.collisions import fold_text
from gate.entities import HEAD, TAIL, MaskedText, mask_entities
from gate.features import SentenceFeatures, extract_features
from gate.governors import are_entities_exchanged
from gate.kinds import Kinds, are_kinds_swapped
from gate.modality import compare_polarity
from gate.name_kinds import find_name_kind
from gate.predicate import is_predicate_changed
from gate.premises import are_changes_exchanged, is_condition_asserted, is_person_called
from gate.rewording import REASONS, Rewording
from gate.roles import are_sources_swapped
from gate.statement_form import contradicts_itself, is_malformed, is_not_a_sentence
from gate.vocabulary import CACHE_SIZE
from gate.words import FUNCTION_WORDS, split_words
from primitives.errors import InputError

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
