"""The page docs/warehouse.md, rendered from the comments: ``python -m warehouse.reference``."""

from collections.abc import Iterator

import duckdb

from warehouse.catalogue import ESTIMATES, RELATIONS, SUMS, VIEWS, create_tables, create_views, read_sql

INTRODUCTION = """\
# Tables and views of the warehouse

<!-- `make docs` writes this page from schemas/ and from the SQL files in warehouse/. Change it there. -->

`data/warehouse.duckdb` is one file. Any program that opens DuckDB files reads it, also while a run goes on.
Everything on this page is in the file itself as comments: `select * from duckdb_columns()` shows them. A name
of a column has one meaning in all tables and views. A rate or a share is from 0 to 1, an interval is of 95 %,
and a time is in UTC. [Worked questions](questions.md) shows what to ask, and [statistics](statistics.md)
explains how the scores are computed.
"""
VIEWS_TEXT = "Start here: the answers to what is asked often."
TABLES_TEXT = "What was loaded from the Parquet files and their records."
SUMS_TEXT = "Computed once when the warehouse is published, so that views are fast. Queries rarely need them."
COLUMNS = """
select column_name, lower(data_type), comment
from duckdb_columns()
where table_name = ? and schema_name = 'main'
order by column_index
"""


def render_reference() -> str:
    """Return the whole page: an introduction, then one section each for views, tables and sums."""
    with duckdb.connect() as connection:
        create_tables(connection)
        create_views(connection)
        rows = {name: comment for _, name, comment in connection.execute(RELATIONS).fetchall()}
        sums = (*SUMS, *ESTIMATES)
        loaded = [name for name in rows if name not in {*sums, *VIEWS}]
        sections = (("Views", VIEWS_TEXT, VIEWS), ("Tables", TABLES_TEXT, loaded), ("Sums", SUMS_TEXT, sums))
        parts = [INTRODUCTION]
        for heading, text, names in sections:
            links = [f"- [{name}](#{name}): {rows[name]}" for name in names]
            parts += [f"## {heading}\n", f"{text}\n", *links, ""]
            parts += [part for name in names for part in _render_relation(connection, name, rows[name])]
    return "\n".join(parts)


def _render_relation(connection: duckdb.DuckDBPyConnection, name: str, row: str) -> Iterator[str]:
    sentence = row[0].upper() + row[1:].removesuffix(".")
    yield f"### {name}\n\n{sentence}.\n"
    if notes := _read_notes(name):
        yield f"```text\n{notes}\n```\n"
    yield "| column | type | meaning |\n| --- | --- | --- |"
    for column, kind, meaning in connection.execute(COLUMNS, [name]).fetchall():
        yield f"| `{column}` | {kind} | {meaning.replace('|', '&#124;')} |"
    yield ""


def _read_notes(name: str) -> str:
    """Return the comment at the head of an SQL file without its first line; loaded tables have none."""
    if name not in (*VIEWS, *SUMS, *ESTIMATES):
        return ""
    _, *lines = read_sql(f"views/{name}.sql" if name in VIEWS else f"{name}.sql").splitlines()
    head = lines[: next(n for n, line in enumerate(lines) if not line.startswith("--"))]
    return "\n".join(line.removeprefix("--").removeprefix(" ") for line in head)


if __name__ == "__main__":
    print(render_reference(), end="")
