"""The gate's one entrance: the reasons against a rewording, or against a frame of them."""

from collections.abc import Iterator
from functools import lru_cache

import polars as pl

from gate.entities import Masked, mask_entities
from gate.form import is_broken, is_no_sentence
from gate.labels import are_labels_swapped
from gate.modality import compare_modes, compare_polarity
from gate.opposites import are_directions_swapped, is_contrary, is_turned_round
from gate.predicate import is_other_predicate
from gate.qualifiers import is_other_entity
from gate.reading import Reading, read_sentence
from gate.rewording import Rewording
from gate.roles import is_mirrored, is_swapped
from gate.words import split_words
from primitives.errors import InputError


def check_rewording(rewording: Rewording) -> tuple[str, ...]:
    """The reasons against the rewording, in the order of REASONS; empty if it passes.

    Raises:
        InputError: if the statement itself does not hold both names.
    """
    return tuple(_list_reasons(rewording.statement, rewording.text, rewording.head, rewording.tail))


def check_rewordings(rows: pl.DataFrame) -> list[tuple[str, ...]]:
    """The reasons against each row (columns statement, text, head, tail), in the order of the rows."""
    columns = rows.select("statement", "text", "head", "tail")
    return [tuple(_list_reasons(*row)) for row in columns.iter_rows()]


def _list_reasons(statement: str, text: str | None, head: str, tail: str) -> Iterator[str]:
    if text is None or not text.strip():
        yield "no text"
        return
    if text == statement:
        return
    if is_broken(text, (head, tail)):
        yield "not one statement"
        return
    masked = mask_entities(split_words(text), head, tail)
    if masked.is_head_lost or masked.is_tail_lost:
        yield from _list_lost(masked)
        return
    own = _mask_statement(statement, head, tail)
    if own != masked:
        yield from _compare(read_sentence(own.tokens), read_sentence(masked.tokens))


@lru_cache(4096)
def _mask_statement(statement: str, head: str, tail: str) -> Masked:
    masked = mask_entities(split_words(statement), head, tail)
    for name, is_lost in ((head, masked.is_head_lost), (tail, masked.is_tail_lost)):
        if is_lost:
            raise InputError(
                f"the statement {statement!r} does not hold the name {name!r}: give the head and the tail "
                "that its prototype was filled with"
            )
    return masked


def _list_lost(text: Masked) -> Iterator[str]:
    if text.is_head_lost:
        yield "head lost"
    if text.is_tail_lost:
        yield "tail lost"


def _compare(statement: Reading, text: Reading) -> Iterator[str]:
    """The reasons against a text that names both entities."""
    if is_no_sentence(statement.tokens, text.tokens):
        yield "not one statement"
    if is_other_entity(statement.tokens, text.tokens):
        yield "other entity"
    if reason := _compare_firmness(statement, text):
        yield reason
    if _are_roles_lost(statement, text):
        yield "roles"
    if is_other_predicate(statement, text):
        yield "predicate"


def _compare_firmness(statement: Reading, text: Reading) -> str | None:
    """ "polarity" or "modality" where the text affirms, denies or is sure of something else; else None."""
    if is_contrary(statement.vocabulary, text.vocabulary) or are_directions_swapped(
        statement.directions, text.directions
    ):
        return "polarity"
    is_turned = is_turned_round(statement.vocabulary, text.vocabulary)
    if reason := compare_polarity(statement.polarity, text.polarity, is_turned):
        return reason
    return None if compare_modes(statement.modes, text.modes, text.polarity.force) else "modality"


def _are_roles_lost(statement: Reading, text: Reading) -> bool:
    return (
        is_swapped(statement.sources, text.sources)
        or (None not in (statement.given, text.given) and statement.given != text.given)
        or is_mirrored(statement.tokens, text.tokens)
        or are_labels_swapped(statement.labels, text.labels)
    )
