"""Readers of tables (delimited text, workbooks, JSON, Parquet), and of triplets in one such file or a folder.

The columns of triplets are head, relation and tail, and optionally head_id, tail_id, also_true and also_false
(true or false), head_aliases and tail_aliases (names joined by ||, or a list if the file format has lists).
Other columns, such as source, are ignored. A head or a tail may be a list: a row per name is returned.
"""

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path

import polars as pl

from pretexeval.knowledge.base import LeftOut
from pretexeval.knowledge.files import (
    TRIPLET,
    describe_query,
    find_columns,
    fold_column,
    read_records,
    read_text,
)
from pretexeval.knowledge.rows import ALIAS_SEPARATOR, ALIASES, MARKS, Source, build_source_rows
from pretexeval.knowledge.workbooks import EXTENSIONS, Rows, read_sheets
from pretexeval.primitives.errors import InputError
from pretexeval.primitives.literal_paths import list_parquet_columns, read_parquet
from pretexeval.primitives.untrusted_text import replace_surrogates

DELIMITERS = ",;\t|"
N_TITLES = 50
"""The first rows of a table, in which its header is looked for."""


@dataclass(frozen=True)
class Layout:
    """The encoding of the files of a base, its own names of columns, and what separates its lists."""

    encoding: str = "utf-8"
    columns: Mapping[str, str] = field(default_factory=dict)
    """Name in the file by column. If the file has no column of the name of relation, it is the relation. What
    is in several columns has further ones: `tail`, `tail 2`, `tail 3`."""
    split: Mapping[str, str] = field(default_factory=dict)
    """What separates the names in a cell, by head and tail."""


PLAIN = Layout()


def read_delimited(
    path: Path, required: Sequence[str], optional: Sequence[str] = (), layout: Layout = PLAIN
) -> pl.DataFrame:
    """Return the named columns as text, with `row` (the line, from 1) and `problem`. Blank lines are skipped.

    Raises:
        InputError: a column is missing, the text has another encoding, or a quotation mark is misplaced.
    """
    text = read_text(path, layout.encoding)
    delimiter = _find_delimiter(text, [layout.columns.get(name, name) for name in required])
    records = _iterate_records(path, text, delimiter)
    first = list(islice(records, N_TITLES)) or [(1, [])]
    start = _find_header(path, first, required, optional, layout) or 0
    names = find_columns(path, first[start][1], required, optional, layout.columns)
    return _select_cells(first[start][1], chain(first[start + 1 :], records), names)


def _find_header(
    path: Path, rows: Rows, required: Sequence[str], optional: Sequence[str], layout: Layout
) -> int | None:
    """Return the index of the first of these rows that has the columns: titles and notes may be above it."""
    for index, (_, header) in enumerate(rows[:N_TITLES]):
        with suppress(InputError):
            if find_columns(path, header, required, optional, layout.columns):
                return index
    return None


def _select_cells(
    header: list[str], records: Iterable[tuple[int, list[str]]], names: Mapping[str, str]
) -> pl.DataFrame:
    """Return the columns that have these names in the header, with `row` and `problem`."""
    places = [header.index(found) for found in names.values()]
    # A record of another width is padded, and has a problem.
    padding = [""] * len(header)
    rows = [
        (*((record + padding)[place] for place in places), line, _check_width(len(record), len(header)))
        for line, record in records
    ]
    schema = {**dict.fromkeys(names, pl.String), "row": pl.Int64, "problem": pl.String}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _check_width(found: int, expected: int) -> str | None:
    wrong = f"has {found} fields where the header has {expected}: fix the separators or the quotes"
    return None if found == expected else wrong


def _find_delimiter(text: str, names: Iterable[str]) -> str:
    """Return the delimiter between most of the names in a line, or else the first line's most frequent."""
    lines = list(islice(filter(str.strip, io.StringIO(text)), N_TITLES)) or [""]
    wanted = set(map(fold_column, names))

    def count(delimiter: str) -> tuple[int, int]:
        rows = [line.split(delimiter) for line in lines]
        n_wanted = (len(wanted & {fold_column(_unquote(cell.strip())) for cell in row}) for row in rows)
        return max(n_wanted), len(rows[0])

    return max(DELIMITERS, key=count)


