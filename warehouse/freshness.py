"""Whether an edition has enough texts that no earlier edition of its base has used."""

from pathlib import Path

from warehouse.query import read_rows


def describe_stale_texts(root: Path, edition_id: str, min_new_texts: float | None) -> str | None:
    """Return why the texts of an edition are not new enough, or null if they are or nothing is required.

    Args:
        min_new_texts: the least share of new texts by each method; null for no check.
    """
    if min_new_texts is None:
        return None
    stale = [
        f"{row['method']}: {row['new_text_rate']:.1%}"
        for row in read_rows(root, f"from freshness where edition_id = '{edition_id}'")
        if row["new_text_rate"] < min_new_texts
    ]
    if not stale:
        return None
    return (
        f"fewer texts of {edition_id} are new than min_new_texts = {min_new_texts:g} requires "
        f"({', '.join(stale)}): a model may have seen the others in earlier editions. Add facts or wordings, "
        'or let a language model reword (rephraser.kind = "model")'
    )
