import re
from pathlib import Path

import pytest

from primitives.errors import InputError
from tests.support.data_folder import DataFolder
from warehouse.catalogue import VIEWS
from warehouse.publishing import build_warehouse
from warehouse.query import list_views, run_query


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


def test_nothing_can_be_written(data: DataFolder) -> None:
    build_warehouse(data.root)
    with pytest.raises(InputError, match="read-only"):
        run_query(data.root, "delete from predictions")


def test_the_views_with_their_grain(published: DataFolder) -> None:
    views = dict(list_views(published.root))
    assert tuple(views) == VIEWS
    assert views["leaderboard"] == ("one row per edition, model, method, scoring policy and repeat.")
