"""The raw rows of a source: check them, clean them and build a base from them.

Every reader returns a :class:`Source`. Wrong rows are reported together in one error, which names the first
of them. Repeated rows are left out and listed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from pretexeval.knowledge.base import COLUMNS, FALSE_COLUMNS, MAX_LISTED, KnowledgeBase, LeftOut
from pretexeval.knowledge.names import BLANK, INVISIBLE, tidy_names
from pretexeval.primitives.errors import InputError

SPLIT = ', or set split = "\\n" in [knowledge] if the cell is a list'
N_SHOWN = 5
"""Wrong rows that a message names."""


INDEXED = r"(?i)\.(parquet|json|json\.gz)$"
"""Pattern of files whose rows have an index, from 0, and not a line."""


def _format_place(file: pl.Expr) -> pl.Expr:
    # The rows of the result of a query have no number, because their order may differ each time.
    return (
        pl.when(pl.col("row").is_null())
        .then(file)
        .when(file.str.contains(INDEXED))
        .then(pl.format("{}, row index {}", file, "row"))
        .otherwise(pl.format("{}, line {}", file, "row"))
    )


PLACE = _format_place(pl.col("file"))
"""The place of a row in its source, for messages."""
SHORT_PLACE = _format_place(pl.col("file").str.replace(r"^.*[/\\]", ""))
"""The same, with the name of the file in place of its path."""
LEFT_OUT_ROWS = ["relation", "head", "tail", "file", "row", "reason"]
"""The columns of rows that are listed as left out."""
_FACT = ("relation", "head", "tail")
_CELLS = ("head", "tail", "head_id", "tail_id")


def list_filled(rows: pl.DataFrame) -> list[str]:
    """Return the columns that have a value. The others need memory only once they are used."""
    n_missing = rows.null_count().row(0, named=True)
    return [name for name in rows.columns if n_missing[name] < rows.height]


def mark_tested(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows with `is_tested`: whether a row without ``also_true`` states the triplet.

    Rows without ``also_true`` come first, so that of two equal rows the tested one is kept.
    """
    unmarked, marked = rows.filter(~pl.col("also_true")), rows.filter("also_true")
    stated = marked.lazy().select(_FACT).unique().join(unmarked.lazy(), on=_FACT, how="semi")
    is_tested = stated.with_columns(is_tested=True).collect()
    return pl.concat(
        [
            unmarked.with_columns(is_tested=True),
            marked.join(is_tested, on=_FACT, how="left", maintain_order="left").with_columns(
                pl.col("is_tested").fill_null(value=False)
            ),
        ]
    )


