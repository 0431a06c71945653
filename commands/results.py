"""The subcommands that read results from the warehouse: sql and compare."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from commands.arguments import Subcommands, add_command, add_root, read_share, write_output
from pretexeval.primitives.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

    from warehouse.query import ColumnOf

FORMAT_OF = {".csv": "csv", ".json": "json", ".md": "markdown", ".parquet": "parquet", ".txt": "table"}
"""Ending of a file -> the format in which it is written."""
MEASURES = ("mastery", "average_accuracy", "joint_accuracy")


def add_commands(subcommands: Subcommands) -> None:
    """Add this module's subcommands."""
    _add_sql(subcommands)
    _add_compare(subcommands)


def _add_sql(subcommands: Subcommands) -> None:
    summary = "Query the warehouse; without a query, list its tables, views and columns."
    examples = [
        "",
        "--describe leaderboard",
        "--papers seed1",
        '"from leaderboard"',
        '"from missed_points limit 20" --format csv',
        '"from prediction_details" --output predictions.parquet',
    ]
    parser = add_command(subcommands, "sql", query, summary, examples)
    parser.add_argument("query", nargs="?", help='a query in SQL, for example "from leaderboard"')
    add_root(parser)
    parser.add_argument("--describe", metavar="NAME", help="list the columns of this table or view only")
    parser.add_argument(
        "--papers",
        metavar="EDITION",
        help="print the results of an edition as in the tables of the papers: methods, components, "
        "transformations, facets; its id, the start of it, or its label",
    )
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
    if sum(each is not None for each in (options.query, options.describe, options.papers)) > 1:
        raise InputError("a query, --describe and --papers exclude each other; give one of them")
    if path is not None and path.exists():
        raise InputError(f"{path} exists already: delete it, or give --output another name")
    if options.papers is not None:
        if form != "table":
            raise InputError("--papers prints tables for people; query the views for other formats")
        text = _render_papers(options.root, options.papers)
    elif form == "parquet":
        _write_parquet(_read_table(options), path)
        return 0
    else:
        text = _render(options, form)
    if path is None:
        write_output(text)
    else:
        from pretexeval.storage.files import write_bytes

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


def _render_papers(root: Path, edition: str) -> str:
    from report.paper_tables import render_all_tables
    from warehouse.query import open_warehouse
    from warehouse.selection import find_edition

    with open_warehouse(root) as connection:
        edition_id = find_edition(connection, edition)
    return render_all_tables(root, edition_id)


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

    from pretexeval.storage.files import write_atomically
    from report.console import require_distinct

    require_distinct(table.column_names)
    try:
        with write_atomically(path) as aside:
            pq.write_table(table, aside, compression="zstd")
    except pa.ArrowNotImplementedError as error:
        raise InputError(
            f"{path} was not written: Parquet has no type for a column ({error}); cast it, as in "
            "`select cast(a as varchar) as a`"
        ) from error


def _add_compare(subcommands: Subcommands) -> None:
    summary = "Compare two models on the same pairs of an edition; in CI, fail if the second is worse."
    examples = [
        "reference-small reference-large",
        "old new --edition seed1 --measure average_accuracy --format json",
        "old new --margin 0.02 --fail-on-regression",
    ]
    parser = add_command(subcommands, "compare", compare, summary, examples)
    parser.add_argument("first", metavar="MODEL", help="the model to compare with: its name, or its id")
    parser.add_argument("second", metavar="MODEL", help="the model that may be worse or better")
    parser.add_argument(
        "--edition", help="its id, the start of it, or its label (default: the only one with evaluations)"
    )
    add_root(parser)
    parser.add_argument("--measure", choices=MEASURES, default=MEASURES[0], help=f"(default: {MEASURES[0]})")
    parser.add_argument(
        "--margin",
        type=read_share,
        default=0.0,
        metavar="SHARE",
        help="how much lower the second score may be: 0.02 is 2 points (default: 0)",
    )
    parser.add_argument("--method", help="(default: the first that both were asked by)")
    parser.add_argument("--policy", help="(default: the first that both have)")
    parser.add_argument(
        "--allow-other-style",
        action="store_true",
        help="compare although the prompts of one were completions and those of the other chats",
    )
    parser.add_argument(
        "--fail-on-regression",
        action="store_true",
        help="end with status 1 if the 95 %% interval says that the second is worse by more than --margin",
    )
    parser.add_argument("--format", choices=("text", "json"), default="text")
    parser.add_argument(
        "--output", type=Path, metavar="FILE", help="write the result to this file, over the one of before"
    )


def compare(options: argparse.Namespace) -> int:
    """Print or write the comparison; the exit status is 1 if a regression is a failure and there is one."""
    from report.difference_texts import render_difference, render_difference_json, write_verdict
    from report.model_difference import ComparisonQuestion, compare_models

    found = compare_models(
        options.root,
        ComparisonQuestion(
            options.first,
            options.second,
            edition=options.edition,
            measure=options.measure,
            margin=options.margin,
            method=options.method,
            policy=options.policy,
            allows_other_style=options.allow_other_style,
        ),
    )
    renderers = {"text": render_difference, "json": render_difference_json}
    text = renderers[options.format](found)
    if options.output is None:
        write_output(text)
    else:
        from pretexeval.storage.files import write_bytes

        write_bytes(options.output, f"{text}\n".encode())
        write_output(write_verdict(found))
    return int(options.fail_on_regression and found.is_regression)
