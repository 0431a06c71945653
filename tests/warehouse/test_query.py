from pathlib import Path

import duckdb
import pytest

from pretexeval.primitives.errors import InputError
from warehouse.query import read_table, run_query


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "warehouse.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute("create table things as select 1 as thing")
    return path


def test_columns_and_rows_or_what_is_wrong(file: Path, tmp_path: Path) -> None:
    sql = "select thing, 'a' as name from things union all select 2, 'b' order by thing"
    assert run_query(tmp_path, sql) == (["thing", "name"], [(1, "a"), (2, "b")])
    with pytest.raises(InputError, match=r"(?s)the query failed.*thigns.*things"):
        run_query(tmp_path, "from thigns")
    file.unlink()
    with pytest.raises(InputError, match="no warehouse yet; `pretexeval run CONFIG`"):
        run_query(tmp_path, "select 1")


# In each of them, {file} is the warehouse, {other} another database, and {new} no file yet.
FORBIDDEN = [
    "copy (select 1) to '{file}' (use_tmp_file false)",
    "copy things to '{new}'",
    "with x as (copy (select 1) to '{file}' (use_tmp_file false)) select 1",
    "select 1; copy (select 1) to '{file}' (use_tmp_file false)",
    "export database '{new}'",
    "attach '{other}' as other",
    "attach '{file}' as twin (read_write)",
    "from '{other}'",
    "from read_blob('{file}')",
    "from 's3://bucket/a.parquet'",
    "select getenv('HOME')",
    "from rows",
    "install httpfs",
    "create persistent secret (type s3)",
    "create table t as select 1",
    "set enable_external_access = true",
    "set profiling_output = '{new}'",
    "call enable_logging(storage = 'file', storage_path = '{new}')",
    "select '\ud800'",
]


def test_a_query_reaches_nothing_but_the_warehouse(file: Path, tmp_path: Path) -> None:
    other, new = tmp_path / "other.duckdb", tmp_path / "new"
    other.write_bytes(file.read_bytes())
    before = {path: path.read_bytes() for path in (file, other)}
    for sql in FORBIDDEN:
        for ask in (run_query, read_table):
            with pytest.raises(InputError, match="the query failed"):
                ask(tmp_path, sql.format(file=file, other=other, new=new))
        assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before, sql
    assert run_query(tmp_path, "from things") == (["thing"], [(1,)])
