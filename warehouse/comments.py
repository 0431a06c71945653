"""Comments on the tables, views and columns of the warehouse, for everybody who opens it with any tool."""

from collections.abc import Iterator, Mapping

import duckdb

from schemas.meanings import explain_column, list_tables

GRAIN = "-- Grain: "
RELATIONS = """
select 'table', table_name, comment from duckdb_tables() where not internal and schema_name = 'main'
union all
select 'view', view_name, comment from duckdb_views() where not internal
"""
# The schema `storage` is for the publisher alone (storage_tables.sql).
COLUMNS = """
select table_name, column_name, comment from duckdb_columns() where not internal and schema_name = 'main'
"""


def read_grain(sql: str) -> str:
    """Return what a row of a table or view is, from the first line of its SQL file."""
    return sql.splitlines()[0].removeprefix(GRAIN)


def write_comments(connection: duckdb.DuckDBPyConnection, grains: Mapping[str, str]) -> None:
    """Say what a row of every table and view is, and what every column means, where the database does not.

    Args:
        grains: name of a view or of a table of sums -> what a row of it is.
    """
    statements = [*_comment_on_relations(connection, {**list_tables(), **grains})]
    statements += _comment_on_columns(connection)
    # Each statement by itself would be flushed to disk, which takes several seconds for all of them.
    connection.execute("; ".join(["begin", *statements, "commit"]))


def _comment_on_relations(connection: duckdb.DuckDBPyConnection, grains: Mapping[str, str]) -> Iterator[str]:
    for kind, name, comment in connection.execute(RELATIONS).fetchall():
        if comment != grains[name]:
            yield f"comment on {kind} {name} is {_quote(grains[name])}"


def _comment_on_columns(connection: duckdb.DuckDBPyConnection) -> Iterator[str]:
    for relation, column, comment in connection.execute(COLUMNS).fetchall():
        if comment != (meaning := explain_column(relation, column)):
            yield f'comment on column {relation}."{column}" is {_quote(meaning)}'


def _quote(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
