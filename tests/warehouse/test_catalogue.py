import random
import re
from collections.abc import Iterator

import duckdb
import pytest
from scipy.stats import binomtest

from tests.warehouse.expected import expected_interval
from warehouse.catalogue import FOLDER, VIEWS, create_tables


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        create_tables(connection)
        yield connection


def test_every_view_is_listed_and_starts_with_its_grain() -> None:
    files = {path.stem: path.read_text() for path in (FOLDER / "views").glob("*.sql")}
    assert sorted(VIEWS) == sorted(files)
    for name, text in files.items():
        assert text.startswith("-- Grain: one row per "), name
        assert f"create or replace view {name} as\n" in text
        assert not re.search(r"group by \d", text), name
        assert not re.search(r"^select \*", text, re.MULTILINE), name


def draw_clusters(seed: int) -> list[tuple[int, int]]:
    """Up to 30 clusters of up to 16 samples; every fourth draw has all or nothing right in each."""
    draw = random.Random(seed)
    sizes = [draw.randint(1, 16) for _ in range(draw.randint(1, 30))]
    if seed % 4 == 0:
        return [(draw.choice([0, size]) if seed % 8 else size, size) for size in sizes]
    return [(draw.randint(0, size), size) for size in sizes]


def test_clustered_interval(connection: duckdb.DuckDBPyConnection) -> None:
    worlds = [draw_clusters(seed) for seed in range(200)]
    values = ", ".join(f"({g}, {c}, {n})" for g, world in enumerate(worlds) for c, n in world)
    intervals = connection.execute(
        "select cluster_low(c, n), cluster_high(c, n) "
        f"from (values {values}) as t (g, c, n) group by g order by g"
    ).fetchall()
    for world, interval in zip(worlds, intervals, strict=True):
        assert interval == pytest.approx(expected_interval(world), abs=1e-9), world


@pytest.mark.parametrize(("k", "n"), [(0, 1), (0, 40), (7, 40), (40, 40)])
def test_wilson(connection: duckdb.DuckDBPyConnection, k: int, n: int) -> None:
    expected = binomtest(k, n).proportion_ci(method="wilson")
    sql = f"select wilson_low({k} / {n}, {n}), wilson_high({k} / {n}, {n})"
    assert connection.execute(sql).fetchone() == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_clusters_that_do_not_vary_count_as_one_observation_each(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    sql = "select effective_n(c, n, 1, sum(n)) from (values {}) as t (c, n)"
    for cluster in ("(16, 16)", "(0, 16)", "(8, 16)"):
        same = ", ".join([cluster] * 5)
        assert connection.execute(sql.format(same)).fetchone() == (5.0,)
    assert connection.execute(sql.format("(16, 16), (0, 16), (16, 16), (0, 16)")).fetchone() == (
        pytest.approx(3.0),
    )


def test_weights_stand_for_repeated_clusters(connection: duckdb.DuckDBPyConnection) -> None:
    sql = "select effective_n(c, n, w, {}) from (values {}) as t (c, n, w)"
    weighed = sql.format("sum(n * w)", "(3, 8, 4), (8, 8, 2)")
    repeated = sql.format("sum(n)", ", ".join(["(3, 8, 1)"] * 4 + ["(8, 8, 1)"] * 2))
    assert connection.execute(weighed).fetchone() == connection.execute(repeated).fetchone()


def test_nothing_observed_has_no_interval(connection: duckdb.DuckDBPyConnection) -> None:
    sql = "select share(c, n), cluster_low(c, n), cluster_high(c, n) from (values {}) as t (c, n)"
    assert connection.execute(sql.format("(0, 0), (0, 0)")).fetchone() == (None, None, None)
