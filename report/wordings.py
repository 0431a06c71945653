"""Whether the wordings of an edition were reviewed, or are those of a pool that nobody has reviewed."""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from prototypes.pool import list_bundled, load_pool

AS_WRITTEN = "as written"


def name_rephraser(edition: Mapping[str, Any]) -> str | None:
    """Return what the page calls the rephraser: "reviewed" only if the wordings of all relations were.

    Args:
        edition: a row of the table editions: pool, rephraser and configuration.
    """
    rephraser: str | None = edition["rephraser"]
    if rephraser != "reviewed":
        return rephraser
    configuration = json.loads(edition["configuration"] or "{}")
    written = list_as_written(edition["pool"], configuration)
    n_relations = len(configuration.get("prototypes", ()))
    if not written:
        return rephraser
    is_partial = len(written) < n_relations
    return f"{AS_WRITTEN} in {len(written)} relations of {n_relations}" if is_partial else AS_WRITTEN


def is_gate_off(edition: Mapping[str, Any]) -> bool:
    """Return whether a language model reworded the statements, and nothing checked its rewordings.

    Args:
        edition: a row of the table editions.
    """
    configuration = json.loads(edition["configuration"] or "{}")
    return bool(configuration.get("rephraser", {}).get("gate") == "off")


def list_drafts(edition: Mapping[str, Any]) -> list[str]:
    """Return the relations whose prototypes are drafts that nobody has reviewed.

    Args:
        edition: a row of the table editions.
    """
    return list(json.loads(edition["configuration"] or "{}").get("drafts", ()))


def list_as_written(pool: str, configuration: Mapping[str, Any]) -> list[str]:
    """Return the relations whose wordings nobody has reviewed.

    Editions of earlier versions do not list them. Their wordings were reviewed if they are in a bundled pool.
    """
    if "as_written" in configuration or pool in list_bundled():
        return list(configuration.get("as_written", ()))
    checksums: Mapping[str, str] = configuration.get("prototypes", {})
    return [relation for relation, checksum in checksums.items() if checksum not in _list_reviewed()]


@cache
def _list_reviewed() -> frozenset[str]:
    pools = [load_pool(name) for name in list_bundled()]
    return frozenset(pool.checksum_relation(relation) for pool in pools for relation in pool.relations)
