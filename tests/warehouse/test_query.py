import re
from pathlib import Path

import duckdb
import pytest

from primitives.errors import InputError
from tests.support.data_folder import DataFolder
from warehouse.catalogue import VIEWS
from warehouse.publishing import build_warehouse
from warehouse.query import list_columns, list_views, read_table, run_query


def test_columns_and_rows(published: DataFolder) -> None:
    sql = "select 1 as n_things, 'a' as name union all select 2, 'b' order by n_things"
    assert run_query(published.root, sql) == (["n_things", "name"], [(1, "a"), (2, "b")])


PAGE = Path(__file__).parents[2] / "docs" / "statistics.md"
QUERIES = re.findall(r"(?s)```sql\n(.*?)```", PAGE.read_text(encoding="utf-8"))


@pytest.mark.parametrize("sql", [part for block in QUERIES for part in block.split(";\n")])
def test_documented_queries(published: DataFolder, sql: str) -> None:
    columns, _ = run_query(published.root, sql)
    assert len(columns) > 3


def test_no_warehouse_yet(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no warehouse yet; `pretexeval run CONFIG`"):
        run_query(tmp_path, "select 1")
    with pytest.raises(InputError, match="no warehouse yet"):
        list_views(tmp_path)


def test_a_file_that_is_no_warehouse(tmp_path: Path) -> None:
    (tmp_path / "warehouse.duckdb").write_text("not a database " * 1000)
    with pytest.raises(InputError, match=r"cannot be read.*pretexeval publish"):
        run_query(tmp_path, "select 1")


def test_an_error_in_the_query_is_reported(published: DataFolder) -> None:
    with pytest.raises(InputError, match=r"(?s)the query failed.*leaderbord.*leaderboard"):
        run_query(published.root, "select * from leaderbord")


@pytest.mark.parametrize("sql", ["", " ;; ", "-- a comment"])
def test_an_empty_query_is_refused(published: DataFolder, sql: str) -> None:
    for ask in (run_query, read_table):
        with pytest.raises(InputError, match="the query is empty"):
            ask(published.root, sql)


def test_a_table_of_arrow_has_the_same_rows(published: DataFolder) -> None:
    columns, rows = run_query(published.root, "from leaderboard")
    table = read_table(published.root, "from leaderboard")
    assert table.column_names == columns
    assert [tuple(row.values()) for row in table.to_pylist()] == rows


def test_every_column_is_listed_with_the_type_that_it_has(published: DataFolder) -> None:
    found = list_columns(published.root)
    assert [row.kind for row in found] == sorted(row.kind for row in found)
    for name in ("predictions", "leaderboard"):
        described = run_query(published.root, f"select column_name, column_type from (describe {name})")[1]
        assert [(row.column, row.type) for row in found if row.name == name] == described


def test_nothing_can_be_written(data: DataFolder) -> None:
    build_warehouse(data.root)
    with pytest.raises(InputError, match="read-only"):
        run_query(data.root, "delete from predictions")


def test_the_views_with_their_grain(published: DataFolder) -> None:
    views = dict(list_views(published.root))
    assert tuple(views) == VIEWS
    assert views["leaderboard"] == ("one row per edition, model, method, scoring policy and repeat.")


# In each of them, {file} is the warehouse, {other} another database, and {new} no file yet.
FORBIDDEN = [
    "copy (select 1) to '{file}'",
    "copy (select 1) to '{file}' (use_tmp_file false)",
    "copy (select 1) to '{file}.wal' (use_tmp_file false)",
    "copy things to '{new}'",
    "copy things to stdout",
    "copy (select 1 as a) to '{new}' (partition_by (a))",
    "explain analyze copy (select 1) to '{file}' (use_tmp_file false)",
    "with x as (copy (select 1) to '{file}' (use_tmp_file false)) select 1",
    "select 1; copy (select 1) to '{file}' (use_tmp_file false)",
    "prepare x as copy (select 1) to '{file}' (use_tmp_file false); execute x",
    "export database '{new}'",
    "export database '{file}.tmp'",
    "import database '{new}'",
    "pragma import_database('{new}')",
    "attach '{other}' as other",
    "attach '{file}' as twin (read_write)",
    "attach ':memory:' as scratch",
    "from '{other}'",
    "from read_duckdb('{other}')",
    "from read_csv('{other}')",
    "from read_json('{other}')",
    "from read_parquet('{other}')",
    "from parquet_metadata('{other}')",
    "from read_text('{other}')",
    "from read_blob('{file}')",
    "from sniff_csv('{other}')",
    "from glob('{other}')",
    "from 'https://127.0.0.1:9/a.csv'",
    "from 's3://bucket/a.parquet'",
    "select getenv('HOME')",
    "from rows",
    "install httpfs",
    "load httpfs",
    "load '{other}'",
    "update extensions",
    "create persistent secret (type s3)",
    "create table t as select 1",
    "insert into things values (1)",
    "drop table things",
    "set enable_external_access = true",
    "set disabled_filesystems = ''",
    "reset disabled_filesystems",
    "set lock_configuration = false",
    "set temp_directory = '{new}'",
    "set profiling_output = '{new}'",
    "set log_query_path = '{new}'",
    "set secret_directory = '{new}'",
    "pragma enable_profiling",
    "call enable_logging(storage = 'file', storage_path = '{new}')",
    "select '\ud800'",
]


@pytest.mark.parametrize("sql", FORBIDDEN)
def test_a_query_reaches_nothing_but_the_warehouse(tmp_path: Path, sql: str) -> None:
    file, other, new = tmp_path / "warehouse.duckdb", tmp_path / "other.duckdb", tmp_path / "new"
    for path in (file, other):
        with duckdb.connect(path) as connection:
            connection.execute("create table things as select 1 as thing")
    before = {path: path.read_bytes() for path in (file, other)}
    for ask in (run_query, read_table):
        with pytest.raises(InputError, match="the query failed"):
            ask(tmp_path, sql.format(file=file, other=other, new=new))
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
    assert run_query(tmp_path, "from things") == (["thing"], [(1,)])
