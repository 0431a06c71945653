"""The subcommand sql, which queries the warehouse and lists what it contains."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from cli.subcommands import Subcommands, add_command, add_root, write_output
from primitives.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

    from warehouse.query import ColumnOf

FORMAT_OF = {".csv": "csv", ".json": "json", ".md": "markdown", ".parquet": "parquet", ".txt": "table"}
"""Ending of a file -> the format in which it is written."""


def add_commands(subcommands: Subcommands) -> None:
    """Add this module's subcommand."""
    summary = "Query the warehouse; without a query, list its tables, views and columns."
    examples = [
        "",
        "--describe leaderboard",
        '"from leaderboard"',
        '"from missed_points limit 20" --format csv',
        '"from prediction_details" --output predictions.parquet',
    ]
    parser = add_command(subcommands, "sql", query, summary, examples)
    parser.add_argument("query", nargs="?", help='a query in SQL, for example "from leaderboard"')
    add_root(parser)
    parser.add_argument("--describe", metavar="NAME", help="list the columns of this table or view only")
    parser.add_argument(
        "--format",
        choices=("table", "csv", "json", "markdown", "parquet"),
        help="default: the one that the ending of --output stands for, or else table",
    )
    parser.add_argument(
        "--output", type=Path, metavar="FILE", help="write the result to this file, which must not exist yet"
    )
    parser.add_argument(
        "--wide", action="store_true", help="show all columns of a table, also those that do not fit"
    )


def query(options: argparse.Namespace) -> int:
    """Print the result of a query, or what the warehouse contains; or write it to a file."""
    form, path = _choose_format(options.format, options.output), options.output
    if options.query is not None and options.describe is not None:
        raise InputError("a query and --describe exclude each other; give one of them")
    if path is not None and path.exists():
        raise InputError(f"{path} exists already: delete it, or give --output another name")
    if form == "parquet":
        _write_parquet(_read_table(options), path)
        return 0
    text = _render(options, form)
    if path is None:
        write_output(text)
    else:
        from storage.files import write_bytes

        write_bytes(path, f"{text}\n".encode())
    return 0


def _choose_format(form: str | None, path: Path | None) -> str:
    if form is None and path is not None:
        form = FORMAT_OF.get(path.suffix.lower())
        if form is None:
            raise InputError(
                f"{path}: its ending names no format; give --format, or one of {', '.join(FORMAT_OF)}"
            )
    if form == "parquet" and path is None:
        raise InputError("a Parquet file cannot be printed: give --output FILE")
    return form or "table"


def _render(options: argparse.Namespace, form: str) -> str:
    from report.console import render_rows
    from warehouse.query import ColumnOf, run_query

    is_wide = options.wide or options.output is not None
    if options.query is not None:
        return render_rows(*run_query(options.root, options.query), form, is_wide=is_wide)
    found = _list_columns(options)
    if form == "table":
        return _render_columns(found)
    return render_rows(ColumnOf._fields, found, form)


def _read_table(options: argparse.Namespace) -> "pa.Table":
    import pyarrow as pa

    from warehouse.query import read_table

    if options.query is not None:
        return read_table(options.root, options.query)
    return pa.Table.from_pylist([row._asdict() for row in _list_columns(options)])


def _list_columns(options: argparse.Namespace) -> "list[ColumnOf]":
    from warehouse.query import list_columns

    found = list_columns(options.root)
    if options.describe is None:
        return found
    chosen = [row for row in found if row.name == options.describe]
    if not chosen:
        from difflib import get_close_matches

        near = get_close_matches(options.describe, {row.name for row in found})
        hint = f"did you mean {' or '.join(near)}?" if near else "`pretexeval sql` lists all of them"
        raise InputError(f"the warehouse has no table or view {options.describe!r}; {hint}")
    return chosen


def _render_columns(found: "list[ColumnOf]") -> str:
    """Return a paragraph per table or view: its name and meaning, then a line per column."""
    paragraphs: dict[str, list[str]] = {}
    widths = [max((len(row[k] or "") for row in found), default=0) for k in (3, 4)]
    for row in found:
        meaning = f": {row.meaning}" if row.meaning else ""
        lines = paragraphs.setdefault(row.name, [f"{row.kind} {row.name}{meaning}"])
        cells = f"  {row.column:<{widths[0]}}  {row.type:<{widths[1]}}  {row.column_meaning or ''}"
        lines.append(cells.rstrip())
    return "\n\n".join("\n".join(lines) for lines in paragraphs.values())


def _write_parquet(table: "pa.Table", path: Path) -> None:
    """Write a table atomically.

    Raises:
        InputError: Parquet has no type for a column, or two columns have one name.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    from report.console import require_distinct
    from storage.files import write_atomically

    require_distinct(table.column_names)
    try:
        with write_atomically(path) as aside:
            pq.write_table(table, aside, compression="zstd")
    except pa.ArrowNotImplementedError as error:
        raise InputError(
            f"{path} was not written: Parquet has no type for a column ({error}); cast it, as in "
            "`select cast(a as varchar) as a`"
        ) from error
