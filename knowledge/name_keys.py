"""Keys of whole columns of names: those of `knowledge.spelling`, for millions of names at once."""

from collections.abc import Iterable, Iterator

import polars as pl

from knowledge.spelling import fold_name, list_name_keys

_KEYS = {"name": pl.String, "key": pl.String}
# What `fold_name` removes from ASCII names.
_ASCII_SEPARATORS = r"[^a-z0-9]+"
# The ASCII characters that `str.strip` removes.
_ASCII_SPACES = " \t\n\v\f\r\x1c\x1d\x1e\x1f"


def fold_names(names: pl.Series) -> pl.Series:
    """Return each name as `fold_name` does."""
    is_plain = _is_plain(names)
    folded = names.str.to_lowercase().str.replace_all(_ASCII_SEPARATORS, " ").str.strip_chars(" ")
    if is_plain.all():
        return folded
    others = pl.Series([fold_name(name) for name in names.filter(~is_plain)], dtype=pl.String)
    return folded.scatter((~is_plain).arg_true(), others)


def list_keys(rows: pl.DataFrame, end: str) -> pl.DataFrame:
    """Return the distinct keys of the names at one end of the rows, as the columns name and key.

    Args:
        end: head or tail; its ids are in the column `<end>_id`.
    """
    identified = rows.select(name=end, id=f"{end}_id").filter(pl.col("id").is_not_null()).unique()
    return pl.concat([key_names(rows[end].unique()), *_list_ids(identified)])


def key_names(names: pl.Series) -> pl.DataFrame:
    """Return the distinct keys of distinct names, as the columns name and key."""
    is_plain = _is_plain(names)
    plain = names.filter(is_plain)
    spelled = pl.DataFrame({"name": plain, "key": "name:" + fold_names(plain)})
    return pl.concat([spelled, _list_slowly((name, None) for name in names.filter(~is_plain))])


def key_ids(ids: pl.Series) -> pl.DataFrame:
    """Return the key of each of the distinct ids that has one, as the columns id and key."""
    found = ids.drop_nulls()
    keys = _list_ids(pl.DataFrame({"name": found, "id": found}))
    return pl.concat([pl.DataFrame(schema=_KEYS), *keys]).rename({"name": "id"})


def _list_ids(rows: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Yield the distinct keys of ids, as the columns name and key.

    Args:
        rows: the distinct names and ids; no id is null.
    """
    if rows.is_empty():
        return
    is_plain = _is_plain(rows["id"])
    shown = rows.filter(is_plain).with_columns(pl.col("id").str.strip_chars(_ASCII_SPACES))
    yield shown.filter(pl.col("id") != "").select("name", key="id:" + pl.col("id")).unique()
    yield _list_slowly(rows.filter(~is_plain).iter_rows()).filter(pl.col("key").str.starts_with("id:"))


def _is_plain(names: pl.Series) -> pl.Series:
    """Return which names are ASCII, where bytes and characters are the same."""
    return names.str.len_bytes() == names.str.len_chars()


def _list_slowly(rows: Iterable[tuple[str, str | None]]) -> pl.DataFrame:
    pairs = [(name, key) for name, identifier in rows for key in list_name_keys(name, identifier)]
    return pl.DataFrame(pairs, schema=_KEYS, orient="row").unique()
