"""The subcommands that read results from the warehouse: sql and compare."""

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from commands.arguments import (
    Subcommands,
    add_command,
    add_root,
    read_path,
    read_share,
    report_error,
    report_progress,
    write_output,
)
from pretexeval.primitives.errors import InputError, suggest

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT_OF = {".csv": "csv", ".json": "json", ".md": "markdown", ".parquet": "parquet", ".txt": "table"}
"""Ending of a file -> the format in which it is written."""
MEASURES = ("mastery", "average_accuracy", "joint_accuracy")


def add_commands(subcommands: Subcommands) -> None:
    """Add this module's subcommands."""
    _add_sql(subcommands)
    _add_compare(subcommands)


def _add_sql(subcommands: Subcommands) -> None:
    summary = "Query the warehouse; without a query, list its views and tables."
    examples = [
        "",
        "leaderboard",
        "--papers seed1",
        '"from leaderboard"',
        '"from pair_details where not is_mastered limit 20" --format csv',
        '"from prediction_details" --output predictions.parquet',
    ]
    parser = add_command(subcommands, "sql", query, summary, examples)
    parser.add_argument(
        "query",
        nargs="?",
        help='a query in SQL, such as "from leaderboard"; or a view or table, to list its columns',
    )
    add_root(parser)
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
        "--output",
        type=read_path,
        metavar="FILE",
        help="write the result to this file, which must not exist yet",
    )
    parser.add_argument(
        "--wide",
        action="store_true",
        help="show all columns of a table, also those that do not fit the terminal; a pipe gets all of them",
    )


def query(options: argparse.Namespace) -> int:
    """Print the result of a query, or what the warehouse contains; or write it to a file."""
    form, path = _choose_format(options.format, options.output), options.output
    if options.query is not None and options.papers is not None:
        raise InputError("a query and --papers exclude each other; give one of them")
    if path is not None and path.exists():
        raise InputError(f"{path} exists already: delete it, or give --output another name")
    if options.papers is not None:
        if form != "table":
            raise InputError("--papers prints tables for people; query the views for other formats")
        _show(_render_papers(options.root, options.papers), path)
        return 0
    sql = _choose_query(options)
    if form == "parquet":
        from warehouse.query import read_table

        table = read_table(options.root, sql)
        _write_parquet(table, path)
        columns, n_rows = table.column_names, table.num_rows
    else:
        from warehouse.query import run_query

        columns, rows = run_query(options.root, sql)
        _show(_render(columns, rows, form, options), path)
        n_rows = len(rows)
    if path is not None:
        write_output(f"{path}: {n_rows:,} row{'s' * (n_rows != 1)}")
    elif n_rows == 0:
        report_progress("The result has no rows.")
    is_own = options.query == sql and "edition_id" not in columns
    if is_own and (pooled := list_pooled_editions(options.root, sql)):
        report_progress(
            f"The warehouse holds {len(pooled)} editions, and no column says of which the rows are. Add "
            f"edition_id to the columns, or choose an edition: where edition_id = '{pooled[-1]}'"
        )
    for message in describe_missing_editions(options.root, sql):
        report_error(message)
    return 0


def list_pooled_editions(root: Path, sql: str) -> list[str]:
    """Return the editions whose rows a query may put together, because it mentions no edition."""
    from warehouse.query import read_rows

    relations = "select distinct table_name as name from information_schema.columns"
    named = {row["name"] for row in read_rows(root, f"{relations} where column_name = 'edition_id'")}
    if "edition" in sql or named.isdisjoint(re.findall(r"\w+", sql)):
        return []
    found = _list_editions(root)
    return found if len(found) > 1 else []


def describe_missing_editions(root: Path, sql: str) -> list[str]:
    """Return a message for each edition that a query chooses, if the warehouse lacks it."""
    from warehouse.selection import describe_missing

    chosen = re.findall(r"edition_id\s*(?:=|in\s*\()\s*'([^']+)'", sql, re.IGNORECASE)
    known = _list_editions(root) if chosen else []
    return [describe_missing(text, known) for text in dict.fromkeys(chosen) if text not in known]


def _list_editions(root: Path) -> list[str]:
    from warehouse.query import read_rows

    return [str(row["edition_id"]) for row in read_rows(root, "select edition_id from editions order by all")]


def _show(text: str, path: Path | None) -> None:
    """Print a text, or write it to a file."""
    if path is None:
        write_output(text)
        return
    from pretexeval.storage.files import write_bytes

    write_bytes(path, f"{text}\n".encode())


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


def _choose_query(options: argparse.Namespace) -> str:
    """Return the query that was given, or the one that lists the relations, or the columns of one of them.

    Raises:
        InputError: there is no view or table of this name.
    """
    from warehouse.query import COLUMNS, LISTING, run_query

    asked: str | None = options.query
    if asked is None or not asked.isidentifier():
        return LISTING if asked is None else asked
    names = [name for _, name, _ in run_query(options.root, LISTING)[1]]
    if asked not in names:
        near = suggest(asked, names)
        raise InputError(
            f"the warehouse has no table or view {asked!r}{near}; `pretexeval sql` lists all of them"
        )
    return COLUMNS.format(asked)


def _render(
    columns: Sequence[str], rows: Sequence[tuple[Any, ...]], form: str, options: argparse.Namespace
) -> str:
    """Return a result as text. Only a table in a terminal leaves out what does not fit."""
    from report.console import N_ROWS_SHOWN, render_rows

    if options.query is None and form == "table":
        return _render_listing(rows)
    is_terminal = options.output is None and sys.stdout is not None and sys.stdout.isatty()
    n_rows = N_ROWS_SHOWN if is_terminal else len(rows)
    return render_rows(columns, rows, form, is_wide=options.wide or not is_terminal, n_rows=n_rows)


def _render_listing(rows: Sequence[tuple[Any, ...]]) -> str:
    """Return the views to read first, then a paragraph per group with a line per view, and the tables."""
    from warehouse.catalogue import START

    grains = {name: grain for _, name, grain in rows}
    width = max(map(len, grains), default=0)
    groups: dict[str, list[str]] = {"Start with": [name for name in START if name in grains]}
    for group, name, _ in rows:
        groups.setdefault(group, []).append(name)
    tables = groups.pop("Tables", [])
    lines = [
        line
        for group, names in groups.items()
        for line in (group, *(f"  {name:<{width}}  {grains[name]}" for name in names), "")
    ]
    hint = "`pretexeval sql NAME` lists the columns of a view or table with their meanings."
    return "\n".join([*lines, f"Tables: {', '.join(tables)}", "", hint])


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
        "--edition",
        help="its id, the start of it, or its label (default: the one with both models; of a schedule, "
        "the newest)",
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
        "--output",
        type=read_path,
        metavar="FILE",
        help="write the result to this file; an earlier one is replaced",
    )


def compare(options: argparse.Namespace) -> int:
    """Print or write the comparison; the exit status is 1 if a regression is a failure and there is one."""
    from report.model_difference import (
        ComparisonQuestion,
        compare_models,
        render_difference,
        render_difference_json,
        write_verdict,
    )

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
    _show(text, options.output)
    if options.output is not None:
        write_output(write_verdict(found))
    return int(options.fail_on_regression and found.is_regression)
