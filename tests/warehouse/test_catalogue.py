"""What the catalogue creates (views, comments, macros of statistics), and what a query may read of it."""

import importlib
import re
from pathlib import Path

import duckdb
import pytest
from scipy.stats import binom

from pretexeval.primitives.errors import InputError
from pretexeval.storage.layout import WAREHOUSE
from schemas.meanings import find_reference, list_keys, list_tables
from schemas.question_stages import TYPES
from schemas.transformations import NAMES
from tests.support.data_folder import DataFolder
from warehouse.catalogue import (
    COLUMNS,
    ESTIMATED,
    FACTS,
    FOLDER,
    RELATIONS,
    SHARED_VIEWS,
    VIEWS,
    create_tables,
    read_sql,
)
from warehouse.publishing import build_warehouse
from warehouse.query import read_table, run_query


def test_an_empty_root_gives_empty_views_with_comments_and_limits_named_after_their_scores(
    tmp_path: Path,
) -> None:
    path = build_warehouse(tmp_path)
    assert sorted(VIEWS) == sorted(path.stem for path in (FOLDER / "views").glob("*.sql"))
    assert {view for view in VIEWS if run_query(tmp_path, f"from {view}")[1]} == set()
    with duckdb.connect(str(path), read_only=True) as connection:
        relations = {name: comment for _, name, comment in connection.execute(RELATIONS).fetchall()}
        shared = {name: comment for _, name, comment in connection.execute(SHARED_VIEWS).fetchall()}
        found = connection.execute(COLUMNS).fetchall()
        n_views = len(connection.execute("from duckdb_views() where not internal").fetchall())
        everything = set(
            connection.execute("select table_name, column_name from duckdb_columns()").fetchall()
        )
    assert {*VIEWS, *FACTS, *ESTIMATED, *list_tables()} == relations.keys()
    # The views that a reader must know are few.
    assert n_views <= 30
    grains = (relations | shared).items()
    assert [name for name, comment in grains if not (comment or "").startswith("one row per ")] == []
    comments = {(name, column): comment for name, column, comment in found}
    assert {place for place, comment in comments.items() if not comment} == set()
    assert comments["leaderboard", "mastery"] == "share of the complete pairs with all samples right"
    assert comments["leaderboard", "edition_id"] == "name of the edition [key, refers to editions]"
    assert comments["triplets", "triplet_id"].endswith(" [key]")
    limits = [(name, column) for name, column in everything if "ci_" in column]
    assert len(limits) > 100
    for name, column in limits:
        score = re.sub("(_fixed_base)?_ci_(low|high)$", "", column)
        assert score != column
        assert (name, score) in everything, column


def test_keys_tell_rows_apart_and_references_lead_to_rows(published: DataFolder) -> None:
    keys, n_rows, found = list_keys(), {}, {}
    with duckdb.connect(str(published.root / WAREHOUSE), read_only=True) as connection:
        for relation, columns in keys.items():
            sql = f"select count(*), count(distinct row({', '.join(columns)})) from {relation}"
            ((n_rows[relation], n_keys),) = connection.execute(sql).fetchall()
            assert n_keys == n_rows[relation], relation
        for relation, column, _ in connection.execute(COLUMNS).fetchall():
            if table := find_reference(relation, column):
                (key,) = (name for name in keys[table] if column.endswith(name))
                sql = f"select {column} from {relation} except select {key} from {table}"
                found[relation, column] = sum(
                    value is not None for (value,) in connection.execute(sql).fetchall()
                )
    assert sum(n > 1 for n in n_rows.values()) > 20
    assert len(found) > 80
    # The folder of this test has no files of variants.
    assert {place for place, n in found.items() if n} == {("samples", "variant_id")}


DISCORDANT = [(0, 0), (1, 0), (3, 12), (12, 3), (7, 7), (7, 8), (400, 470), (30_000, 31_000)]


def test_places_of_types_and_transformations_and_the_test_of_mcnemar() -> None:
    tables = importlib.import_module("statsmodels.stats.contingency_tables")
    assert str(list(NAMES)) in read_sql("views/ablations.sql")
    with duckdb.connect() as connection:
        create_tables(connection)
        places = connection.execute("select list_transform(?, lambda name: place_type(name))", [TYPES])
        assert places.fetchone() == (list(range(len(TYPES))),)
        for b, c in DISCORDANT:
            p = tables.mcnemar([[50, b], [c, 10]], exact=True).pvalue
            point = 0.0 if b == c else float(binom.pmf(min(b, c), b + c, 0.5))
            sql = "select mcnemar_p(?::bigint, ?::bigint), mcnemar_mid_p(?::bigint, ?::bigint)"
            found = connection.execute(sql, [b, c, b, c]).fetchone()
            assert found == pytest.approx((p, p - point), rel=1e-6), (b, c)


# In each of them, {file} is the warehouse, {other} another database, and {new} no file yet.
FORBIDDEN = Path(__file__).with_name("forbidden.sql").read_text(encoding="utf-8").splitlines()


def test_a_query_reaches_nothing_but_the_warehouse(tmp_path: Path) -> None:
    file, other, new = (tmp_path / name for name in ("warehouse.duckdb", "other.duckdb", "new"))
    with duckdb.connect(file) as connection:
        connection.execute("create table things as select 1 as thing")
    other.write_bytes(file.read_bytes())
    before = {path: path.read_bytes() for path in (file, other)}
    for sql in (*FORBIDDEN, "select '\ud800'"):
        for ask in (run_query, read_table):
            with pytest.raises(InputError, match="the query failed"):
                ask(tmp_path, sql.format(file=file, other=other, new=new))
        assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before, sql
    sql = "select thing, 'a' as name from things union all select 2, 'b' order by thing"
    assert run_query(tmp_path, sql) == (["thing", "name"], [(1, "a"), (2, "b")])
