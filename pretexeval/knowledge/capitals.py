"""The capitals of names: names of a base as they are written within a sentence."""

import re

import polars as pl

_WORD = re.compile(r"(?<![^\W_])[^\W\d_]{2,}(?![^\W_])")


def lower_titles(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows with heads and tails that have no capitals of titles ("Burns", "Kidney Failure").

    A word loses its capital if another name has it in small letters: "Addison's Disease" becomes "Addison's
    disease". A name stays as it is if a word behind its first one is known with a capital only, so that no
    name mixes both styles.
    """
    names = pl.concat([rows["head"], rows["tail"]]).drop_nulls().unique()
    small = {word for name in names for word in _WORD.findall(name) if word.islower()}
    written = {name: _lower_title(name, small) for name in names}
    return rows.with_columns(pl.col("head", "tail").replace(written))


def _lower_title(name: str, small: set[str]) -> str:
    titles = [found for found in _WORD.finditer(name) if found[0].istitle()]
    if any(found[0].lower() not in small for found in titles[1:]):
        return name
    return _WORD.sub(lambda found: found[0].lower() if _is_title(found[0], small) else found[0], name)


def _is_title(word: str, small: set[str]) -> bool:
    return word.istitle() and word.lower() in small
