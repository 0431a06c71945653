"""Tell whether a query puts rows of several editions together, and no column says which row is whose."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb

from warehouse.query import lock_down, open_warehouse

Node = dict[str, Any]
"""A part of the syntax tree of a query, as DuckDB's json_serialize_sql writes it."""
EDITION, EDITIONS = "edition_id", "editions"
NAMES = (EDITION, "label", "period_start")
"""Columns of `editions` that name an edition. Elsewhere, `label` is whether a sample is true."""
DISTINCT = {"type": "DISTINCT_MODIFIER", "distinct_on_targets": []}
SELECT_PARTS = ("select_list", "where_clause", "group_expressions", "having", "qualify", "modifiers")


def find_pooled_editions(root: Path, sql: str) -> list[str]:
    """Return the editions whose rows a query pools; empty if it names, groups by or chooses editions.

    Every `select` of the query that neither returns nor mentions an edition is asked again for the different
    editions of its rows, so a condition that only one edition meets gives no alarm. A join on `edition_id`
    is no mention. Statements that DuckDB cannot serialize, such as `pivot`, are not looked at.
    """
    with open_warehouse(root) as connection:
        lock_down(connection)
        (text,) = connection.execute("select json_serialize_sql($sql)", {"sql": sql}).fetchone() or ("{}",)
        # Of several statements, only the last one gives the result.
        for select, tables in _list_selects(json.loads(text).get("statements", [])[-1:], []):
            relations = _list_relations(select["from_table"])
            names = NAMES if EDITIONS in relations.values() else (EDITION,)
            if any(_mentions(select[part], names) for part in SELECT_PARTS):
                continue
            for name in (name for name, table in relations.items() if table != EDITIONS):
                if len(pooled := _read_editions(connection, select, tables, name)) > 1:
                    return pooled
    return []


def _list_selects(part: object, tables: list[Node]) -> Iterator[tuple[Node, list[Node]]]:
    """Yield every `select` whose rows go into the result, and the common tables that it may read."""
    if isinstance(part, list):
        for value in part:
            yield from _list_selects(value, tables)
    elif isinstance(part, dict) and part.get("subquery_type", "SCALAR") == "SCALAR":
        own = [*tables, *part.get("cte_map", {}).get("map", [])]
        if part.get("type") == "SELECT_NODE":
            yield part, own
        for value in part.values():
            yield from _list_selects(value, own)


def _list_relations(source: Node) -> dict[str, str]:
    """Return the name of every relation that a `from` joins -> its table; of subqueries, empty texts."""
    if source["type"] == "JOIN":
        return _list_relations(source["left"]) | _list_relations(source["right"])
    table = source.get("table_name", "")
    return {source["alias"] or table: table} if source["type"] != "EMPTY" else {}


def _mentions(part: object, names: tuple[str, ...]) -> bool:
    """Return whether an expression has a column of these names, of its own or by a star.

    `one.edition_id = other.edition_id` joins and does not choose. An order does not say of which edition a
    row is.
    """
    if isinstance(part, list):
        return any(_mentions(value, names) for value in part)
    if not isinstance(part, dict) or part.get("type") == "ORDER_MODIFIER" or part.get("class") == "SUBQUERY":
        return False
    if part.get("class") == "STAR" and not part["expr"]:
        return EDITION not in part["exclude_list"]
    if part.get("type") == "COMPARE_EQUAL" and all(
        part[side].get("column_names", [None])[-1] == EDITION for side in ("left", "right")
    ):
        return False
    if "column_names" in part:
        return part["column_names"][-1] in names
    return any(_mentions(value, names) for value in part.values())


def _read_editions(
    connection: duckdb.DuckDBPyConnection, select: Node, tables: list[Node], relation: str
) -> list[str]:
    """Return the editions of the rows that a `select` reads; empty if the relation has no such column."""
    column = {"class": "COLUMN_REF", "type": "COLUMN_REF", "alias": "", "column_names": [EDITION]}
    if relation:
        column["column_names"] = [relation, EDITION]
    probe = select | {
        "select_list": [column],
        "modifiers": [DISTINCT],
        "cte_map": {"map": tables},
        "group_expressions": [],
        "group_sets": [],
        "having": None,
        "qualify": None,
    }
    text = json.dumps({"error": False, "statements": [{"node": probe, "named_param_map": []}]})
    try:
        rows = connection.execute("from json_execute_serialized_sql($text)", {"text": text}).fetchall()
    except duckdb.Error:
        return []
    return sorted(edition_id for (edition_id,) in rows if edition_id is not None)