def sort_triplets(rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the distinct triplets, sorted by relation, names and ids, and the rows that repeat one.

    Args:
        rows: what `mark_tested` returns. The first of equal rows is kept; the others keep their order.
    """
    filled = list_filled(rows)
    cells = [name for name in _CELLS if name in filled]
    numbered = rows.lazy().with_row_index("position").select("relation", *cells, "position")
    kept, repeated = [pl.Series("position", [], pl.UInt32)], [pl.Series("position", [], pl.UInt32)]
    for relation in rows["relation"].unique().sort():
        chosen = numbered.filter(pl.col("relation") == relation).drop("relation")
        ordered = chosen.sort(cells, nulls_last=True, maintain_order=True).collect()
        is_first = ordered.select(_is_first(cells)).to_series()
        kept.append(ordered["position"].filter(is_first))
        repeated.append(ordered["position"].filter(~is_first))
    triplets = rows.select("relation", *cells, also_true=~pl.col("is_tested"))[pl.concat(kept)]
    missing = [pl.lit(None, pl.String).alias(name) for name in _CELLS if name not in cells]
    return triplets.with_columns(missing).select(list(COLUMNS)), rows[pl.concat(repeated).sort()]


def _is_first(cells: list[str]) -> pl.Expr:
    """Return an expression for whether a sorted row differs from the row before it."""
    is_other = (pl.col(name).ne_missing(pl.col(name).shift()) for name in cells)
    return pl.any_horizontal(*is_other) | (pl.int_range(pl.len()) == 0)


# row: the line number, from 1; in Parquet and .json, the row index, from 0; null in the result of a query.
# problem: an error that the reader itself found, or null.
SOURCE_SCHEMA = {
    "relation": pl.String,
    "head": pl.String,
    "tail": pl.String,
    "head_id": pl.String,
    "tail_id": pl.String,
    "also_true": pl.String,
    "also_false": pl.String,
    "undecided": pl.String,
    "head_aliases": pl.String,
    "tail_aliases": pl.String,
    "since": pl.String,
    "file": pl.String,
    "row": pl.Int64,
    "problem": pl.String,
}
MARKS = ("also_true", "also_false", "undecided")
ALIASES = ("head_aliases", "tail_aliases")
ALIAS_SEPARATOR = "||"
"""What separates the aliases in a cell, as in DiseK's lists."""
ROWS_AT_ONCE = 200_000
"""Rows that are checked at once: the checks write several messages for each row."""
REPEATED = "repeats another row"
_TEXT = ("relation", "head", "tail", "head_id", "tail_id", "since", *MARKS)


@dataclass(frozen=True)
class Source:
    """The result of a reader: rows with ``SOURCE_SCHEMA``, and the parts that it did not read."""

    rows: pl.DataFrame
    left_out: tuple[LeftOut, ...] = field(default=())


def build_source_rows(path: Path, columns: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of one file with ``SOURCE_SCHEMA``. Missing columns are null.

    Raises:
        InputError: the file has no rows.
    """
    if columns.is_empty():
        raise InputError(f"{path} holds no rows: fill it or remove it")
    missing = [pl.lit(None, t).alias(n) for n, t in SOURCE_SCHEMA.items() if n not in columns]
    return (
        columns.with_columns(missing)
        .with_columns(pl.lit(str(path)).alias("file"))
        .select(pl.col(name).cast(dtype) for name, dtype in SOURCE_SCHEMA.items())
    )


def select_relations(source: Source, relations: Sequence[str]) -> Source:
    """Return the rows of these relations, and those of which the relation is not known."""
    name = pl.col("relation").str.strip_chars()
    is_known = name.is_not_null() & (name != "") & pl.col("problem").is_null()
    return Source(source.rows.filter(~is_known | name.is_in(list(relations))), source.left_out)


def clean_rows(source: Source) -> Source:
    """Return the rows with tidy names, outer white space removed, and the marks as booleans.

    Raises:
        InputError: rows are wrong; the message counts them and names the first ones.
    """
    filled = list_filled(source.rows)
    names = (tidy_names(source.rows[name]) for name in ("head", "tail", *ALIASES) if name in filled)
    rows = source.rows.with_columns(names)
    stripped = rows.with_columns(pl.col(_list_padded(rows, filled)).str.strip_chars())
    ids = [name for name in ("head_id", "tail_id") if name in filled]
    emptied = stripped.with_columns(pl.col(ids).replace("", None))
    parts = (emptied.clear(), *emptied.iter_slices(ROWS_AT_ONCE))
    checked = (part.with_columns(problem=_find_problem()) for part in parts)
    wrong = pl.concat([part.filter(pl.col("problem").is_not_null()) for part in checked])
    if not wrong.is_empty():
        placed = wrong.with_columns(place=_show_place()).sort("file", "row", "place", maintain_order=True)
        problems = placed.unique("place", keep="first", maintain_order=True)
        messages = problems.select(pl.format("{}: {}", "place", "problem")).to_series()
        raise InputError(describe_problems(messages.to_list()))
    is_marked = (
        (pl.col(name).str.to_lowercase() == "true").fill_null(value=False)
        if name in filled
        else pl.lit(value=False).alias(name)
        for name in MARKS
    )
    return Source(emptied.with_columns(is_marked), source.left_out)


def _list_padded(rows: pl.DataFrame, filled: Sequence[str]) -> list[str]:
    """Return the columns in which a text has outer white space. All others need not be copied."""
    names = [name for name in _TEXT if name in filled]
    is_padded = [(pl.col(name) != pl.col(name).str.strip_chars()).any() for name in names]
    parts = [part.select(is_padded) for part in (rows.clear(), *rows.iter_slices(ROWS_AT_ONCE))]
    found = pl.concat(parts).select(pl.all().any())
    return [name for name in names if found[name].item()]


def _find_problem() -> pl.Expr:
    """Return an expression for the first problem of a row, or null."""
    return pl.coalesce(
        pl.col("problem"),
        *(_check_name(column) for column in ("relation", "head", "tail")),
        pl.when(~pl.col("relation").str.contains(r"^[A-Za-z0-9][A-Za-z0-9_-]*$")).then(
            pl.format("relation '{}' cannot name a file: use a to z, digits, _ and -", pl.col("relation"))
        ),
        *(_check_mark(column) for column in MARKS),
        *(_check_aliases(column) for column in ALIASES),
        pl.when(pl.col("since").str.contains(r"[^A-Za-z0-9._-]")).then(
            pl.format("since is '{}': use letters, digits, '.', _ and -", pl.col("since"))
        ),
        pl.when(pl.sum_horizontal(pl.col(MARKS).str.to_lowercase() == "true") > 1).then(
            pl.lit(f"has more than one of the marks {', '.join(MARKS)}: keep one")
        ),
    )


def _check_mark(column: str) -> pl.Expr:
    return pl.when(~pl.col(column).fill_null("").str.to_lowercase().is_in(["", "true", "false"])).then(
        pl.format("{} is '{}': write true or false, or leave it empty", pl.lit(column), pl.col(column))
    )


def _check_name(column: str) -> pl.Expr:
    name = pl.col(column)
    return (
        pl.when(name.is_null() | (name == ""))
        .then(pl.lit(f"the {column} is empty: name it or delete the row"))
        .when(name.str.contains(f"^[{INVISIBLE}{BLANK}\\s]*$"))
        .then(pl.lit(f"the {column} has only characters that nobody sees: name it or delete the row"))
        .when(name.str.contains(r"[\p{Cc}\p{Zl}\p{Zp}]"))
        .then(pl.lit(f"the {column} contains a line break or a control character: remove it{SPLIT}"))
    )


def _check_aliases(column: str) -> pl.Expr:
    return pl.when(pl.col(column).str.contains(r"[\p{Cc}\p{Zl}\p{Zp}]")).then(
        pl.lit(f"{column} contains a line break or a control character: remove it")
    )


def _show_place() -> pl.Expr:
    """Return an expression for the place of a wrong row; without a number, its cells."""
    cells = (pl.col(name).fill_null("nothing") for name in ("head", "relation", "tail"))
    return pl.when(pl.col("row").is_null()).then(pl.format("{}, {} {} {}", PLACE, *cells)).otherwise(PLACE)


def describe_problems(problems: Sequence[str]) -> str:
    """Return one message with the number of problems, one per wrong row, and the first of them."""
    if len(problems) == 1:
        return problems[0]
    shown = problems[:N_SHOWN]
    rest = [f"and {len(problems) - N_SHOWN} more"] if len(problems) > N_SHOWN else []
    return "\n  ".join([f"{len(problems)} wrong rows:", *shown, *rest])


def build_base(name: str, source: Source, outweighed: pl.DataFrame | None = None) -> KnowledgeBase:
    """Return the knowledge base of clean rows, sorted. Repeated rows are left out and listed.

    A triplet that appears both with and without ``also_true`` is tested.

    Args:
        outweighed: further rows that are left out, with the columns of ``LEFT_OUT_ROWS``.
    """
    is_false = pl.col("also_false")
    rows = mark_tested(source.rows.filter(~is_false))
    triplets, repeated = sort_triplets(rows)
    unused = _name_reasons(repeated).select(LEFT_OUT_ROWS)
    unused = unused if outweighed is None else pl.concat([outweighed, unused])
    n_unused = unused.group_by("reason").len().filter(pl.col("len") > MAX_LISTED).sort("reason")
    false_rows = source.rows.filter(is_false).select(list(FALSE_COLUMNS)).unique()
    return KnowledgeBase(
        name,
        triplets,
        (*source.left_out, *_list_rows(unused)),
        false_rows.sort(pl.all(), nulls_last=True),
        {reason: n - MAX_LISTED for reason, n in n_unused.iter_rows()},
    )


def _name_reasons(rows: pl.DataFrame) -> pl.DataFrame:
    """Return rows that are left out, with the reason."""
    reason = (
        pl.when(pl.col("also_true") & pl.col("is_tested"))
        .then(pl.lit("marked also_true, but a row under test says the same"))
        .otherwise(pl.lit(REPEATED))
    )
    return rows.with_columns(reason.alias("reason"))


def _list_rows(rows: pl.DataFrame) -> list[LeftOut]:
    """Return the first rows of each reason, in the order of the source; those of a query in that of text."""
    what = pl.format("{}: {} → {}", "relation", "head", "tail")
    listed = (
        rows.select("file", "row", "reason", what=what)
        .sort("file", "row", pl.when(pl.col("row").is_null()).then("what"), maintain_order=True)
        .filter(pl.int_range(pl.len()).over("reason") < MAX_LISTED)
        .select(SHORT_PLACE, "what", "reason")
    )
    return [LeftOut(*row) for row in listed.iter_rows()]
