"""Readers of tables (delimited text, workbooks, JSON, Parquet), and of triplets in one such file or a folder.

The columns of triplets are head, relation and tail, and optionally head_id, tail_id, the marks also_true,
also_false and undecided (true or false), head_aliases and tail_aliases (names joined by ||, or a list if the
file format has lists). Other columns, such as source, are ignored. A head or a tail may be a list: a row per
name is returned.
"""

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, islice
from pathlib import Path

import polars as pl

from pretexeval.config.tables import LayoutConfig
from pretexeval.knowledge.base import LeftOut
from pretexeval.knowledge.files import (
    NO_HEADER,
    RDF,
    TRIPLET,
    WORKBOOKS,
    Rows,
    describe_query,
    find_columns,
    fold_column,
    parse_json,
    quote_column,
    read_records,
    read_sheets,
    read_text,
    unnest,
)
from pretexeval.knowledge.names import fold_name
from pretexeval.knowledge.rows import (
    ALIAS_SEPARATOR,
    ALIASES,
    INDEXED,
    MARKS,
    Source,
    build_source_rows,
    describe_problems,
)
from pretexeval.primitives.errors import InputError
from pretexeval.primitives.literal_paths import list_parquet_columns, read_parquet
from pretexeval.primitives.untrusted_text import replace_surrogates

PLAIN = LayoutConfig()
DELIMITERS = ",;\t|"
N_TITLES = 50
"""The first rows of a table, in which its header is looked for."""
OPTIONAL = ("head_id", "tail_id", *MARKS, *ALIASES)
LISTS = ("head", "tail", "head_id", "tail_id", *ALIASES, "options")
"""Columns that may hold lists of texts: aliases are joined by ALIAS_SEPARATOR, others become rows."""
_NOT = r"(?i)(?:^|\|)\s*(?:not\b.*|(?:neg|negated|negative|absent|excluded|denied)\s*)$"
_NEGATED = rf"{_NOT}|^\s*(?:true|yes|[tyx]|1(?:\.0+)?)\s*$"
_FALSE = r"(?i)^\s*(?:false|-?0(?:\.0+)?|-1(?:\.0+)?)\s*$"
DENIALS = {
    **dict.fromkeys(("negated", "is_negated", "negation", "qualifier"), _NEGATED),
    **dict.fromkeys(("polarity", "is_true"), rf"{_NOT}|{_FALSE}|^\s*(?:no|[fn-])\s*$"),
    "label": _FALSE,
}
"""Columns of public bases, such as HPO's, that make a row false -> the pattern of their values that do so."""
IN_FOLDERS = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet")
"""Extensions of the tables in a folder. Files of other kinds are named by themselves."""
REMEDIES = {
    r"numbers|gsheet": "save it as .xlsx",
    r"owl|ttl|rdf|nt|n3|nq|trig|jsonld": RDF,
    r"xml|html?": "convert it into CSV or JSON, which a query can read",
    r"zip|gz|7z|tar|bz2|xz|rar": "unpack it, and set path to its table",
    r"db|sqlite.?|duckdb": "export the table as CSV",
}
"""The next step by the extension of a file that is no table."""
Find = Callable[[Sequence[str]], dict[str, str]]
"""Returns column -> its name among those of a file; raises InputError if a required one is missing."""


def read_tables(path: Path, layout: LayoutConfig = PLAIN) -> Source:
    """Return the unchecked rows of a table, or of all tables in a folder.

    Raises:
        InputError: there is no table, or a table cannot be read.
    """
    if not path.is_dir():
        return Source(build_source_rows(path, read_table(path, layout=layout)), _list_unread(path, layout))
    files = sorted(p for p in path.iterdir() if p.is_file() and not p.name.startswith("."))
    tables = [p for p in files if _find_extension(p) in IN_FOLDERS]
    if not tables:
        kinds = Counter(_find_extension(p) for p in files if p.suffix)
        kind = max(kinds, key=lambda each: kinds[each], default=".tsv")
        end = ".gz" if any(p.name.lower().endswith(f"{kind}.gz") for p in files) else ""
        source = f"{'read_json' if kind == '.json' else 'read_csv'}($path || '/*{kind}{end}')"
        raise InputError(
            f"{path} holds no table of triplets; allowed: {', '.join(IN_FOLDERS)}; set path to a file, or "
            "read the folder with " + describe_query(source)
        )
    others = (str(replace_surrogates(p.name)) for p in files if p not in tables)
    skipped = (LeftOut(name, "file", f"not one of {', '.join(IN_FOLDERS)}") for name in others)
    rows = (build_source_rows(p, read_table(p, layout=layout)) for p in tables)
    return Source(pl.concat(rows), tuple(skipped))


