"""The wordings of an edition: reviewed, or those of a pool that nobody has reviewed."""

import json
from collections.abc import Mapping
from typing import Any

AS_WRITTEN = "as written"


def name_rephraser(edition: Mapping[str, Any]) -> str | None:
    """Return what the page calls the rephraser: "reviewed" only if the wordings of all relations were.

    Args:
        edition: a row of the table editions: rephraser and configuration.
    """
    rephraser: str | None = edition["rephraser"]
    if rephraser != "reviewed":
        return rephraser
    configuration = json.loads(edition["configuration"] or "{}")
    written = configuration.get("as_written", ())
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
