"""Links from the figures of a page to the samples behind them, in the sample browser of the edition."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

from schemas.columns import SCORING_POLICIES
from schemas.transformations import NAMES

PAGE = "samples/index.html"
"""The sample browser, from the page of its edition."""
QUESTIONS = "questions"
"""The name of the collection of questions, beside the methods."""
# Column of a view -> what it is called in the address. These columns choose the samples that a row is about.
_NAMES = {
    "method": "method",
    "model_id": "model",
    "scoring_policy": "policy",
    "repeat": "repeat",
    "setting": "setting",
    "relation": "relation",
    "transformation": "form",
    "facet": "facet",
    "taught_with": "taught",
    "pair_id": "pair",
}
# What the browser shows if the address does not say.
_DEFAULTS = {"policy": SCORING_POLICIES[0], "repeat": 0}


def name_samples(row: Mapping[str, Any], **chosen: object) -> str:
    """Return the part of an address after `#` that shows the samples behind the row of a view.

    Args:
        chosen: what narrows the choice, by its name in the address: outcome, fact, polarity, against, …
    """
    found = {name: row[column] for column, name in _NAMES.items() if column in row}
    if row.get("setting"):
        found["method"] = QUESTIONS
        found.pop("pair", None)
    if _is_partial(row):
        found["form"] = ",".join(row["transformations"])
    if "is_asserted" in row:
        found["negative"] = "asserted" if row["is_asserted"] else "other"
    found |= chosen
    given = {
        name: value for name, value in found.items() if value is not None and value != _DEFAULTS.get(name)
    }
    return urlencode(given, quote_via=quote)


def name_mastered(row: Mapping[str, Any]) -> str:
    """Return the same for the facts that the row counts as mastered, or for all missed if none is mastered.

    Empty for a row about some of the transformations: the browser judges a fact by all its samples.
    """
    return "" if _is_partial(row) else name_samples(row, fact="mastered" if row["mastery"] else "missed")


def link_samples(row: Mapping[str, Any], **chosen: object) -> str:
    """Return the address of these samples, from the page of the edition."""
    return f"{PAGE}#{name_samples(row, **chosen)}"


def link_mastered(row: Mapping[str, Any]) -> str:
    """Return the address of these facts, from the page of the edition; empty if they have none."""
    name = name_mastered(row)
    return f"{PAGE}#{name}" if name else ""


def _is_partial(row: Mapping[str, Any]) -> bool:
    return len(row.get("transformations", NAMES)) < len(NAMES)


LINKS = {"samples": link_samples, "mastered": link_mastered}
"""What templates call these functions."""