def read_table(
    path: Path,
    required: Sequence[str] = TRIPLET,
    optional: Sequence[str] = OPTIONAL,
    layout: LayoutConfig = PLAIN,
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
    if path.stat().st_size == 0:
        raise InputError(f"{path} is empty: fill it or remove it")
    rows = reader(path, _name_columns(path, required, optional, layout), layout.encoding)
    rows = rows.with_columns(problem=pl.coalesce("problem", find_denied(rows.columns)))
    absent = [name for name in required if name not in rows.columns]
    values = (pl.lit(layout.relation if name == "relation" else None, pl.String) for name in absent)
    return split_lists(rows.with_columns(**dict(zip(absent, values, strict=True))), layout.separators)


def read_name_table(path: Path, required: Sequence[str], optional: Sequence[str] = ()) -> pl.DataFrame:
    """Return the named columns of a table as text, with row (number), place (for messages) and problem.

    Raises:
        InputError: the file cannot be read, has no rows or lacks a column, or a row is broken or lacks a
            required name; the message names it.
    """
    rows = read_table(path, required, optional)
    numbered = "row index {}" if re.search(INDEXED, path.name) else "line {}"
    rows = rows.with_columns(pl.format(numbered, "row").alias("place"))
    if rows.is_empty():
        raise InputError(f"{path} holds no rows: fill it or name another file")
    wrong: list[str] = []
    for row in rows.iter_rows(named=True):
        empty = [name for name in required if not fold_name(row[name] or "")]
        problems = [row["problem"], *(f"the {name} is empty: write it or delete the row" for name in empty)]
        wrong += [f"{path}, {row['place']}: {problem}" for problem in problems if problem][:1]
    if wrong:
        raise InputError(describe_problems(wrong))
    return rows


def _name_columns(path: Path, required: Sequence[str], optional: Sequence[str], layout: LayoutConfig) -> Find:
    named = layout.columns
    read = {fold_column(name) for name in named.values()}
    optional = (*optional, *named, *(name for name in DENIALS if name not in read))
    return partial(find_columns, path, required=required, optional=optional, named=named)


def find_denied(columns: Sequence[str]) -> pl.Expr:
    """Return an expression for the problem of rows that a column of DENIALS makes false, or null."""
    return pl.coalesce(pl.lit(None, pl.String), *(_find_denied(name) for name in DENIALS if name in columns))


def _find_denied(column: str) -> pl.Expr:
    value, is_mark = pl.col(column), DENIALS[column] == _NEGATED
    problem = f"{column} is '{{}}', so the row is false: delete it, or "
    by_query = f"read the file with a query (format = 'sql') that selects {column} = '{{}}' as also_false"
    by_layout = f"set also_false = '{column}' in layout of [knowledge] (in a query: {column} as also_false)"
    remedy = (
        pl.when(is_mark & (value.str.to_lowercase() == "true"))
        .then(pl.format(problem + by_layout, value))
        .otherwise(pl.format(problem + by_query, value, value))
    )
    return pl.when(value.str.contains(DENIALS[column])).then(remedy)


def _find_extension(path: Path) -> str:
    """Return the extension of a file in small letters, without .gz."""
    return Path(path.name.lower().removesuffix(".gz")).suffix


def _read_delimited(path: Path, find: Find, encoding: str) -> pl.DataFrame:
    """Return the columns of a text. Blank lines are skipped, and comments below a header that is one."""
    text = read_text(path, encoding)
    records = _iterate_records(path, text, _find_delimiter(text, find))
    first = list(islice(records, N_TITLES)) or [(1, [])]
    start = _find_header(first, find) or 0
    rest: Iterator[tuple[int, list[str]]] = chain(first[start + 1 :], records)
    rest = (row for row in rest if not _is_rule(row[1]))
    if (header := first[start][1]) and header[0].startswith("#"):
        rest = (row for row in rest if not row[1][0].startswith("#"))
    return _select_cells(header, rest, find)


def _is_rule(cells: Sequence[str]) -> bool:
    """Return whether a row is the line below the header of a Markdown table."""
    return all(re.fullmatch(r"\s*(:?-{3,}:?)?\s*", cell) for cell in cells)


def _find_header(rows: Rows, find: Find) -> int | None:
    """Return the index of the first of these rows that has the columns: titles and notes may be above it."""
    return next((n for n, (_, cells) in enumerate(rows[:N_TITLES]) if _is_header(cells, find)), None)


def _is_header(cells: Sequence[str], find: Find) -> bool:
    try:
        return bool(find(cells))
    except InputError:
        return False


def _select_cells(header: list[str], records: Iterable[tuple[int, list[str]]], find: Find) -> pl.DataFrame:
    """Return the columns of the header, with `row` and `problem`."""
    names, width = find(header), len(header)
    places = [header.index(found) for found in names.values()]
    # Columns that are named head and tail may hold these names: the head is a part of the body.
    same = ("head", "tail") if fold_column(names.get("head", "")) == "head" else ("head",)
    repeated = [header.index(names[end]) for end in same if end in names]

    def describe_width(n_fields: int) -> str:
        return f"has {n_fields} fields where the header has {width}: fix the separators or the quotes"

    def find_problem(record: list[str], *, is_filled: bool) -> str | None:
        if len(record) < width or is_filled:
            return describe_width(len(record))
        if repeated and all(record[place] == header[place] for place in repeated):
            return f"repeats {header[repeated[0]]!r} of the header: delete it, or, {NO_HEADER}"
        return None

    # Only the named cells are kept, because a file may have millions of rows with many columns.
    rows: list[tuple[str | int | None, ...]] = []
    widths, trailing = Counter[int](), dict[int, int]()
    for line, record in records:
        is_filled = any(map(str.strip, record[width:]))
        if not is_filled:
            widths[len(record)] += 1
            if len(record) > width:
                trailing[len(rows)] = len(record)
        # A record of another width is padded.
        cells = record + [""] * width
        rows.append((*(cells[place] for place in places), line, find_problem(record, is_filled=is_filled)))
    # If most rows end with separators, as many empty fields are no cells. In another row they are a shift.
    usual = max(widths, key=lambda n: widths[n], default=width)
    for number, n_fields in trailing.items():
        if n_fields != usual:
            rows[number] = (*rows[number][:-1], describe_width(n_fields))
    schema = {**dict.fromkeys(names, pl.String), "row": pl.Int64, "problem": pl.String}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _find_delimiter(text: str, find: Find) -> str:
    """Return the delimiter of a line that is a header, or else the first line's most frequent."""
    lines = list(islice(filter(str.strip, io.StringIO(text)), N_TITLES)) or [""]

    def rank(delimiter: str) -> tuple[bool, int]:
        rows = ([_unquote(cell.strip()) for cell in line.split(delimiter)] for line in lines)
        return any(_is_header(cells, find) for cells in rows), lines[0].count(delimiter)

    return max(DELIMITERS, key=rank)


def _iterate_records(path: Path, text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the line on which each record starts and its fields. Empty records are skipped."""
    # Most tab-separated files do not use quoting, and names may contain quotation marks: see _unquote.
    is_plain = delimiter == "\t"
    reader = csv.reader(
        io.StringIO(text, newline=""),
        delimiter=delimiter,
        quoting=csv.QUOTE_NONE if is_plain else csv.QUOTE_MINIMAL,
        strict=True,
    )
    line = 1
    try:
        for record in reader:
            if any(map(str.strip, record)):
                yield line, [_unquote(cell) for cell in record] if is_plain else record
            line = reader.line_num + 1
    except csv.Error as error:
        reason = (
            f"{error}: a quotation mark is misplaced or left open (inside a quoted field, write it twice)"
        )
        if str(error).startswith("field larger than"):
            advice = "" if is_plain else ", or close a quotation mark that is left open"
            reason = f"a field has more than {csv.field_size_limit():,} characters: shorten it{advice}"
        raise InputError(f"{path}, line {line}: {reason}") from error


def _unquote(cell: str) -> str:
    """Return the cell without the quotes that a spreadsheet put around it. Other quotes stay."""
    if not cell.startswith('"'):
        return cell
    inner = cell[1:-1]
    is_quoted = len(cell) > 1 and cell[-1] == '"' and '"' not in inner.replace('""', "")
    return inner.replace('""', '"') if is_quoted else cell


def _read_json(path: Path, find: Find, encoding: str) -> pl.DataFrame:
    """One row per object, with its line or index. A value that is no object gets a problem."""
    records = list(read_records(path, encoding, partial(_is_header, find=find)))
    found = list(dict.fromkeys(key for _, record, _ in records for key in record))
    nested = [key for key in found if any(_is_nested(record.get(key)) for _, record, _ in records)]
    if nested and not _is_header(found, find):
        raise InputError(
            f"{path} has no column for each end of a fact: {_describe_nested(path, encoding, nested[0])}"
        )
    names = find(found) if found else {}
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


def _is_nested(value: object) -> bool:
    """Return whether a value is a list of objects."""
    return isinstance(value, list) and any(isinstance(each, dict) for each in value)


def _describe_nested(path: Path, encoding: str, column: str) -> str:
    """Return how a query reads the lists of objects in this column, as the end of a message."""
    source = "read_json($path)"
    try:
        whole = parse_json(read_text(path, encoding))
    except (ValueError, RecursionError):
        whole = None
    if isinstance(whole, dict) and column not in whole:
        # The only list in it holds the rows.
        (rows,) = (key for key, value in whole.items() if isinstance(value, list))
        source = f"(select unnest({quote_column(rows)}, max_depth := 2) from {source})"
    return f"its objects hold lists of objects: read them with {describe_query(unnest(source, column))}"


def _read_workbook(path: Path, find: Find, encoding: str) -> pl.DataFrame:
    (_, header), *rows = _find_sheet(path, find)[1]
    return _select_cells(header, rows, find)


def _find_sheet(path: Path, find: Find) -> tuple[str, Rows, list[str]]:
    """Return the first sheet with a header, its rows from the header on, and the sheets that are not read.

    Raises:
        InputError: no row is a header; the message names the cells of the fullest one.
    """
    sheets = {name: rows for name, rows in read_sheets(path).items() if rows}
    for name, rows in sheets.items():
        if (start := _find_header(rows, find)) is not None:
            return name, rows[start:], [other for other in sheets if other != name]
    firsts = (header for rows in sheets.values() for _, header in rows[:N_TITLES])
    fullest = max(firsts, key=lambda header: sum(map(bool, header)), default=[])
    find([name for name in fullest if name])
    return "", [(1, fullest)], []


def _list_unread(path: Path, layout: LayoutConfig) -> tuple[LeftOut, ...]:
    """Return the sheets of a workbook that are not read."""
    if _find_extension(path) not in WORKBOOKS:
        return ()
    chosen, _, others = _find_sheet(path, _name_columns(path, TRIPLET, OPTIONAL, layout))
    reason = f"only {chosen!r} is read, the first sheet with the columns of facts: move the right one forward"
    return tuple(LeftOut(name, "sheet", reason) for name in others)


def _read_parquet(path: Path, find: Find, encoding: str) -> pl.DataFrame:
    try:
        names = find(list_parquet_columns(path))
        rows = read_parquet(path, list(names.values()))
    except (OSError, pl.exceptions.PolarsError) as error:
        cause = str(error).splitlines()[0]
        raise InputError(f"{path} cannot be read as Parquet: {cause}") from error
    named = rows.select(pl.col(found).alias(name) for name, found in names.items())
    return store_as_text(path, named).with_row_index("row").with_columns(problem=pl.lit(None, pl.String))


def store_as_text(path: Path, frame: pl.DataFrame) -> pl.DataFrame:
    """Return typed columns as text: ids may be integers, marks booleans, and LISTS lists of these.

    Raises:
        InputError: a column is of another type.
    """
    lists = [name for name in (*ALIASES, *DENIALS) if frame.schema.get(name) == pl.List(pl.String)]
    frame = frame.with_columns(pl.col(lists).list.join(ALIAS_SEPARATOR, ignore_nulls=True))
    # A query selects what it means; in a file, such columns may hold anything.
    denials = [name for name in DENIALS if name in frame.columns]
    frame = frame.drop(name for name in denials if frame.schema[name].is_nested())
    frame = frame.cast({name: pl.String for name in denials if name in frame.columns})
    for found, dtype in frame.schema.items():
        name = found.partition(" ")[0]
        inner = dtype.inner if isinstance(dtype, pl.List) and name in LISTS else dtype
        is_id = (name == "id" or name.endswith("_id")) and inner.is_integer()
        is_mark = name in MARKS and inner == pl.Boolean
        if not (is_id or is_mark) and inner not in (pl.String, pl.Categorical, pl.Enum, pl.Null):
            source = "read_json($path)" if ".json" in path.name.lower() else "read_parquet($path)"
            source = unnest(source, "symptoms") if isinstance(dtype, pl.List) else source
            files = f"; if path is a folder, write $path || '/*{path.suffix}'"
            advice = f", or read it with {describe_query(source)}{files}" if dtype.is_nested() else ""
            if isinstance(dtype, pl.Struct):
                advice += f"; {found}.{dtype.fields[0].name} is a field of it"
            raise InputError(f"{path}: column {found} is of type {dtype}: store it as text{advice}")
    is_list = {name: isinstance(dtype, pl.List) for name, dtype in frame.schema.items()}
    return frame.cast({name: pl.List(pl.String) if is_list[name] else pl.String for name in is_list})


def split_lists(rows: pl.DataFrame, split: Mapping[str, str]) -> pl.DataFrame:
    """Return a row per head and tail of cells that are lists. Their ids are split in the same way.

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
        filled = texts.fill_null("")
        texts = pl.concat_list(filled) if separator is None else filled.str.split(separator)
    return texts.fill_null([""]).list.eval(pl.element().fill_null("").str.strip_chars())


READERS: dict[str, Callable[[Path, Find, str], pl.DataFrame]] = {
    **dict.fromkeys((".csv", ".tsv", ".txt"), _read_delimited),
    **dict.fromkeys(WORKBOOKS, _read_workbook),
    **dict.fromkeys((".jsonl", ".ndjson", ".json"), _read_json),
    ".parquet": _read_parquet,
}
