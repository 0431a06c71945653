"""Links from the figures of a page to the samples behind them, in the sample browser of the edition."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

from schemas.columns import SCORING_POLICIES
from schemas.question_stages import FACET_OF
from schemas.transformations import NAMES

SAMPLES = "samples/index.html"
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
        chosen: what narrows the choice, by its name in the address: outcome, fact, polarity, against, …; None
            changes nothing.
    """
    found = {name: row[column] for column, name in _NAMES.items() if column in row}
    if row.get("setting"):
        found["method"] = QUESTIONS
        found.pop("pair", None)
    if "facets" in row:
        found.pop("facet", None)
    found |= _name_part(row)
    if row.get("grouping_by") == "negative":
        found["negative"] = "asserted" if row["group_name"] == "asserted" else "other"
    if row.get("grouping_by") == "release":
        found["age"] = row["group_name"]
    if row.get("grouping_by") == "taught":
        found["taught"] = row["group_name"]
    found |= {name: value for name, value in chosen.items() if value is not None}
    given = {
        name: value for name, value in found.items() if value is not None and value != _DEFAULTS.get(name)
    }
    return urlencode(given, quote_via=quote)


def link_samples(row: Mapping[str, Any], **chosen: object) -> str:
    """Return the address of these samples, from the page of the edition."""
    return f"{SAMPLES}#{name_samples(row, **chosen)}"


def link_mastered(row: Mapping[str, Any], share: str = "mastery", **chosen: object) -> str:
    """Return the address of the facts that the row counts as mastered, or of all missed if none is mastered.

    Args:
        share: the column of the row with the share of mastered facts.
    """
    fact = "mastered" if row[share] else "missed"
    return link_samples(row, **{"fact": fact, "judged": _judge(row)} | chosen)


def link_joint(row: Mapping[str, Any]) -> str:
    """Return the address of the triplets with all samples right, or of the others if there are none."""
    return link_samples(row, triplet="right" if row["joint_accuracy"] else "wrong", judged=_judge(row))


def link_choices(row: Mapping[str, Any]) -> str:
    """Return the link of a row of joint_accuracy_curve.

    Only the last point of a curve has a set of triplets; the others are means over all choices of n samples,
    and lead to all samples.
    """
    is_last = row["n"] * row["n_triplets"] == row["n_samples"]
    return link_joint(row) if is_last else link_samples(row)


def link_other_edition(row: Mapping[str, Any], **chosen: object) -> str:
    """Return the address of the samples of the other edition, from the page of the first one."""
    return f"../{quote(row['other_edition_id'])}/{link_samples(row, **chosen)}"


def link_from_index(row: Mapping[str, Any], **chosen: object) -> str:
    """Return the address of the samples behind a row, from the list of editions."""
    return f"{quote(row['edition_id'])}/{link_samples(row, **chosen)}"


def link_mastered_from_index(row: Mapping[str, Any], share: str = "mastery", **chosen: object) -> str:
    """Return the address of the facts that the row counts as mastered, from the list of editions."""
    return f"{quote(row['edition_id'])}/{link_mastered(row, share, **chosen)}"


def _name_part(row: Mapping[str, Any]) -> dict[str, str]:
    """Return the forms and the polarity of a row that counts only a part of the samples of a fact."""
    found = {}
    if len(row.get("transformations", NAMES)) < len(NAMES):
        found["form"] = ",".join(row["transformations"])
    if len(row.get("facets", FACET_OF)) < len(FACET_OF):
        found["form"] = ",".join(name for name, facet in FACET_OF.items() if facet in row["facets"])
    if not row.get("is_negated_included", True):
        found["polarity"] = "affirmed"
    return found


def _judge(row: Mapping[str, Any]) -> str | None:
    """Return how the browser judges the facts of a row: by the selected samples, or (None) by all."""
    return "selected" if _name_part(row) else None


LINKS = {
    "samples": link_samples,
    "mastered": link_mastered,
    "joint": link_joint,
    "elsewhere": link_other_edition,
    "from_index": link_from_index,
    "mastered_from_index": link_mastered_from_index,
}
"""Name of a function in the templates -> the function."""
