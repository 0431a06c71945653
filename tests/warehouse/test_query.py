from pathlib import Path

import duckdb
import pytest

from pretexeval.primitives.errors import InputError
from tests.support.data_folder import DataFolder
from warehouse.publishing import build_warehouse
from warehouse.query import list_columns, read_table, run_query


def test_columns_and_rows(published: DataFolder) -> None:
    sql = "select 1 as n_things, 'a' as name union all select 2, 'b' order by n_things"
    assert run_query(published.root, sql) == (["n_things", "name"], [(1, "a"), (2, "b")])


def test_no_warehouse_yet(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no warehouse yet; `pretexeval run CONFIG`"):
        run_query(tmp_path, "select 1")
    with pytest.raises(InputError, match="no warehouse yet"):
        list_columns(tmp_path)


def test_an_error_in_the_query_is_reported(published: DataFolder) -> None:
    with pytest.raises(InputError, match=r"(?s)the query failed.*leaderbord.*leaderboard"):
        run_query(published.root, "select * from leaderbord")


def test_nothing_can_be_written(data: DataFolder) -> None:
    build_warehouse(data.root)
    with pytest.raises(InputError, match="read-only"):
        run_query(data.root, "delete from predictions")


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
