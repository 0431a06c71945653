"""In what two editions of a base differ: only where it is nothing but the draw, a fall can mean a leak."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from report.contents import EditionReader, Row
from report.formats import join_names

ASPECTS = {
    "methods": "methods",
    "rephraser": "rephraser",
    "pool": "pool of prototypes",
    "prototypes": "wordings of the prototypes",
    "as_written": "relations with wordings as written",
    "negatives": "kind of negatives",
    "evidence": "evidence for negatives",
    "relations": "relations",
    "knowledge": "knowledge base",
    "heads_per_relation": "number of facts",
    "llmeval": "writer of llmeval",
    "releases": "releases of the base",
}
"""Part of the configuration -> what it is called in a sentence."""
CHECKSUMS = ("knowledge", "prototypes")
SAME_SERIES = ("seed", "series", "edition", "label", "format", "kb")
"""Parts in which the editions of a series may differ."""
SIZE_RATIO = 1.25
"""Editions of which one has more pairs than this many times the other's differ in their number of facts."""


def list_aspects(one: Row, other: Row, *ignored: str) -> list[str]:
    """Return in what two editions differ, besides seed, label and period.

    Args:
        one: a row of `editions` with its configuration as JSON, and n_drawn_pairs.
        ignored: parts of the configuration that do not matter.
    """
    first, second = map(_read_parts, (one, other))
    names = {*first, *second} - {*SAME_SERIES, *ignored}
    differing = {name for name in names if not _is_alike(name, first.get(name), second.get(name))}
    sizes = sorted(row["n_drawn_pairs"] or 0 for row in (one, other))
    if sizes[1] > SIZE_RATIO * sizes[0]:
        differing.add("heads_per_relation")
    order = [*ASPECTS, *sorted(differing - ASPECTS.keys())]
    return [ASPECTS.get(name, name.replace("_", " ")) for name in order if name in differing]


def _read_parts(edition: Row) -> dict[str, Any]:
    parts: dict[str, Any] = json.loads(edition["configuration"] or "{}")
    relations = sorted(parts.get("knowledge", ()))
    return parts | {"pool": edition["pool"], "negatives": edition["negatives"], "relations": relations}


def _is_alike(name: str, one: object, other: object) -> bool:
    """Return whether two parts are equal; checksums are compared for the shared relations."""
    if name in CHECKSUMS and isinstance(one, dict) and isinstance(other, dict):
        return all(one[relation] == other[relation] for relation in one.keys() & other.keys())
    return one == other


def describe_aspects(aspects: list[str]) -> str:
    """Return in what the editions differ, for a sentence."""
    return (
        f"which differs in its {join_names(aspects, len(aspects))}"
        if aspects
        else "of the same configuration"
    )


def read_aspects(reader: EditionReader, others: Iterable[str]) -> Mapping[str, list[str]]:
    """Return other edition -> in what it differs from the reader's edition."""
    rows: dict[str, dict[str, Any]] = {
        row["edition_id"]: row
        for row in reader.read(
            "select edition_id, configuration, pool, negatives, n_drawn_pairs from editions"
        )
    }
    return {other: list_aspects(rows[reader.edition_id], rows[other]) for other in others}


def number_series(editions: Iterable[Row]) -> list[int]:
    """Return the number of the series of each edition: those of one configuration, whatever their seed.

    A base that was updated since, and prototypes that were corrected, do not end a series.
    """
    firsts: list[Row] = []
    numbers = []
    for edition in editions:
        alike = (
            n for n, first in enumerate(firsts) if not list_aspects(first, edition, "knowledge", "prototypes")
        )
        number = next(alike, len(firsts))
        if number == len(firsts):
            firsts.append(edition)
        numbers.append(number)
    return numbers
