"""The raw rows of a source: check them, clean them and build a base from them.

Every reader returns a ``Source``. Wrong rows are reported together in one error, which names the first of
them. Repeated rows are left out and listed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from pretexeval.knowledge.base import COLUMNS, FALSE_COLUMNS, KnowledgeBase, LeftOut
from pretexeval.knowledge.names import BLANK, INVISIBLE, tidy_names
from pretexeval.primitives.errors import InputError

SPLIT = ', or set layout = { split = "\\n" } in [knowledge] if the cell is a list'
ENCODED = 'try layout = { encoding = "cp1252" } in [knowledge]'
CHOOSE = "choose others by relations in [knowledge]"
CONTROL = r"[\p{Cc}\p{Zl}\p{Zp}]"
BLANKS = r"\p{Zs}+"
"""The pattern of blanks, for which the name of a relation has an underscore."""
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
FACT = ("relation", "head", "tail")
_CELLS = ("head", "tail", "head_id", "tail_id")


def list_filled(rows: pl.DataFrame) -> list[str]:
    """Return the columns that have a value. The others need memory only once they are used."""
    n_missing = rows.null_count().row(0, named=True)
    return [name for name in rows.columns if n_missing[name] < rows.height]


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
"""Separator of the aliases in a cell."""
REPEATED = "repeats another row"
SAID = "marked also_true, but a row under test says the same"
NOT_CHOSEN = "relations of [knowledge] does not name the relation"
NO_RELATION = "the relation is empty"
_NO_FILE = "cannot name a file"
_TEXT = ("relation", "head", "tail", "head_id", "tail_id", "since", *MARKS)


@dataclass(frozen=True)
class Source:
    """The result of a reader: rows with ``SOURCE_SCHEMA``, and the parts that it did not read."""

    rows: pl.DataFrame
    left_out: tuple[LeftOut, ...] = ()


def build_source_rows(path: Path, columns: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of one file with ``SOURCE_SCHEMA``. Missing columns are null.

    Raises:
        InputError: the file has no rows.
    """
    if columns.is_empty():
        if path.suffix == ".sql":
            raise InputError(f"{path} selects no rows: compare what it asks for with the values in the base")
        raise InputError(f"{path} holds no rows: fill it or remove it")
    missing = [pl.lit(None, t).alias(n) for n, t in SOURCE_SCHEMA.items() if n not in columns]
    return (
        columns.with_columns(missing)
        .with_columns(
            pl.lit(str(path)).alias("file"),
            relation=pl.col("relation").str.strip_chars().str.replace_all(BLANKS, "_"),
        )
        .select(pl.col(name).cast(dtype) for name, dtype in SOURCE_SCHEMA.items())
    )


def select_relations(source: Source, relations: Sequence[str]) -> Source:
    """Return the rows of these relations, and those with a problem, and count the others as left out."""
    name = pl.col("relation").fill_null("").str.strip_chars()
    is_kept = pl.col("problem").is_not_null() | name.is_in(list(relations))
    others = source.rows.filter(~is_kept).group_by("file", relation=name).agg(n=pl.len())
    counted = (
        LeftOut(Path(file).name, f"{n:,} rows of {relation}", NOT_CHOSEN)
        if relation
        else LeftOut(Path(file).name, f"{n:,} rows", NO_RELATION)
        for file, relation, n in others.sort("file", "relation").iter_rows()
    )
    return Source(source.rows.filter(is_kept), (*source.left_out, *counted))


def clean_rows(source: Source) -> Source:
    """Return the rows with tidy names, outer white space removed, and the marks as booleans.

    Raises:
        InputError: rows are wrong; the message counts them and names the first ones.
    """
    filled = list_filled(source.rows)
    names = (tidy_names(source.rows[name]) for name in ("head", "tail", *ALIASES) if name in filled)
    rows = source.rows.with_columns(names)
    rows = rows.with_columns(pl.col(name).str.strip_chars() for name in _TEXT if name in filled)
    rows = rows.with_columns(pl.col("head_id", "tail_id").replace("", None))
    checked = rows.lazy().with_columns(problem=_find_problem()).filter(pl.col("problem").is_not_null())
    wrong = checked.collect(engine="streaming")
    if not wrong.is_empty():
        # Rows of a query have no number: their cells say which they are.
        cells = (pl.col(name).fill_null("nothing") for name in ("head", "relation", "tail"))
        named = pl.when(pl.col("row").is_null()).then(pl.format("{}, {} {} {}", PLACE, *cells))
        placed = wrong.with_columns(place=named.otherwise(PLACE)).sort(
            "file", "row", "place", maintain_order=True
        )
        problems = placed.unique("place", keep="first", maintain_order=True)
        # The name of a relation is one problem, however many rows have it.
        is_of_name = pl.col("problem").str.contains(_NO_FILE, literal=True)
        is_repeated = is_of_name & pl.col("problem").is_duplicated()
        n_rows = pl.when(is_repeated).then(pl.len().over("problem"))
        counted = problems.with_columns(rows=pl.format(" ({} rows)", n_rows).fill_null(""))
        once = counted.filter(~is_repeated | pl.col("problem").is_first_distinct())
        messages = once.select(pl.format("{}: {}{}", "place", "problem", "rows")).to_series()
        raise InputError(describe_problems(messages.to_list(), problems.height))
    is_marked = (
        (pl.col(name).str.to_lowercase() == "true").fill_null(value=False)
        if name in filled
        else pl.lit(value=False).alias(name)
        for name in MARKS
    )
    return Source(rows.with_columns(is_marked), source.left_out)


