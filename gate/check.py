"""Run all checks of the gate on one rewording or on a frame of rewordings."""

from collections.abc import Iterator
from functools import lru_cache

import polars as pl

from gate.entities import MaskedText, mask_entities
from gate.entity_kinds import are_kinds_swapped
from gate.modality import compare_polarity, is_modality_kept
from gate.opposites import are_directions_swapped, has_contradictory_word, has_contrary_word
from gate.predicate import is_predicate_changed
from gate.qualifiers import is_entity_changed
from gate.rewording import Rewording
from gate.roles import are_entities_exchanged, are_sources_swapped
from gate.sentence_features import SentenceFeatures, extract_features
from gate.statement_form import is_malformed, is_not_a_sentence
from gate.words import split_words
from primitives.errors import InputError


def check_rewording(rewording: Rewording) -> tuple[str, ...]:
    """Return the reasons against the rewording, in the order of REASONS; empty if it passes.

    Raises:
        InputError: if the statement itself does not contain both names.
    """
    return tuple(_list_reasons(rewording.statement, rewording.text, rewording.head, rewording.tail))


def check_rewordings(rows: pl.DataFrame) -> list[tuple[str, ...]]:
    """Return the reasons against each row (columns statement, text, head, tail), in the order of the rows."""
    columns = rows.select("statement", "text", "head", "tail")
    return [tuple(_list_reasons(*row)) for row in columns.iter_rows()]


def _list_reasons(statement: str, text: str | None, head: str, tail: str) -> Iterator[str]:
    if text is None or not text.strip():
        yield "no text"
        return
    if text == statement:
        return
    if is_malformed(text, (head, tail)):
        yield "not one statement"
        return
    masked = mask_entities(split_words(text), head, tail)
    if masked.is_head_lost or masked.is_tail_lost:
        yield from _list_lost_entities(masked)
        return
    own = _mask_statement(statement, head, tail)
    if own != masked:
        yield from _compare_sentences(extract_features(own.tokens), extract_features(masked.tokens))


@lru_cache(4096)
def _mask_statement(statement: str, head: str, tail: str) -> MaskedText:
    masked = mask_entities(split_words(statement), head, tail)
    for name, is_lost in ((head, masked.is_head_lost), (tail, masked.is_tail_lost)):
        if is_lost:
            raise InputError(
                f"the statement {statement!r} does not contain the name {name!r}: give the head and the tail "
                "that its prototype was filled with"
            )
    return masked


def _list_lost_entities(text: MaskedText) -> Iterator[str]:
    if text.is_head_lost:
        yield "head lost"
    if text.is_tail_lost:
        yield "tail lost"


def _compare_sentences(statement: SentenceFeatures, text: SentenceFeatures) -> Iterator[str]:
    """Yield the reasons against a text that names both entities."""
    if is_not_a_sentence(statement.tokens, text.tokens):
        yield "not one statement"
    if is_entity_changed(statement.tokens, text.tokens):
        yield "other entity"
    if reason := _compare_polarity_and_modality(statement, text):
        yield reason
    if _are_roles_changed(statement, text):
        yield "roles"
    if is_predicate_changed(statement, text):
        yield "predicate"


def _compare_polarity_and_modality(statement: SentenceFeatures, text: SentenceFeatures) -> str | None:
    """Return "polarity" or "modality" if the text changes that of the statement, else None."""
    if has_contrary_word(statement.vocabulary, text.vocabulary) or are_directions_swapped(
        statement.directions, text.directions
    ):
        return "polarity"
    is_opposite_used = has_contradictory_word(statement.vocabulary, text.vocabulary)
    if reason := compare_polarity(statement.polarity, text.polarity, is_opposite_used):
        return reason
    return None if is_modality_kept(statement.modes, text.modes, text.polarity.force) else "modality"


def _are_roles_changed(statement: SentenceFeatures, text: SentenceFeatures) -> bool:
    return (
        are_sources_swapped(statement.sources, text.sources)
        or (None not in (statement.premise, text.premise) and statement.premise != text.premise)
        or are_entities_exchanged(statement.tokens, text.tokens)
        or are_kinds_swapped(statement.entity_kinds, text.entity_kinds)
    )
