"""The subcommands that read or convert data: gate, export-disek, sql."""

import argparse
from pathlib import Path

from cli.subcommands import Subcommands, add_command, add_config, add_root, write_output
from config.file import load_config


def add_commands(subcommands: Subcommands) -> None:
    """Add this module's subcommands."""
    summary = "Measure the gate on rewordings that were labelled by people."
    gate = add_command(subcommands, "gate", measure, summary)
    gate.add_argument("file", type=Path, help="a Parquet file as docs/gate.md describes it")
    summary = "Write the DiseK relations of a knowledge base as one table."
    disek = add_command(subcommands, "export-disek", export_disek, summary)
    add_config(disek)
    disek.add_argument("file", type=Path, help="the file to write: .csv, .tsv, .jsonl or .parquet")
    sql = add_command(subcommands, "sql", query, "Query the warehouse; without a query, list its views.")
    sql.add_argument("query", nargs="?", help='a query in SQL, for example "from leaderboard"')
    add_root(sql)
    sql.add_argument("--format", choices=("table", "csv", "json"), default="table")


def measure(options: argparse.Namespace) -> int:
    """Print how well the gate agrees with labelled rewordings."""
    from gate.measurement import measure_gate, render_measurement

    write_output(render_measurement(measure_gate(options.file)))
    return 0


def export_disek(options: argparse.Namespace) -> int:
    """Write the knowledge base as a DiseK table and print its path."""
    from knowledge.disek_writer import write_disek
    from knowledge.reader import read_knowledge_base

    write_output(write_disek(read_knowledge_base(load_config(options.config).knowledge), options.file))
    return 0


def query(options: argparse.Namespace) -> int:
    """Print the result of a query, or the views of the warehouse."""
    from report.console import render_rows
    from warehouse.query import list_views, run_query

    if options.query is None:
        columns, rows = ["view", "grain"], list(list_views(options.root))
    else:
        columns, rows = run_query(options.root, options.query)
    write_output(render_rows(columns, rows, options.format))
    return 0