def _find_problem() -> pl.Expr:
    """Return an expression for the first problem of a row, or null."""
    return pl.coalesce(
        pl.col("problem"),
        *(_check_name(column) for column in ("relation", "head", "tail")),
        # A file of a relation has a temporary name with about 40 more characters, of at most 255.
        pl.when(~pl.col("relation").str.contains(r"^[A-Za-z0-9][A-Za-z0-9_-]{0,199}$")).then(
            pl.format(
                f"relation '{{}}' {_NO_FILE}: use a to z, digits, _ and -, at most 200 of them (a query can "
                f"rename it: regexp_replace(relation, '[^A-Za-z0-9_-]+', '_', 'g') as relation), or {CHOOSE}",
                pl.col("relation").str.slice(0, 40),
            )
        ),
        *(
            pl.when(~pl.col(mark).fill_null("").str.to_lowercase().is_in(["", "true", "false"])).then(
                pl.format(
                    "{} is '{}': write true or false, leave it empty, or read the file with a query "
                    "(format = \"sql\") that selects <column> = '{}' as {}",
                    *(pl.lit(mark), pl.col(mark), pl.col(mark), pl.lit(mark)),
                )
            )
            for mark in MARKS
        ),
        *(
            pl.when(pl.col(aliases).str.contains(CONTROL)).then(
                pl.lit(f"{aliases} contains a line break or a control character: remove it")
            )
            for aliases in ALIASES
        ),
        pl.when(pl.col("since").str.contains(r"[^A-Za-z0-9._-]")).then(
            pl.format("since is '{}': use letters, digits, '.', _ and -", pl.col("since"))
        ),
        pl.when(pl.sum_horizontal(pl.col(MARKS).str.to_lowercase() == "true") > 1).then(
            pl.lit(f"has more than one of the marks {', '.join(MARKS)}: keep one")
        ),
    )


def _check_name(column: str) -> pl.Expr:
    name = pl.col(column)
    other = f", or {CHOOSE}" if column == "relation" else ""
    row = " (a text has no merged cells: repeat the head in each row)" if column == "head" else ""
    return (
        pl.when(name.is_null() | (name == ""))
        .then(pl.lit(f"the {column} is empty: name it or delete the row{row}{other}"))
        .when(name.str.contains(f"^[{INVISIBLE}{BLANK}\\s]*$"))
        .then(pl.lit(f"the {column} has only characters that nobody sees: name it or delete the row"))
        .when(name.str.contains(r"[\x{80}-\x{9F}]"))
        .then(pl.lit(f"the {column} was read in another encoding: {ENCODED}"))
        .when(name.str.contains(CONTROL))
        .then(pl.lit(f"the {column} contains a line break or a control character: remove it{SPLIT}"))
    )


def describe_problems(problems: Sequence[str], n_rows: int | None = None) -> str:
    """Return one message with the number of wrong rows, and the first problems.

    Args:
        n_rows: the number of wrong rows, if several have the same problem.
    """
    if len(problems) == 1:
        return problems[0]
    shown = problems[:N_SHOWN]
    rest = [f"and {len(problems) - N_SHOWN} more"] if len(problems) > N_SHOWN else []
    return "\n  ".join([f"{n_rows or len(problems)} wrong rows:", *shown, *rest])


def build_base(name: str, source: Source, outweighed: pl.DataFrame | None = None) -> KnowledgeBase:
    """Return the knowledge base of clean rows, sorted. Repeated rows are left out and listed.

    A triplet that appears both with and without ``also_true`` is tested.

    Args:
        outweighed: other rows that are left out, with the columns of ``LEFT_OUT_ROWS``.
    """
    is_false = pl.col("also_false")
    rows = source.rows.filter(~is_false)
    # Keep the first tested row among equal rows.
    cells = rows.select("relation", *_CELLS, "also_true").with_row_index("position")
    ordered = cells.sort("relation", *_CELLS, "also_true", "position", nulls_last=True)
    key = ("relation", *_CELLS)
    is_first = pl.any_horizontal(pl.col(cell).ne_missing(pl.col(cell).shift()) for cell in key)
    marked = ordered.with_columns(
        is_first=is_first | (pl.int_range(pl.len()) == 0),
        is_tested=(~pl.col("also_true")).any().over(FACT),
    )
    triplets = marked.filter("is_first").select(pl.exclude("also_true"), also_true=~pl.col("is_tested"))
    said = pl.when(pl.col("also_true") & pl.col("is_tested")).then(pl.lit(SAID)).otherwise(pl.lit(REPEATED))
    repeated = marked.filter(~pl.col("is_first")).select("position", reason=said).sort("position")
    places = rows.select("file", "row", *FACT)[repeated["position"]]
    unused = places.with_columns(repeated["reason"]).select(LEFT_OUT_ROWS)
    unused = unused if outweighed is None else pl.concat([outweighed, unused])
    false_rows = source.rows.filter(is_false).select(list(FALSE_COLUMNS)).unique()
    base = KnowledgeBase(
        name,
        triplets.select(list(COLUMNS)),
        source.left_out,
        false_rows.sort(pl.all(), nulls_last=True),
    )
    # The order of the source; rows of a query, which have no number, are in the order of text.
    what = pl.format("{}: {} → {}", "relation", "head", "tail")
    listed = unused.select("file", "row", "reason", what=what)
    order = pl.when(pl.col("row").is_null()).then("what")
    listed = listed.sort("file", "row", order, maintain_order=True).select(SHORT_PLACE, "what", "reason")
    return base.add_left_out(LeftOut(*row) for row in listed.iter_rows())