def _iterate_records(path: Path, text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the line on which each record starts and its fields. Empty records are skipped."""
    lines = io.StringIO(text, newline="")
    if delimiter == "\t":
        # Most tab-separated files do not use quoting, and names may contain quotation marks: see _unquote.
        reader = csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
    else:
        reader = csv.reader(lines, delimiter=delimiter, strict=True)
    line = 1
    try:
        for record in reader:
            if any(map(str.strip, record)):
                yield line, [_unquote(c) for c in record] if delimiter == "\t" else record
            line = reader.line_num + 1
    except csv.Error as error:
        raise InputError(f"{path}, line {line}: {_describe_error(error, delimiter)}") from error


def _describe_error(error: csv.Error, delimiter: str) -> str:
    if not str(error).startswith("field larger than"):
        return f"{error}: a quotation mark is misplaced or left open (inside a quoted field, write it twice)"
    advice = "" if delimiter == "\t" else ", or close a quotation mark that is left open"
    return f"a field has more than {csv.field_size_limit():,} characters: shorten it{advice}"


def _unquote(cell: str) -> str:
    """Return the cell without the quotes that a spreadsheet put around it. Other quotes stay."""
    if not cell.startswith('"'):
        return cell
    inner = cell[1:-1]
    is_quoted = len(cell) > 1 and cell[-1] == '"' and '"' not in inner.replace('""', "")
    return inner.replace('""', '"') if is_quoted else cell


REQUIRED = TRIPLET
OPTIONAL = ("head_id", "tail_id", *MARKS, *ALIASES)
ENDS = ("head", "tail", "head_id", "tail_id")
LISTS = (*ENDS, *ALIASES, "attributes")
"""Columns that may hold lists of texts. Aliases are joined by ALIAS_SEPARATOR, and others become rows."""


IN_FOLDERS = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet")
"""Extensions of the tables in a folder. Files of other kinds are named by themselves."""
REMEDIES = {
    r"numbers|gsheet": "save it as .xlsx",
    r"owl|ttl|rdf|nt": "convert it into OBO, for example with `robot convert`",
    r"zip|gz|7z|tar|bz2|xz|rar": "unpack it, and set path to its table",
    r"db|sqlite.?|duckdb": "export the table as CSV",
}
"""The next step by the extension of a file that is no table."""


def read_tables(path: Path, layout: Layout = PLAIN) -> Source:
    """Return the unchecked rows of a table, or of all tables in a folder.

    Raises:
        InputError: there is no table, or a table cannot be read.
    """
    if not path.is_dir():
        return Source(build_source_rows(path, read_table(path, layout=layout)), _list_unread(path, layout))
    files = sorted(p for p in path.iterdir() if p.is_file() and not p.name.startswith("."))
    tables = [p for p in files if _find_extension(p) in IN_FOLDERS]
    if not tables:
        raise InputError(
            f"{path} holds no table of triplets; allowed: {', '.join(IN_FOLDERS)}; set path to a file, or "
            "read the folder with " + describe_query("read_csv($path || '/*.tsv')")
        )
    others = (str(replace_surrogates(p.name)) for p in files if p not in tables)
    skipped = (LeftOut(name, "file", f"not one of {', '.join(IN_FOLDERS)}") for name in others)
    rows = (build_source_rows(p, read_table(p, layout=layout)) for p in tables)
    return Source(pl.concat(rows), tuple(skipped))


def read_table(
    path: Path,
    required: Sequence[str] = REQUIRED,
    optional: Sequence[str] = OPTIONAL,
    layout: Layout = PLAIN,
) -> pl.DataFrame:
    """Return the named columns of one file as text, with `row` and `problem`. Its extension names its format.

    Raises:
        InputError: the file is no table that can be read, or lacks a required column.
    """
    extension = _find_extension(path)
    if (reader := READERS.get(extension)) is None:
        kind = path.suffix.lower()
        remedies = (text for kinds, text in REMEDIES.items() if re.fullmatch(rf"\.({kinds})", kind))
        remedy = next(remedies, f"if it is text, read it with {describe_query()}")
        raise InputError(
            f"{path} has the extension {path.suffix!r}; a table has one of {', '.join(READERS)}: {remedy}"
        )
    rows = reader(path, required, (*optional, *layout.columns), layout)
    if "relation" in required and "relation" not in rows.columns:
        rows = rows.with_columns(relation=pl.lit(layout.columns["relation"]))
    return split_lists(rows, layout.split)


def split_lists(rows: pl.DataFrame, split: Mapping[str, str]) -> pl.DataFrame:
    """Return a row per head and tail of cells that are lists, whose ids are split likewise.

    Empty names in a list are left out. If a list has no name, or not as many ids, its row stays one row, with
    a problem or an empty name.

    Args:
        split: what separates the names in a text, by head and tail. Columns may also hold lists.
    """
    for end in ("head", "tail"):
        ids = f"{end}_id"
        columns = [name for name in (end, ids) if name in rows.columns]
        parts = {name: [c for c in rows.columns if c == name or c.startswith(f"{name} ")] for name in columns}
        if end not in split and len(parts.get(end, ())) < 2 and rows.schema.get(end) != pl.List(pl.String):
            continue
        lists = [
            pl.concat_list(_list_names(rows, part, split.get(end)) for part in parts[name]).alias(name)
            for name in columns
        ]
        rows = rows.with_columns(lists).drop(part for name in columns for part in parts[name][1:])
        n_names, n_ids = pl.col(end).list.len(), pl.col(columns[-1]).list.len()
        differ = pl.format(f"has {{}} names of the {end} and {{}} {ids}: give each its id", n_names, n_ids)
        rows = rows.with_columns(
            problem=pl.coalesce("problem", pl.when(n_names != n_ids).then(differ)),
            is_kept=pl.col(end).list.eval(pl.element() == "").list.all(),
            **{name: pl.when(n_names == n_ids).then(name) for name in columns},
        ).explode(columns)
        rows = rows.filter(pl.col("is_kept") | pl.col(end).ne_missing("")).drop("is_kept")
    return rows


def _list_names(rows: pl.DataFrame, column: str, separator: str | None) -> pl.Expr:
    """Return an expression for the texts of a column as lists."""
    texts = pl.col(column)
    if not isinstance(rows.schema[column], pl.List):
        texts = (
            pl.concat_list(texts.fill_null(""))
            if separator is None
            else texts.fill_null("").str.split(separator)
        )
    return texts.fill_null([""]).list.eval(pl.element().fill_null("").str.strip_chars())


def _find_extension(path: Path) -> str:
    """Return the extension of a file in small letters, without .gz."""
    return Path(path.name.lower().removesuffix(".gz")).suffix


def _read_json(path: Path, required: Sequence[str], optional: Sequence[str], layout: Layout) -> pl.DataFrame:
    """One row per object, with its line or index. A value that is no object gets a problem."""
    records = list(read_records(path, layout.encoding))
    found = list(dict.fromkeys(key for _, record, _ in records for key in record))
    names = dict.fromkeys(required, "")
    if found:
        names = find_columns(path, found, required, optional, layout.columns)
    cells = {name: [record.get(key) for _, record, _ in records] for name, key in names.items()}
    for name in cells.keys() & set(LISTS):
        if any(isinstance(cell, list) for cell in cells[name]):
            cells[name] = [cell if isinstance(cell, list) else [cell] for cell in cells[name]]
    frame = pl.DataFrame([pl.Series(name, values, strict=False) for name, values in cells.items()])
    lines, problems = [line for line, *_ in records], [problem for *_, problem in records]
    numbered = pl.DataFrame(
        {"row": lines, "problem": problems}, schema={"row": pl.Int64, "problem": pl.String}
    )
    return numbered.hstack(store_as_text(path, frame).get_columns())


def _read_workbook(
    path: Path, required: Sequence[str], optional: Sequence[str], layout: Layout
) -> pl.DataFrame:
    (_, header), *rows = _find_sheet(path, required, optional, layout)[1]
    return _select_cells(header, rows, find_columns(path, header, required, optional, layout.columns))


def _find_sheet(
    path: Path, required: Sequence[str], optional: Sequence[str], layout: Layout
) -> tuple[str, Rows, list[str]]:
    """Return the first sheet with a header, its rows from the header on, and the sheets that are not read.

    Raises:
        InputError: no row is a header; the message names the cells of the fullest one.
    """
    sheets = {name: rows for name, rows in read_sheets(path).items() if rows}
    for name, rows in sheets.items():
        if (start := _find_header(path, rows, required, optional, layout)) is not None:
            return name, rows[start:], [other for other in sheets if other != name]
    firsts = (header for rows in sheets.values() for _, header in rows[:N_TITLES])
    fullest = max(firsts, key=lambda header: sum(map(bool, header)), default=[])
    find_columns(path, [name for name in fullest if name], required, optional, layout.columns)
    return "", [(1, fullest)], []


def _list_unread(path: Path, layout: Layout) -> tuple[LeftOut, ...]:
    """Return the sheets of a workbook that are not read."""
    if _find_extension(path) not in EXTENSIONS:
        return ()
    chosen, _, others = _find_sheet(path, REQUIRED, (*OPTIONAL, *layout.columns), layout)
    reason = f"only {chosen!r} is read, the first sheet with the columns of facts: move the right one forward"
    return tuple(LeftOut(name, "sheet", reason) for name in others)


def _is_id(name: str) -> bool:
    return name == "id" or name.endswith("_id")


def _read_parquet(
    path: Path, required: Sequence[str], optional: Sequence[str], layout: Layout
) -> pl.DataFrame:
    rows = read_parquet_columns(path, required, optional, layout)
    return store_as_text(path, rows).with_row_index("row").with_columns(problem=pl.lit(None, pl.String))


def store_as_text(path: Path, frame: pl.DataFrame) -> pl.DataFrame:
    """Return typed columns as text: ids may be integers, marks booleans, and LISTS lists of these.

    Raises:
        InputError: a column is of another type.
    """
    lists = [name for name in ALIASES if frame.schema.get(name) == pl.List(pl.String)]
    frame = frame.with_columns(pl.col(lists).list.join(ALIAS_SEPARATOR, ignore_nulls=True))
    for found, dtype in frame.schema.items():
        name = found.partition(" ")[0]
        inner = dtype.inner if isinstance(dtype, pl.List) and name in LISTS else dtype
        is_other = (_is_id(name) and inner.is_integer()) or (name in MARKS and inner == pl.Boolean)
        if not is_other and inner not in (pl.String, pl.Categorical, pl.Enum, pl.Null):
            raise InputError(f"{path}: column {found} is of type {dtype}: store it as text")
    is_list = {name: isinstance(dtype, pl.List) for name, dtype in frame.schema.items()}
    return frame.cast({name: pl.List(pl.String) if is_list[name] else pl.String for name in is_list})


def read_parquet_columns(
    path: Path, required: Sequence[str], optional: Sequence[str] = (), layout: Layout = PLAIN
) -> pl.DataFrame:
    """Return the required columns of a Parquet file, and the optional columns that it has.

    Raises:
        InputError: the file is not Parquet, or a required column is missing.
    """
    try:
        names = find_columns(path, list_parquet_columns(path), required, optional, layout.columns)
        return read_parquet(path, list(names.values())).select(
            pl.col(found).alias(name) for name, found in names.items()
        )
    except (OSError, pl.exceptions.PolarsError) as error:
        cause = str(error).splitlines()[0]
        raise InputError(f"{path} cannot be read as Parquet: {cause}") from error


READERS: dict[str, Callable[[Path, Sequence[str], Sequence[str], Layout], pl.DataFrame]] = {
    **dict.fromkeys((".csv", ".tsv", ".txt"), read_delimited),
    **dict.fromkeys(EXTENSIONS, _read_workbook),
    **dict.fromkeys((".jsonl", ".ndjson", ".json"), _read_json),
    ".parquet": _read_parquet,
}
